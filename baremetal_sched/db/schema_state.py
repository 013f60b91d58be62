"""Whether a release can serve the database as it is now.

A release knows the migrations up to its own, and nothing of later ones. So the database says, in the one row of
``schema_state``, which is the oldest release (called by its newest revision) that may serve it. A release serves its
own schema, and a newer one whose ``served_since`` it knows. ``changing_to`` is set while the schema is changed in a way
that running releases cannot serve: they stop first (see ``baremetal_sched.db.schema``).
"""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, inspect, update

from baremetal_sched.db import revisions
from baremetal_sched.db.models.base import table_of
from baremetal_sched.db.models.schema import SchemaState as Row
from baremetal_sched.errors import SchemaChanging, SchemaNotServed, SchemaTooNew, SchemaTooOld

#: Selects the columns of ``SchemaState``. Fails on a database from before there was that table.
QUERY = (
    "SELECT version_num, revision, served_since, changing_to"
    " FROM alembic_version LEFT JOIN schema_state ON schema_state.id = 1"
)

#: What no release serves.
_NO_RELEASE = "none"


@dataclass(frozen=True)
class SchemaState:
    """The revision of a database, and what its row of ``schema_state`` says (None: there is no such row)."""

    revision: str | None
    recorded: str | None = None
    served_since: str | None = None
    changing_to: str | None = None

    @property
    def is_settled(self) -> bool:
        """Return whether the row is that of the revision, and no change is going on."""
        return self.recorded == self.revision and self.changing_to is None


def refusal(state: SchemaState) -> SchemaNotServed | None:
    """Why this release cannot serve a database in this state; None if it can."""
    knows_oldest = state.served_since in revisions.chain()
    if state.changing_to is not None and not knows_oldest:
        return SchemaChanging(found=state.revision, target=state.changing_to, known=revisions.head())
    if state.revision == revisions.head():
        return None
    if state.revision is None or state.revision in revisions.chain():
        return SchemaTooOld(found=state.revision or "none", known=revisions.head())
    if knows_oldest and state.recorded == state.revision:
        return None
    return SchemaTooNew(found=state.revision, known=revisions.head())


def announce(connection: Connection, found: str, target: str | None) -> None:
    """Note that the schema is about to be changed, from ``found``: releases that cannot serve ``target`` stop."""
    is_upgrade = target is not None and revisions.age(target) > revisions.age(found)
    oldest = revisions.served_since(target) if target is not None and is_upgrade else _NO_RELEASE
    _write(connection, revision=found, served_since=oldest, changing_to=target or "base")


def settle(connection: Connection, revision: str | None) -> None:
    """Note that the schema is at ``revision`` now, and stays there."""
    if revision is not None:
        _write(connection, revision=revision, served_since=revisions.served_since(revision), changing_to=None)


def pass_through(connection: Connection, revision: str | None) -> None:
    """Note that the schema is at ``revision``, on its way to another."""
    _write(connection, revision=revision)


def is_recorded(connection: Connection) -> bool:
    """Return whether the database has the table of the state: at the first revisions it has not."""
    return inspect(connection).has_table(Row.__tablename__)


def _write(connection: Connection, **values: str | None) -> None:
    if not is_recorded(connection):
        return
    table = table_of(Row)
    if connection.execute(update(table).where(table.c.id == 1).values(**values)).rowcount == 0:
        connection.execute(insert(table).values({"id": 1, "served_since": _NO_RELEASE, **values}))
