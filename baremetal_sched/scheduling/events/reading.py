"""Reading events: those with a number, in order."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, func, literal, select

from baremetal_sched.baremetal.visibility import is_exactly
from baremetal_sched.db import compiled, schema_state
from baremetal_sched.db.event_notes import NODE_COLUMNS
from baremetal_sched.db.models import EventProject, EventStream, NumberedEvent
from baremetal_sched.db.models.base import table_of
from baremetal_sched.db.transaction import Reader, connection_of
from baremetal_sched.db.types import Query
from baremetal_sched.errors.events import EventsDisabled, EventsGone, EventsNotServed
from baremetal_sched.scheduling.events.cursors import Cursor
from baremetal_sched.settings import Settings

#: The revision whose release writes events.
FIRST_REVISION = "0030"

#: The number of events that one statement looks at, at most, to find those of some types.
WINDOW = 10_000

EVENTS, PROJECTS, STREAM = table_of(NumberedEvent), table_of(EventProject), table_of(EventStream)
_LAST = select(STREAM.c.last).where(STREAM.c.id == 1)


@dataclass(frozen=True)
class Event:
    """Something that has happened, unmasked (see ``masks``).

    ``node``: the UUID of its node, None if it has none. ``at``: seconds since 1970. ``data``: what it says by the API's
    names: the ``uuid`` of the node, if there is one, and NODE_COLUMNS after the change, or only the ``name`` if the
    node was not locked; ``changed`` (``{field: {"before", "after"}}``), and what its type adds. ``owner``, ``lessee``,
    ``project``: whose it was when it happened.
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

    @property
    def projects(self) -> frozenset[str]:
        """Return the projects whose it was when it happened."""
        return frozenset(filter(None, (self.owner, self.lessee, self.project)))


@dataclass(frozen=True)
class Stream:
    """The numbers that can be read: from ``oldest`` to ``last``; ``oldest`` is ``last + 1`` if there are none."""

    uuid: str
    last: int
    oldest: int

    @property
    def now(self) -> Cursor:
        """Return the cursor after all events."""
        return Cursor(self.uuid, self.last)

    @property
    def beginning(self) -> Cursor:
        """Return the cursor before all events that can be read."""
        return Cursor(self.uuid, self.oldest - 1)

    def require(self, cursor: Cursor) -> None:
        """Raise EventsGone unless all events after the cursor can be read."""
        if cursor.stream != self.uuid:
            raise EventsGone(cursor=str(cursor), reason="it is of another stream", oldest=str(self.beginning))
        if cursor.number < self.oldest - 1:
            raise EventsGone(cursor=str(cursor), reason="they have been deleted", oldest=str(self.beginning))


def require_served(reader: Reader, settings: Settings) -> None:
    """Raise EventsDisabled, or EventsNotServed while a release that writes none may serve the database."""
    if not settings.events.enabled:
        raise EventsDisabled
    if not schema_state.has_finished(connection_of(reader), FIRST_REVISION):
        raise EventsNotServed


def stream(reader: Reader) -> Stream:
    """Return the stream, in one statement.

    SELECT uuid, last, (SELECT min(number) FROM events) FROM event_stream WHERE id = 1
    """
    oldest = select(func.min(EVENTS.c.number)).scalar_subquery()
    uuid, last, first = reader.execute(select(STREAM.c.uuid, STREAM.c.last, oldest).where(STREAM.c.id == 1)).one()
    return Stream(uuid, last, last + 1 if first is None else first)


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
    until: int | None = None,
) -> list[Event]:
    """Return the events with higher numbers, at most ``limit``, in order: each exactly once if asked again from the
    last number. ``until``: with no higher number than this.

    ``project``: only those that were this project's when they happened; None: all. ``types``: only of these types;
    ``nodes``: only of the nodes with these UUIDs.

    SELECT e.… FROM event_projects p JOIN events e ON e.number = p.number
    WHERE p.project_id = :project AND p.number > :number … ORDER BY p.number LIMIT :limit
    """
    rows = reader.execute(_after(number, limit, [EVENTS], project, types, nodes, until))
    return [_event(row) for row in rows]


def count_after(
    reader: Reader,
    number: int,
    limit: int,
    *,
    project: str | None = None,
    types: Collection[str] | None = None,
    nodes: Collection[str] | None = None,
    until: int | None = None,
) -> int:
    """Return how many events ``read_after`` would return.

    SELECT count(*) FROM (SELECT e.number FROM … LIMIT :limit)
    """
    found = _after(number, limit, [EVENTS.c.number], project, types, nodes, until).subquery()
    return reader.scalar(select(func.count()).select_from(found)) or 0


def _after(
    number: int,
    limit: int,
    columns: list[Any],
    project: str | None,
    types: Collection[str] | None,
    nodes: Collection[str] | None,
    until: int | None,
) -> Query:
    column: ColumnElement[Any] = EVENTS.c.number if project is None else PROJECTS.c.number
    query = select(*columns)
    if project is not None:
        query = query.join_from(PROJECTS, EVENTS, EVENTS.c.number == PROJECTS.c.number)
        query = query.where(is_exactly(PROJECTS.c.project_id, literal(project)))
    conditions = [column > number]
    conditions += [] if until is None else [column <= until]
    conditions += [] if types is None else [EVENTS.c.type.in_(types)]
    conditions += [] if nodes is None else [EVENTS.c.node.in_(nodes)]
    return query.where(*conditions).order_by(column).limit(limit)


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
    )
