"""The contents of a database, whatever the revision of its schema."""

from sqlalchemy import Engine, func, inspect, select, table

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor
from baremetal_sched.db.models.base import table_of

#: About the schema itself.
_OF_SCHEMA = frozenset({"alembic_version", "schema_state"})


def count(engine: Engine) -> dict[str, int]:
    """Return the number of rows of each table, the fullest first."""
    with engine.connect() as connection:
        names = set(inspect(connection).get_table_names()) - _OF_SCHEMA
        found = {name: connection.scalar(select(func.count()).select_from(table(name))) or 0 for name in names}
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def live_conductors(engine: Engine, timeout: float) -> list[str]:
    """Return the host names of conductors that are online and sent a heartbeat within ``timeout`` seconds, sorted.

    Names of columns are those of the first revision, which all later ones have.
    """
    conductors = table_of(Conductor)
    alive = conductors.c.online & (conductors.c.heartbeat_at > epoch() - timeout)
    with engine.connect() as connection:
        if not inspect(connection).has_table(conductors.name):
            return []
        return list(connection.scalars(select(conductors.c.hostname).where(alive).order_by(conductors.c.hostname)))
