"""Notes of a transaction: what the code in it tells the end of the transaction.

- Events of its changes: rows of ``event_notes``, written before it commits. Code that changes something notes the event
  after the row that it is about is locked. So there is no change without its event, and no event without its change.
  Rows of the history of nodes are noted here, too, as all of them take one statement. On PostgreSQL the UPDATE of a
  node carries what was noted before it, if it is little: WITH noted_0 AS (INSERT INTO event_notes …) UPDATE nodes …
- Machines that it may have freed: they are handed over to waiting requests before it commits (``db.handover``). Code
  that frees a machine need not know which requests wait for it.
- Requests that began to wait, requested work of conductors, and booked machines that have changed: all are looked at
  after it has committed.

These notes go with their savepoint. The others belong to the attempt.
"""

from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine, Integer, String, bindparam, case, event, insert, null, select
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled, requester
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.event_types import NODE_COLUMNS, EventType
from baremetal_sched.db.models import EventNote, Node, ResourceProvider
from baremetal_sched.db.models.base import SchemaState, table_of
from baremetal_sched.db.requester import Requester
from baremetal_sched.db.types import Writer, dump_json

#: The option of an engine whose transactions write events.
WRITES_EVENTS = "writes_events"
#: Name of the notes among the options of a connection, which has them for one transaction.
_NOTES = "notes"

_ROWS, _NODES, _PROVIDERS = table_of(EventNote), table_of(Node), table_of(ResourceProvider)
_SCHEMA = table_of(SchemaState)

#: The statement that carries notes on PostgreSQL.
_CARRIER = "UPDATE nodes SET "

#: The prefix of the parameters of an event within another statement.
_PREFIX = "event_"

#: Those of NODE_COLUMNS in events that are written without the lock of the node's row. The rest is the node's state:
#: without the lock an older state could get the higher number.
UNLOCKED_COLUMNS = ("name", "owner", "lessee")

#: The revision whose release reads events without the state of their node. Earlier ones take it for empty.
_STATELESS_REVISION = "0032"

#: The revision whose release has the columns of who made a change. Until no earlier one serves, they stay empty.
WHO_REVISION = "0037"
_WHO = ("user_id", "user_project_id")

_GIVEN = ("uuid", "type", "subject", "node", *NODE_COLUMNS, "project_id", "data")


def _who(served_since: Any, prefix: str = "") -> dict[str, Any]:
    """CASE WHEN served_since < '0037' THEN NULL ELSE :user_id END, …"""
    is_expected = served_since < WHO_REVISION
    return {name: case((is_expected, null()), else_=bindparam(f"{prefix}{name}", type_=String())) for name in _WHO}


#: INSERT INTO event_notes (…) VALUES (…, CASE WHEN (SELECT served_since …) < '0037' … END, <now>)
_INSERT = (
    insert(_ROWS)
    .values(
        {
            **{name: bindparam(name) for name in _GIVEN},
            **_who(select(_SCHEMA.c.served_since).where(_SCHEMA.c.id == 1).scalar_subquery()),
            "at": epoch(),
        }
    )
    .inline()
)


def _of_node(*conditions: Any, prefix: str = "", is_locked: bool = False) -> Any:
    """INSERT INTO event_notes (…) SELECT :uuid, :type, n.uuid, n.uuid, n.name, …, :project_id, :data, <now>
    FROM nodes n WHERE …: nothing, if there is no such node.

    Unless the row of the node is locked, its state is only there until ``db upgrade --finish``:
    CASE WHEN s.served_since < '0032' THEN n.provision_state END, … FROM nodes n LEFT JOIN schema_state s ON s.id = 1
    """
    given = {
        name: bindparam(f"{prefix}{name}", type_=_ROWS.c[name].type) for name in ("uuid", "type", "project_id", "data")
    }
    kept = NODE_COLUMNS if is_locked else UNLOCKED_COLUMNS
    is_expected = _SCHEMA.c.served_since < _STATELESS_REVISION
    own = {name: _NODES.c[name] if name in kept else case((is_expected, _NODES.c[name])) for name in NODE_COLUMNS}
    who = _who(_SCHEMA.c.served_since, prefix)
    columns = {**given, "subject": _NODES.c.uuid, "node": _NODES.c.uuid, **own, **who, "at": epoch()}
    source = _NODES.outerjoin(_SCHEMA, _SCHEMA.c.id == 1)
    return insert(_ROWS).from_select([*columns], select(*columns.values()).select_from(source).where(*conditions))


_HAS_KEY = _NODES.c.uuid == bindparam("key", type_=String())
_OF_PROVIDER = select(_PROVIDERS.c.uuid).where(_PROVIDERS.c.id == bindparam("key", type_=Integer())).scalar_subquery()
_INSERT_OF_LOCKED = _of_node(_HAS_KEY, is_locked=True)
_INSERT_OF_NODE, _INSERT_OF_PROVIDER = _of_node(_HAS_KEY), _of_node(_NODES.c.uuid == _OF_PROVIDER)


def insert_within(provider: Any, *conditions: Any, is_locked: bool = False) -> Any:
    """Return the INSERT of an event of a machine, known by the UUID of its provider (an expression), under conditions:
    as a part of the statement that makes the change, on PostgreSQL. Its parameters are those of ``values_within``.
    ``is_locked``: the statement locks the row of the node, whose state the event has."""
    return _of_node(_NODES.c.uuid == provider, *conditions, prefix=_PREFIX, is_locked=is_locked)


#: The notes that are undone with a savepoint.
_OF_SAVEPOINT = ("rows", "providers", "nodes", "groups", "waiting", "requests_work", "booked")


class MachineLocked(StaleDataError):
    """Another transaction has locked the row of a machine (a node's UUID) that is to be handed over."""

    def __init__(self, node: str) -> None:
        super().__init__("a machine is being changed by another transaction")
        self.node = node


class WaitedFor(Exception):
    """A newcomer claims a free machine for which a request waits: the machine is handed over first. ``machines``: ids
    of providers. The transaction is run again afterwards.
    """

    def __init__(self, machines: Collection[int]) -> None:
        super().__init__("a machine is waited for")
        self.machines = frozenset(machines)


@dataclass
class Notes:
    """The notes of a transaction. ``by`` returns who makes the changes at this moment."""

    by: Callable[[], Requester] = lambda: requester.UNKNOWN
    #: Rows to write, in order: pairs of a statement and its values.
    rows: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    #: Providers (ids) and nodes (UUIDs) whose machines may have been freed.
    providers: set[int] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    #: Machine groups (ids) whose consumers have got or given back something.
    groups: set[int] = field(default_factory=set)
    #: Requests (UUIDs) that began to wait.
    waiting: list[str] = field(default_factory=list)
    #: Whether work is requested from a conductor.
    requests_work: bool = False
    #: Nodes (UUIDs) that may be booked, and that have changed in a way that may matter to a booking.
    booked: set[str] = field(default_factory=set)

    #: Providers (ids) for whose machines no request waited when the transaction read them.
    unwanted: set[int] = field(default_factory=set)
    #: Providers (ids) whose machines were offered to waiting requests a moment ago: newcomers may have the rest.
    offered: frozenset[int] = frozenset()
    #: Whether the transaction gives machines to waiting requests.
    gives: bool = False
    #: Whether it writes events.
    writes_events: bool = False
    #: The notes at the beginning of each open savepoint, the innermost last.
    savepoints: list[dict[str, Any]] = field(default_factory=list)

    def is_wanted(self) -> bool:
        """Return whether the transaction may have freed a machine for which a request waits."""
        return bool(self.nodes or self.providers - self.unwanted)

    def add(
        self,
        kind: EventType,
        subject: str,
        data: Mapping[str, Any],
        *,
        node: Mapping[str, Any] | None = None,
        project: str | None = None,
    ) -> None:
        """Note an event of this type. ``node``: its UUID and NODE_COLUMNS, if it is about one (without its lock: its
        UUID and UNLOCKED_COLUMNS); ``project``: the consumer's or the requester's."""
        of_node: dict[str, Any] = {**dict.fromkeys(NODE_COLUMNS), **(node or {})}
        of_node["node"] = of_node.pop("uuid", None)
        self._append(_INSERT, kind, data, project, subject=subject, **of_node)

    def add_of_machine(
        self,
        kind: EventType,
        machine: str | int,
        data: Mapping[str, Any],
        *,
        project: str | None = None,
        is_locked: bool = False,
    ) -> None:
        """Note an event of a node, known by its UUID or by the id of its provider. Columns are read when the notes are
        written: UNLOCKED_COLUMNS, or NODE_COLUMNS if ``is_locked``: the transaction has locked the row of the node,
        which is known by its UUID. If the provider is no node, there is no event."""
        unlocked = _INSERT_OF_NODE if isinstance(machine, str) else _INSERT_OF_PROVIDER
        self._append(_INSERT_OF_LOCKED if is_locked else unlocked, kind, data, project, key=machine)

    def _append(
        self, statement: Any, kind: EventType, data: Mapping[str, Any], project: str | None, **values: Any
    ) -> None:
        if self.writes_events:
            self.rows.append((statement, {**values_of(self.by(), kind, data, project), **values}))

    def add_row(self, statement: Any, values: dict[str, Any]) -> None:
        """Note a row of another table: an INSERT, which is the same object each time, and its values."""
        self.rows.append((statement, values))

    def write(self, connection: Connection) -> None:
        """Write the rows: in one statement for each table, unless events are noted in different ways."""
        start = 0
        self.rows.sort(key=lambda row: row[0].table is _ROWS)
        for place, (statement, _) in enumerate(self.rows, 1):
            if place == len(self.rows) or self.rows[place][0] is not statement:
                compiled.change_all(connection, statement, [values for _, values in self.rows[start:place]])
                start = place
        self.rows.clear()


def values_of(by: Requester, kind: EventType, data: Mapping[str, Any], project: str | None) -> dict[str, Any]:
    """Return the values of an event of this type, of a change that ``by`` makes. Without a request that is the service
    itself, whose name is empty."""
    user = "" if by == requester.UNKNOWN else by.user_id and by.user_id[: requester.LONGEST]
    return {
        "uuid": str(uuid4()), "type": kind.name, "data": dump_json(data), "project_id": project,
        "user_id": user, "user_project_id": by.project_id and by.project_id[: requester.LONGEST],
    }  # fmt: skip


def values_within(
    connection: Connection, kind: EventType, data: Mapping[str, Any], project: str | None
) -> dict[str, Any]:
    """Return the parameters of ``insert_within``; none if no events are written."""
    if not notes_of(connection).writes_events:
        return {}
    return {
        f"{_PREFIX}{name}": value for name, value in values_of(requester.of(connection), kind, data, project).items()
    }


def notes_of(writer: Writer) -> Notes:
    """Return the notes of the transaction."""
    connection = writer if isinstance(writer, Connection) else writer.connection()
    options = connection.get_execution_options()
    notes: Notes | None = options.get(_NOTES)
    if notes is None:
        notes = Notes(partial(requester.of, connection), writes_events=options.get(WRITES_EVENTS, False))
        connection.execution_options(**{_NOTES: notes})
    return notes


def note_booked(writer: Writer, *nodes: Any) -> None:
    """Note those of the nodes (rows with UUID and ``closes_at``) that are closed: they may be booked, and have changed
    in a way that may matter to a booking."""
    closed = {node.uuid for node in nodes if node.closes_at is not None}
    if closed:
        notes_of(writer).booked |= closed


def forget_booked(writer: Writer) -> None:
    """Forget the same: the transaction has looked at the bookings itself."""
    notes_of(writer).booked.clear()


def listen(engine: Engine, sessions: sessionmaker[Session]) -> None:
    """Have notes that are made within a savepoint go with it, and UPDATEs carry notes. Notes in a session are of its
    requester."""
    event.listen(sessions, "after_begin", requester.follow)
    if engine.dialect.name == "postgresql":
        event.listen(engine, "before_cursor_execute", _carry, retval=True)
    event.listen(engine, "savepoint", _begin_savepoint)
    event.listen(engine, "release_savepoint", lambda connection, *_: notes_of(connection).savepoints.pop())
    event.listen(engine, "rollback_savepoint", _roll_back)


def _begin_savepoint(connection: Connection, name: None) -> None:
    notes = notes_of(connection)
    notes.savepoints.append({each: copy(getattr(notes, each)) for each in _OF_SAVEPOINT})


def _roll_back(connection: Connection, *_: Any) -> None:
    notes = notes_of(connection)
    vars(notes).update(notes.savepoints.pop())


def _carry(
    connection: Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> tuple[str, Any]:
    """Return the statement and its parameters, with what is noted, if it can carry that."""
    if executemany or not statement.startswith(_CARRIER) or not isinstance(parameters, Mapping):
        return statement, parameters
    notes = notes_of(connection)
    kinds = [kind for kind, _ in notes.rows]
    # Other events read the node, after its change.
    is_known = all(kind is _INSERT or kind.table is not _ROWS for kind in kinds)
    # Several of a kind would be in any order. What was noted before a savepoint does not end with it.
    if not kinds or not is_known or len({*kinds}) < len(kinds) or notes.savepoints:
        return statement, parameters
    given, parts = {**parameters}, []
    for place, (kind, values) in enumerate(notes.rows):
        text, own = compiled.part(connection, kind, values, f"noted_{place}")
        parts.append(f"noted_{place} AS ({text})")
        given |= own
    notes.rows.clear()
    return f"WITH {', '.join(parts)} {statement}", given
