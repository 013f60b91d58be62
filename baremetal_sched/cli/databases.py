"""Which database a command uses: it is printed before anything is done, so that a wrong one is noticed."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from oslo_config.cfg import Locations

from baremetal_sched import logs
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings


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
