"""Options shared by several commands, and the settings made from them."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from baremetal_sched import logs
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
