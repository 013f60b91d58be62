"""Notes of what a transaction changes, which become its events: rows of ``event_notes``, written before it commits.

Code that changes something notes it here after the row that it is about is locked. Notes made within a savepoint go
with it. So there is no change without its event, and no event without its change.

Rows of the history of nodes are noted here, too, as all of them take one statement. On PostgreSQL the UPDATE of a node
carries what was noted before it, if it is little: WITH noted_0 AS (INSERT INTO event_notes …) UPDATE nodes …
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine, Integer, String, bindparam, case, event, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.event_types import NODE_COLUMNS, EventType
from baremetal_sched.db.models import EventNote, Node, ResourceProvider
from baremetal_sched.db.models.base import SchemaState, table_of
from baremetal_sched.db.types import dump_json

#: The option of an engine whose transactions write events.
WRITES_EVENTS = "writes_events"
#: Name of the notes among the options of a connection, which has them for one transaction.
_NOTES = "event_notes"

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

_GIVEN = ("uuid", "type", "subject", "node", *NODE_COLUMNS, "project_id", "data")
#: INSERT INTO event_notes (…) VALUES (…, <now>)
_INSERT = insert(_ROWS).values({**{name: bindparam(name) for name in _GIVEN}, "at": epoch()}).inline()


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
    columns = {**given, "subject": _NODES.c.uuid, "node": _NODES.c.uuid, **own, "at": epoch()}
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


@dataclass
class EventNotes:
    """The notes of a transaction: pairs of a statement and its values, in order."""

    rows: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    #: The number of notes at the beginning of each open savepoint, the innermost last.
    savepoints: list[int] = field(default_factory=list)

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
        self, kind: EventType, machine: str | int, data: Mapping[str, Any], *, project: str | None = None
    ) -> None:
        """Note an event of a node, known by its UUID or by the id of its provider. UNLOCKED_COLUMNS are read when the
        notes are written; if the provider is no node, there is no event."""
        statement = _INSERT_OF_NODE if isinstance(machine, str) else _INSERT_OF_PROVIDER
        self._append(statement, kind, data, project, key=machine)

    def add_of_locked(self, kind: EventType, node: str, data: Mapping[str, object]) -> None:
        """Note an event of a node, known by its UUID, whose row the transaction has locked. NODE_COLUMNS are read when
        the notes are written."""
        self._append(_INSERT_OF_LOCKED, kind, data, None, key=node)

    def _append(
        self, statement: Any, kind: EventType, data: Mapping[str, Any], project: str | None, **values: Any
    ) -> None:
        self.rows.append((statement, {**values_of(kind, data, project), **values}))

    def add_row(self, statement: Any, values: dict[str, Any]) -> None:
        """Note a row of another table: an INSERT, which is the same object each time, and its values."""
        self.rows.append((statement, values))

    def write(self, connection: Connection) -> None:
        """Write the notes: in one statement for each table, unless events are noted in different ways."""
        start = 0
        self.rows.sort(key=lambda row: row[0].table is _ROWS)
        for place, (statement, _) in enumerate(self.rows, 1):
            if place == len(self.rows) or self.rows[place][0] is not statement:
                compiled.change_all(connection, statement, [values for _, values in self.rows[start:place]])
                start = place
        self.rows.clear()


def values_of(kind: EventType, data: Mapping[str, Any], project: str | None) -> dict[str, Any]:
    """Return the values of an event of this type."""
    return {"uuid": str(uuid4()), "type": kind.name, "data": dump_json(data), "project_id": project}


def values_within(kind: EventType, data: Mapping[str, Any], project: str | None) -> dict[str, Any]:
    """Return the parameters of ``insert_within``."""
    return {f"{_PREFIX}{name}": value for name, value in values_of(kind, data, project).items()}


class _NoEvents(EventNotes):
    """The notes of a transaction that writes no events."""

    def _append(self, *_: Any, **__: Any) -> None: ...


def events_of(connection: Connection) -> EventNotes:
    """Return the notes of the transaction on this connection."""
    options = connection.get_execution_options()
    notes: EventNotes | None = options.get(_NOTES)
    if notes is None:
        notes = EventNotes() if options.get(WRITES_EVENTS) else _NoEvents()
        connection.execution_options(**{_NOTES: notes})
    return notes


def writes_events(connection: Connection) -> bool:
    """Return whether the transaction on this connection writes events."""
    return not isinstance(events_of(connection), _NoEvents)


def events_in(session: Session) -> EventNotes:
    """Return the notes of the session's transaction."""
    return events_of(session.connection())


def listen(engine: Engine) -> None:
    """Have notes that are made within a savepoint go with it, and UPDATEs carry notes."""
    if engine.dialect.name == "postgresql":
        event.listen(engine, "before_cursor_execute", _carry, retval=True)
    event.listen(engine, "savepoint", _begin_savepoint)
    event.listen(engine, "release_savepoint", lambda connection, *_: events_of(connection).savepoints.pop())
    event.listen(engine, "rollback_savepoint", _roll_back)


def _begin_savepoint(connection: Connection, name: None) -> None:
    notes = events_of(connection)
    notes.savepoints.append(len(notes.rows))


def _roll_back(connection: Connection, *_: Any) -> None:
    notes = events_of(connection)
    del notes.rows[notes.savepoints.pop() :]


def _carry(
    connection: Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> tuple[str, Any]:
    """Return the statement and its parameters, with what is noted, if it can carry that."""
    if executemany or not statement.startswith(_CARRIER) or not isinstance(parameters, Mapping):
        return statement, parameters
    notes = events_of(connection)
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
