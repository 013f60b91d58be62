"""Reading events: those with a number, in order."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import BigInteger, ColumnElement, Connection, Double, bindparam, func, literal, select

from baremetal_sched.baremetal.visibility import is_exactly
from baremetal_sched.db import compiled, schema_state
from baremetal_sched.db.event_types import NODE_COLUMNS
from baremetal_sched.db.models import EventProject, EventStream, Node, NumberedEvent
from baremetal_sched.db.models.base import SchemaState, table_of
from baremetal_sched.db.types import Query, Reader, connection_of
from baremetal_sched.errors.events import EventsDisabled, EventsGone, EventsNotServed
from baremetal_sched.scheduling.events.cursors import Cursor, mark_of
from baremetal_sched.settings import Settings

#: The revisions whose releases write events, and take cursors with a mark.
FIRST_REVISION, MARKS_REVISION = "0030", "0032"

#: The number of events that one statement looks at, at most, to find those of some types.
WINDOW = 10_000

EVENTS, PROJECTS, STREAM = table_of(NumberedEvent), table_of(EventProject), table_of(EventStream)
_IS_ONE = STREAM.c.id == 1
_LAST = select(STREAM.c.last).where(_IS_ONE)
#: SELECT s.uuid, s.last, (SELECT min(number) FROM events), (SELECT served_since FROM schema_state),
#: (SELECT uuid FROM events WHERE number = s.last), (SELECT uuid FROM events WHERE number = :number)
#: FROM event_stream s WHERE s.id = 1
_STREAM = select(
    STREAM.c.uuid,
    STREAM.c.last,
    select(func.min(EVENTS.c.number)).scalar_subquery().label("oldest"),
    select(table_of(SchemaState).c.served_since).scalar_subquery().label("served_since"),
    select(EVENTS.c.uuid).where(EVENTS.c.number == STREAM.c.last).scalar_subquery().label("newest"),
    select(EVENTS.c.uuid)
    .where(EVENTS.c.number == bindparam("number", type_=BigInteger()))
    .scalar_subquery()
    .label("at"),
).where(_IS_ONE)


@dataclass(frozen=True)
class Event:
    """Something that has happened, unmasked (see ``masks``).

    ``node``: the UUID of its node, None if it has none. ``at``: seconds since 1970. ``data``: what it says by the API's
    names: the ``uuid`` of the node, if there is one, and NODE_COLUMNS after the change, or only the ``name`` if the
    node was not locked; ``changed`` (``{field: {"before", "after"}}``), and what its type adds. ``owner``, ``lessee``,
    ``project``: whose it was when it happened. ``user``: who made the change, with the project of that request; empty
    for the service itself, None if that is unknown.
    """

    number: int
    uuid: str
    type: str
    subject: str
    node: str | None
    at: float
    data: dict[str, Any]
    owner: str | None = None
    lessee: str | None = None
    project: str | None = None
    user: str | None = None
    user_project: str | None = None

    @property
    def projects(self) -> frozenset[str]:
        """Return the projects whose it was when it happened."""
        return frozenset(filter(None, (self.owner, self.lessee, self.project)))


@dataclass(frozen=True)
class Stream:
    """The numbers that can be read: from ``oldest`` to ``last``; ``oldest`` is ``last + 1`` if there are none.

    ``marks``: of the last event, and of the one that was asked for, by number. ``served_since``: the oldest release
    that may serve the database.
    """

    uuid: str
    last: int
    oldest: int
    marks: Mapping[int, str]
    served_since: str | None

    @property
    def now(self) -> Cursor:
        """Return the cursor after all events."""
        return self.cursor(self.last)

    @property
    def beginning(self) -> Cursor:
        """Return the cursor before all events that can be read."""
        return Cursor(self.uuid, self.oldest - 1)

    def cursor(self, number: int, mark: str | None = None) -> Cursor:
        """Return the cursor after the event with this number, whose ``mark`` is given, or one of the known. Until
        ``db upgrade --finish`` there may be processes that take no marks: none is given."""
        takes_marks = schema_state.is_since(self.served_since, MARKS_REVISION)
        return Cursor(self.uuid, number, (mark or self.marks.get(number)) if takes_marks else None)

    def has(self, cursor: Cursor) -> bool:
        """Return whether the event at the cursor, one of those whose marks are known, is or was in the stream."""
        known = self.marks.get(cursor.number) if cursor.mark else None
        return cursor.stream == self.uuid and cursor.number <= self.last and known in (None, cursor.mark)

    def require(self, cursor: Cursor, *, backwards: bool = False) -> None:
        """Raise EventsGone unless all events after the cursor can be read; ``backwards``: unless it is of the stream,
        so that those before it which are left can be read."""
        if cursor.stream != self.uuid:
            reason = "it is of another stream"
        elif not self.has(cursor):
            reason = "the database has lost the event at the cursor, as in a failover to a server that did not have it"
        elif cursor.number < self.oldest - 1 and not backwards:
            reason = "they have been deleted"
        else:
            return
        raise EventsGone(cursor=str(cursor), reason=reason, oldest=str(self.beginning))

    def require_served(self, settings: Settings) -> None:
        """Raise EventsDisabled, or EventsNotServed while a release that writes none may serve the database."""
        if not settings.events.enabled:
            raise EventsDisabled
        if not schema_state.is_since(self.served_since, FIRST_REVISION):
            raise EventsNotServed


def stream(reader: Reader, number: int = 0) -> Stream:
    """Return the stream, in one statement; it knows the mark of the event with this ``number``."""
    row = reader.execute(_STREAM, {"number": number}).one()
    if number > row.last:
        _catch_up(reader)
        row = reader.execute(_STREAM, {"number": number}).one()
    marks = {at: mark_of(uuid) for at, uuid in ((row.last, row.newest), (number, row.at)) if uuid is not None}
    return Stream(row.uuid, row.last, row.last + 1 if row.oldest is None else row.oldest, marks, row.served_since)


def _catch_up(reader: Reader) -> None:
    """On Galera, wait for what other servers have committed: the cursor may be of one that is ahead."""
    connection = connection_of(reader)
    if connection.dialect.name not in ("mysql", "mariadb"):
        return
    if connection.exec_driver_sql("SHOW VARIABLES LIKE 'wsrep_sync_wait'").first():
        connection.exec_driver_sql("SET SESSION wsrep_sync_wait = 1")
        connection.exec_driver_sql("SELECT 1")
        connection.exec_driver_sql("SET SESSION wsrep_sync_wait = DEFAULT")


def last_number(connection: Connection) -> int:
    """Return the number of the last event."""
    found: int = compiled.run(connection, _LAST, {}).scalar()
    return found


def read_after(
    reader: Reader,
    number: int,
    limit: int,
    *,
    project: str | None = None,
    types: Collection[str] | None = None,
    nodes: Collection[str] | None = None,
    on_nodes: ColumnElement[bool] | None = None,
    user: str | None = None,
    subject: str | None = None,
    until: int | None = None,
    newest_first: bool = False,
) -> list[Event]:
    """Return the events with higher numbers, at most ``limit``, in order: each exactly once if asked again from the
    last number. ``until``: with no higher number than this. ``newest_first``: the last of them, the last one first.

    ``project``: only those that were this project's when they happened; None: all. ``types``: only of these types;
    ``nodes``: only of the nodes with these UUIDs; ``on_nodes``: only of nodes that meet this condition today;
    ``user``: only changes that this user made; ``subject``: only about what has this UUID.

    SELECT e.… FROM event_projects p JOIN events e ON e.number = p.number
    WHERE p.project_id = :project AND p.number > :number … ORDER BY p.number LIMIT :limit
    """
    query = _after(number, limit, [EVENTS], project, types, nodes, on_nodes, until, newest_first=newest_first)
    query = query if user is None else query.where(is_exactly(EVENTS.c.user_id, literal(user)))
    query = query if subject is None else query.where(EVENTS.c.subject == subject)
    return [_event(row) for row in reader.execute(query)]


def count_after(
    reader: Reader,
    number: int,
    limit: int,
    *,
    project: str | None = None,
    types: Collection[str] | None = None,
    nodes: Collection[str] | None = None,
    on_nodes: ColumnElement[bool] | None = None,
    until: int | None = None,
) -> int:
    """Return how many events ``read_after`` would return.

    SELECT count(*) FROM (SELECT e.number FROM … LIMIT :limit)
    """
    found = _after(number, limit, [EVENTS.c.number], project, types, nodes, on_nodes, until).subquery()
    return reader.scalar(select(func.count()).select_from(found)) or 0


def _after(
    number: int,
    limit: int,
    columns: list[Any],
    project: str | None,
    types: Collection[str] | None,
    nodes: Collection[str] | None,
    on_nodes: ColumnElement[bool] | None,
    until: int | None,
    *,
    newest_first: bool = False,
) -> Query:
    column: ColumnElement[Any] = EVENTS.c.number if project is None else PROJECTS.c.number
    query = select(*columns)
    if project is not None:
        query = query.join_from(PROJECTS, EVENTS, EVENTS.c.number == PROJECTS.c.number)
        # SQLite uses its index for the plain comparison only: it writes the other one as (… = ?) = 1.
        query = query.where(PROJECTS.c.project_id == project, is_exactly(PROJECTS.c.project_id, literal(project)))
    conditions = [column > number]
    conditions += [] if until is None else [column <= until]
    conditions += [] if types is None else [EVENTS.c.type.in_(types)]
    conditions += [] if nodes is None else [EVENTS.c.node.in_(nodes)]
    conditions += [] if on_nodes is None else [EVENTS.c.node.in_(select(Node.uuid).where(on_nodes))]
    return query.where(*conditions).order_by(column.desc() if newest_first else column).limit(limit)


#: Events are numbered in the order of their commits. One may be earlier, by this many seconds, than one before it.
_LONGEST_TRANSACTION = 600.0
_SINCE: ColumnElement[float] = bindparam("since", type_=Double())
#: SELECT min(number + 0) FROM events WHERE at >= :since AND at <= (SELECT min(at) FROM events WHERE at >= :since) + 600
#: Of an expression, as PostgreSQL would follow the order of numbers to the first such event, from the oldest on.
_FIRST_SINCE: Query = select(func.min(EVENTS.c.number + 0)).where(
    EVENTS.c.at >= _SINCE,
    EVENTS.c.at <= select(func.min(EVENTS.c.at)).where(EVENTS.c.at >= _SINCE).scalar_subquery() + _LONGEST_TRANSACTION,
)


def first_since(reader: Reader, at: float) -> int | None:
    """Return the lowest number of an event that is not older than this time; None if there is none."""
    found: int | None = reader.execute(_FIRST_SINCE, {"since": at}).scalar()
    return found


def latest_of(reader: Reader, node: str, types: Collection[str], limit: int) -> list[Event]:
    """Return the last events of the node of these types, the last one first."""
    query = select(EVENTS).where(EVENTS.c.node == node, EVENTS.c.type.in_(types))
    return [_event(row) for row in reader.execute(query.order_by(EVENTS.c.number.desc()).limit(limit))]


def _event(row: Any) -> Event:
    told = NODE_COLUMNS if row.provision_state is not None else ("name",)
    of_node = {} if row.node is None else {"uuid": row.node, **{name: getattr(row, name) for name in told}}
    return Event(
        number=row.number,
        uuid=row.uuid,
        type=row.type,
        subject=row.subject,
        node=row.node,
        at=row.at,
        data={**of_node, **orjson.loads(row.data)},
        owner=row.owner,
        lessee=row.lessee,
        project=row.project_id,
        user=row.user_id,
        user_project=row.user_project_id,
    )
