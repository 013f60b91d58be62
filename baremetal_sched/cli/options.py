"""Options shared by several commands, the settings and database they name, and one-line messages for failures.

``--help`` needs all modules that are imported here and by the modules of the commands. Everything else is imported by
the functions that need it, so that help appears at once.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from baremetal_sched import commands

if TYPE_CHECKING:
    from baremetal_sched.db.transaction import Database
    from baremetal_sched.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

#: A command that cannot begin has another advice than a request that can be repeated.
_CHECK_CONNECTION = "The database cannot be reached. Check [database] connection, and whether its server runs."


def common_options(command: F) -> F:
    """Add ``--config-file``, ``--database`` and ``--debug`` to a command."""
    for option in (
        click.option("--debug", is_flag=True, help="Log at level DEBUG, in a readable format."),
        click.option("--database", metavar="URL", help="SQLAlchemy URL: SQLite, PostgreSQL or MariaDB."),
        click.option(
            "--config-file",
            "config_files",
            multiple=True,
            type=click.Path(exists=True, dir_okay=False),
            help="Configuration file (INI); can be repeated. Default: the files that BAREMETAL_SCHED_CONFIG names, or "
            "else /etc/baremetal-sched/baremetal-sched.conf.",
        ),
    ):
        command = option(command)
    return command


def configured(command: F) -> F:
    """Add the common options to a command, which gets the settings that they lead to as ``settings``."""

    @wraps(command)
    def run(config_files: tuple[str, ...], database: str | None, debug: bool, **arguments: Any) -> Any:
        return command(settings=make_settings(config_files, database, debug), **arguments)

    return common_options(cast(F, run))


def make_settings(
    config_files: tuple[str, ...], database: str | None, debug: bool, overrides: dict[str, dict[str, Any]] | None = None
) -> "Settings":
    """Return settings from files, environment and command line, and configure logging accordingly.

    On a terminal, log lines are for people, unless the settings name a format. Raises UsageError for invalid values of
    the command line.
    """
    from baremetal_sched import logs, settings

    merged = {
        group: {name: value for name, value in values.items() if value is not None}
        for group, values in (overrides or {}).items()
    }
    if database is not None:
        _check_url(database)
        merged.setdefault("database", {})["connection"] = database
    if debug:
        merged.setdefault("DEFAULT", {}).update(log_level="DEBUG", log_format="console")
    files = config_files or settings.default_files()
    try:
        loaded = settings.load(files, merged)
    except settings.InvalidOverride as error:
        raise click.UsageError(str(error)) from None
    if sys.stderr.isatty() and settings.is_default(loaded, "log_format"):
        loaded.set_override("log_format", "console")
    logs.configure(loaded)
    return loaded


def _check_url(database: str) -> None:
    from baremetal_sched.db.engine import database_url

    with mistakes():
        database_url(database)


@contextmanager
def mistakes() -> Iterator[None]:
    """Report invalid arguments as mistakes in the command line, with their exit status (2)."""
    from baremetal_sched.errors import SchedulerError

    try:
        yield
    except (SchedulerError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def check_conductor(host: str | None, group: str | None) -> None:
    """Raise UsageError for a host name or a conductor group of the command line that cannot be a conductor's."""
    from baremetal_sched.baremetal.conductors import conductors

    with mistakes():
        conductors.check_registration("any" if host is None else host, group or "")


@contextmanager
def opened(settings: "Settings", *, served: bool = True, imports: bool = False) -> Iterator["Database"]:
    """Print which database the settings name, and yield it. It is closed afterwards.

    ``served``: raise SchemaNotServed unless this release can serve it; a missing SQLite file is not created.
    ``imports``: it may be written while it is a mirror. Raises DatabaseAway.
    """
    from baremetal_sched import logs
    from baremetal_sched.db.transaction import Database

    click.echo(f"Database: {logs.url_for_people(settings.database.connection)} ({_origin(settings)})", err=True)
    database = Database(settings, imports=imports)
    try:
        if served:
            _require_served(database, settings)
        yield database
    finally:
        database.dispose()


def _require_served(database: "Database", settings: "Settings") -> None:
    """Raise SchemaNotServed, or ClickException with the command that makes or upgrades the database."""
    from oslo_config.cfg import Locations

    from baremetal_sched.db import schema
    from baremetal_sched.errors import SchemaTooOld

    try:
        schema.require_served(database.engine)
    except SchemaTooOld as error:
        place = settings.get_location("connection", "database")
        is_given = place is not None and place.location is Locations.set_override
        url = database.engine.url
        text = str(error)
        if schema.is_missing(database.engine):
            text = f"There is no file {url.database}. To create it, run: {commands.UPGRADE_DATABASE}"
        is_shown = is_given and url.password is None
        raise click.ClickException(f"{text} --database {settings.database.connection}" if is_shown else text) from None


def _origin(settings: "Settings") -> str:
    """Return where ``[database] connection`` is set."""
    from oslo_config.cfg import Locations

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
    from oslo_config import cfg

    from baremetal_sched.errors import DatabaseAway, SchedulerError

    if type(error) is DatabaseAway:
        return _with_cause(error, _CHECK_CONNECTION)
    if isinstance(error, SchedulerError | cfg.Error | ValueError):
        return _with_cause(error)
    if "sqlalchemy" not in sys.modules:
        return None
    from baremetal_sched.db.faults import Fault, classify, unavailable

    fault = classify(error)
    if fault is Fault.BUG:
        return None
    refusal = unavailable(error, fault)
    refusal.__cause__ = error
    return refusal_of(refusal)


def _with_cause(error: Exception, text: str = "") -> str:
    cause = f" ({str(error.__cause__).splitlines()[0]})" if error.__cause__ else ""
    return f"{text or error}{cause}"
