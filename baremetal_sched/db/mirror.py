"""The mark of a database that mirrors an Ironic and a Placement while an operator moves in.

As long as it is there, no process but an import writes anything: ``schema_guard`` looks for it with the schema. So no
conductor registers, and no machine is driven by two services. It is in the row of ``schema_state``.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models.base import SchemaState, table_of
from baremetal_sched.db.schema_state import head, served_since

_STATE = table_of(SchemaState)

#: An import is writing, or was interrupted; the last import has written everything; the database is not a mirror
#: any longer, and is served.
IMPORTING, COMPLETE, FINISHED = "importing", "complete", "finished"


@dataclass(frozen=True)
class MirrorState:
    """Of which databases this one is a mirror, or was; and when that ended, in seconds since 1970."""

    sources: str
    phase: str
    until: float | None


def read(connection: Connection) -> MirrorState | None:
    """Return the mark; None if nothing was imported."""
    columns = (_STATE.c.mirror_of, _STATE.c.mirror_phase, _STATE.c.mirror_until)
    row = connection.execute(select(*columns).where(_STATE.c.id == 1)).first()
    return None if row is None or row.mirror_phase is None else MirrorState(*row)


def begin(connection: Connection, sources: str) -> None:
    """Set the mark. Releases that do not know it cannot serve the database from now on."""
    _write(connection, mirror_of=sources, mirror_phase=IMPORTING, served_since=head())


def complete(connection: Connection) -> None:
    """Note that everything was written."""
    _write(connection, mirror_phase=COMPLETE)


def finish(connection: Connection) -> None:
    """Note that the database is no longer a mirror."""
    _write(connection, mirror_phase=FINISHED, mirror_until=epoch())
    schema_state.finish(connection, served_since(head()))


def _write(connection: Connection, **values: object) -> None:
    connection.execute(update(_STATE).where(_STATE.c.id == 1).values(values))
