"""Structured logs: one line an event, JSON for machines or coloured text for people, on standard error."""

import logging
import sys

import structlog

from baremetal_sched.settings import Settings

_SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure(settings: Settings) -> None:
    """Send our own log lines and those of libraries to standard error, in the format of the settings.

    Whatever is bound to structlog's context (the request id, above all) is on every line written meanwhile.
    """
    renderer: structlog.types.Processor = (
        # A plain traceback: the pretty one prints local variables, and with them secrets.
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if settings.log_format == "console"
        else structlog.processors.JSONRenderer()
    )
    exceptions = [structlog.processors.format_exc_info] if settings.log_format == "json" else []
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *exceptions, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    logging.getLogger("alembic").setLevel(logging.WARNING)
