"""The known schema revisions, and whether a release can serve the database in its current state.

A release is identified by its newest revision. It knows the migrations up to its own, but no later ones. So the
database records, in the one row of ``schema_state``, the oldest release that may serve it. A release serves its own
schema, and a newer one whose ``served_since`` it knows. ``changing_to`` is set while the schema is changed in a way
that running releases cannot serve: they stop first (see ``baremetal_sched.db.schema``).
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert, inspect, select, update

from baremetal_sched.db.models.base import SchemaState as Row
from baremetal_sched.db.models.base import table_of
from baremetal_sched.errors import InvalidValue, SchemaChanging, SchemaNotServed, SchemaTooNew, SchemaTooOld

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

#: Directory of the migrations: in an installed package, or beside it in a checkout.
_PLACES = (Path(__file__).parents[1] / "migrations", Path(__file__).parents[2] / "migrations")


def _place() -> Path:
    return next(place for place in _PLACES if (place / "env.py").exists())


def alembic_config(connection: Connection | None = None) -> "Config":
    """Return Alembic's configuration with our migrations and, to run them, the connection."""
    # Alembic is slow to import, and only migrations need it: no process of the API imports it.
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_place()))
    config.attributes["connection"] = connection
    return config


@cache
def _scripts() -> "ScriptDirectory":
    from alembic.script import ScriptDirectory  # see ``alembic_config``

    return ScriptDirectory.from_config(alembic_config())


@cache
def chain() -> tuple[str, ...]:
    """Return all revisions, the oldest first: the numbers with which the names of the migrations' files begin."""
    return tuple(sorted(path.name.split("_")[0] for path in (_place() / "versions").glob("[0-9]*_*.py")))


def head() -> str:
    """Return the newest known revision."""
    return chain()[-1]


def find_revision(name: str) -> str | None:
    """Return the revision called ``name``: ``head``, ``base`` (None) or a revision. Raises InvalidValue."""
    if name not in {"head", "base", *chain()}:
        raise InvalidValue(
            message=f"There is no revision {name!r}; the revisions of this release are base, {', '.join(chain())}."
        )
    return {"head": head(), "base": None}.get(name, name)


def age(revision: str | None) -> int:
    """Return the number of earlier revisions; -1 for None, the empty database. Raises SchemaTooNew for an unknown
    one."""
    if revision is None:
        return -1
    if revision not in chain():
        raise SchemaTooNew(found=revision, known=head())
    return chain().index(revision)


def title(revision: str) -> str:
    """Return the summary of the migration to this revision: the first line of its docstring."""
    return str(_scripts().get_revision(revision).doc)


@cache
def served_since(revision: str) -> str:
    """Return the oldest release that can serve a database at ``revision``.

    Its migration declares ``served_since`` in its module; without that, no earlier release can. All revisions in
    between must allow it, too.
    """
    script = _scripts().get_revision(revision)
    marked = getattr(script.module, "served_since", revision)
    previous = script.down_revision
    if marked == revision or not isinstance(previous, str):
        return revision
    return max(marked, served_since(previous), key=age)


def needs_stop(found: str, target: str) -> bool:
    """Return whether the release of ``found`` cannot serve the schema at ``target``, a newer one."""
    return age(served_since(target)) > age(found)


# -- the state of a database -------------------------------------------------------------------------------------------

#: Selects the columns of ``SchemaState``. Fails on a database older than these.
QUERY = (
    "SELECT version_num, revision, served_since, changing_to, mirror_phase <> 'finished'"
    " FROM alembic_version LEFT JOIN schema_state ON schema_state.id = 1"
)

#: Not served by any release.
_NO_RELEASE = "none"


@dataclass(frozen=True)
class SchemaStatus:
    """The revision of a database, and its row of ``schema_state`` (None: there is none).

    ``is_mirror``: only an import may write.
    """

    revision: str | None
    recorded: str | None = None
    served_since: str | None = None
    changing_to: str | None = None
    is_mirror: bool = False

    @property
    def is_settled(self) -> bool:
        """Return whether the row matches the revision, and no change is in progress."""
        return self.recorded == self.revision and self.changing_to is None


def refusal(state: SchemaStatus) -> SchemaNotServed | None:
    """Return the reason why this release cannot serve a database in this state; None if it can."""
    knows_oldest = state.served_since in chain()
    if state.changing_to is not None and not knows_oldest:
        return SchemaChanging(found=state.revision, target=state.changing_to, known=head())
    if state.revision == head():
        return None
    if state.revision is None or state.revision in chain():
        return SchemaTooOld(found=state.revision or "none", known=head())
    if knows_oldest and state.recorded == state.revision:
        return None
    return SchemaTooNew(found=state.revision, known=head())


def announce(connection: Connection, found: str, target: str | None) -> None:
    """Record that the schema is about to change from ``found``: releases that cannot serve ``target`` stop."""
    is_upgrade = target is not None and age(target) > age(found)
    oldest = served_since(target) if target is not None and is_upgrade else _NO_RELEASE
    _write(connection, revision=found, served_since=oldest, changing_to=target or "base")


def settle(connection: Connection, revision: str | None) -> None:
    """Record that the schema is at ``revision`` and stays there. Releases that were gone before stay out: what they do
    not know goes on during the next rolling upgrade."""
    if revision is not None:
        known = (served_since(revision), oldest(connection) if is_recorded(connection) else None)
        served = (each for each in known if each in chain() and age(each) <= age(revision))
        _write(connection, revision=revision, served_since=max(served, key=age), changing_to=None)


def finish(connection: Connection, revision: str) -> None:
    """Record that only releases of ``revision`` and later ones serve the schema from now on: a rolling upgrade is
    finished."""
    _write(connection, served_since=revision)


def has_finished(connection: Connection, revision: str) -> bool:
    """Return whether no release before ``revision`` can serve the database."""
    return is_since(oldest(connection), revision)


def oldest(connection: Connection) -> str | None:
    """Return the oldest release that may serve the database."""
    found: str | None = connection.execute(select(table_of(Row).c.served_since)).scalar()
    return found


def lock(connection: Connection) -> None:
    """Lock the row of the state, for rare changes that only one transaction may make at a time."""
    connection.execute(select(table_of(Row).c.id).with_for_update())


def is_since(release: str | None, revision: str) -> bool:
    """Return whether the ``oldest`` release is that of ``revision``, or a later one."""
    return release not in chain() or age(release) >= age(revision)


def pass_through(connection: Connection, revision: str | None) -> None:
    """Record that the schema is at ``revision`` temporarily, on the way to another."""
    _write(connection, revision=revision)


def is_recorded(connection: Connection) -> bool:
    """Return whether the database has the table of the state, which the first revisions lack."""
    return inspect(connection).has_table(Row.__tablename__)


def _write(connection: Connection, **values: str | None) -> None:
    if not is_recorded(connection):
        return
    table = table_of(Row)
    if connection.execute(update(table).where(table.c.id == 1).values(**values)).rowcount == 0:
        connection.execute(insert(table).values({"id": 1, "served_since": _NO_RELEASE, **values}))
