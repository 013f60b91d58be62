"""Structured logs on standard error: one line for each event, as JSON or as coloured text."""

import json
import logging
import re
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import structlog
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from baremetal_sched import config_names, masking
from baremetal_sched.settings import NAMES, Settings, entries_of

_SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

#: PostgreSQL repeats the whole row that violates a constraint.
_ROW = re.compile(r"(Failing row contains \().*?(?=\n\n|\n\[SQL|\Z)", re.DOTALL)


def _without_secrets(renderer: structlog.types.Processor) -> structlog.types.Processor:
    """Return ``renderer`` with secrets masked. Most lines contain none, which is quicker to see in their text."""

    def render(logger: Any, name: str, event: structlog.types.EventDict) -> Any:
        if "exception" in event:
            event["exception"] = _ROW.sub(r"\1...)", event["exception"])
        line = renderer(logger, name, dict(event))
        if isinstance(line, str) and masking.mentions_secret(line):
            return renderer(logger, name, masking.mask(json.loads(json.dumps(event, default=repr))))
        return line

    return render


#: Created once: ``json.dumps`` would create a new one for each line.
_encode = json.JSONEncoder(default=repr).encode


class _Formatter(structlog.stdlib.ProcessorFormatter):
    """A faster formatter of this service's own lines, which need only the event of their record."""

    def format(self, record: logging.LogRecord) -> str:
        if not hasattr(record, "_name") or not isinstance(record.msg, dict):
            return super().format(record)
        event: Any = dict(record.msg)  # other handlers format it, too
        for process in self.processors[1:]:
            event = process(None, record._name, event)
        return str(event)


def _make_formatter(log_format: str) -> logging.Formatter:
    renderer: structlog.types.Processor = (
        # A plain traceback: the pretty one prints local variables, and with them secrets.
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if log_format == "console"
        else lambda logger, name, event: _encode(event)
    )
    return _Formatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            _without_secrets(renderer),
        ],
    )


_formatter = _make_formatter("json")


def formatter() -> logging.Formatter:
    """Return the formatter of log lines: JSON until ``configure`` was called."""
    return _formatter


def configure(settings: Settings) -> None:
    """Send log lines of this service and of libraries to standard error, in the configured format.

    Values that are bound to structlog's context, for example the request id, are added to every line.
    """
    global _formatter
    _formatter = _make_formatter(settings.log_format)
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    # No line shows these, and finding them takes as long as writing it (see Python's logging HOWTO, "Optimization").
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # The second one is SQLAlchemy's log of our connection pool, under the name of its class. The third one logs four
    # lines for every invalid token; one is enough.
    for library in ("alembic", "baremetal_sched.db.engine._Pool", "keystonemiddleware.auth_token"):
        logging.getLogger(library).setLevel(logging.WARNING)


def log_settings(settings: Settings) -> None:
    """Log the database, the files and variables that the settings come from, and the groups that are ignored."""
    log = structlog.get_logger(__name__)
    log.info(
        "settings",
        database=url_for_people(settings.database.connection),
        files=settings.config_file or [],
        environment=sorted(entry.where.split()[-1] for entry in config_names.from_environment()),
    )
    if others := [group for group in NAMES.others(entries_of(settings)) if group.lower() not in settings]:
        log.info("groups of settings that belong to other services are ignored", groups=others)


def url_for_people(connection: str) -> str:
    """Return the URL of a database without its password, and with the absolute path of a file."""
    try:
        url = make_url(connection)
    except (ArgumentError, ValueError):
        return masking.MASK
    if url.get_backend_name() == "sqlite" and url.database:
        url = url.set(database=str(Path(url.database).absolute()))
    return masking.mask_text(url.render_as_string(hide_password=True))


def log_uncaught_exceptions() -> None:
    """Log warnings, and exceptions that end a thread or the process, instead of printing them. For servers."""
    logging.captureWarnings(True)
    log = structlog.get_logger(__name__)

    def in_thread(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_type is not SystemExit:
            log.error("uncaught exception in a thread", exc_info=arguments.exc_value)

    def in_process(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
        else:
            log.critical("uncaught exception", exc_info=(kind, error, trace))

    threading.excepthook = in_thread
    sys.excepthook = in_process
