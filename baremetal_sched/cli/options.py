"""Options shared by several commands, the settings and database they name, and one-line messages for failures."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from oslo_config import cfg
from oslo_config.cfg import Locations

from baremetal_sched import logs
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError
from baremetal_sched.settings import Settings, default_files, load

F = TypeVar("F", bound=Callable[..., Any])


def common_options(command: F) -> F:
    """Add ``--config-file``, ``--database`` and ``--debug`` to a command."""
    for option in (
        click.option("--debug", is_flag=True, help="Log at level DEBUG, in a readable format."),
        click.option("--database", metavar="URL", help="SQLAlchemy URL: SQLite, PostgreSQL or MariaDB."),
        click.option(
            "--config-file",
            "config_files",
            multiple=True,
            type=click.Path(dir_okay=False),
            help="Configuration file (INI); can be repeated. Default: the files that BAREMETAL_SCHED_CONFIG names, or "
            "else /etc/baremetal-sched/baremetal-sched.conf.",
        ),
    ):
        command = option(command)
    return command


def make_settings(
    config_files: tuple[str, ...], database: str | None, debug: bool, overrides: dict[str, dict[str, Any]] | None = None
) -> Settings:
    """Return settings from files, environment and command line, and configure logging accordingly."""
    merged = {
        group: {name: value for name, value in values.items() if value is not None}
        for group, values in (overrides or {}).items()
    }
    if database is not None:
        merged.setdefault("database", {})["connection"] = database
    if debug:
        merged.setdefault("DEFAULT", {}).update(log_level="DEBUG", log_format="console")
    settings = load(config_files or default_files(), merged)
    logs.configure(settings)
    return settings


@contextmanager
def opened(settings: Settings, *, served: bool = True) -> Iterator[Database]:
    """Print which database the settings name, and yield it. It is closed afterwards.

    ``served``: raise SchemaNotServed unless this release can serve it; a missing SQLite file is not created. Raises
    DatabaseAway.
    """
    click.echo(f"Database: {logs.shown_url(settings.database.connection)} ({_origin(settings)})", err=True)
    database = Database(settings)
    try:
        if served:
            schema.require_served(database.engine)
        yield database
    finally:
        database.dispose()


def _origin(settings: Settings) -> str:
    """Return where ``[database] connection`` is set."""
    place = settings.get_location("connection", "database")
    match place and place.location:
        case Locations.user | Locations.environment:
            return str(place.detail if place else None)
        case Locations.set_override:
            return "--database"
        case _:
            return "the default: no file and no variable names one"


def refusal_of(error: Exception) -> str | None:
    """Return the message for ``error``; None if it is a defect, which needs its traceback."""
    if isinstance(error, SchedulerError | cfg.Error | ValueError):
        return _with_cause(error)
    if "sqlalchemy" not in sys.modules:
        return None
    # Imported here because commands without a database start faster without it.
    from baremetal_sched.db.faults import Fault, classify, unavailable

    fault = classify(error)
    if fault is Fault.BUG:
        return None
    refusal = unavailable(error, fault)
    refusal.__cause__ = error
    return _with_cause(refusal)


def _with_cause(error: Exception) -> str:
    cause = f" ({str(error.__cause__).splitlines()[0]})" if error.__cause__ else ""
    return f"{error}{cause}"
