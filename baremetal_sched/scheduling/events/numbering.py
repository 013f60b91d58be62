"""Giving numbers to events that were committed, and deleting old ones.

Ids are not the order of commits: a reader that has seen 7 may miss 6, which commits later. So events are written
without a number. One conductor at a time moves what is committed to ``events``, in the order of ids, and numbers it.
Its transaction locks the row of the stream, so numbers appear in their order and without gaps.
"""

import uuid
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Double,
    String,
    bindparam,
    delete,
    func,
    insert,
    null,
    or_,
    select,
    union,
    update,
)

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import epoch, is_over
from baremetal_sched.db.compiled import IDS
from baremetal_sched.db.models import EventNote
from baremetal_sched.db.models.base import table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.transaction import Database
from baremetal_sched.db.types import AnyRow, Query
from baremetal_sched.scheduling.events import reading
from baremetal_sched.scheduling.events.reading import EVENTS, PROJECTS, STREAM

NOTES = table_of(EventNote)

#: The number of events that are numbered, or deleted, in one transaction.
MOST = 1000
#: Seconds for which a conductor has the stream after it has taken it.
LEASE = 10.0
#: Seconds between two looks while events come, and at rest; and how many looks without an event are rest.
BUSY, IDLE, _RESTS_AFTER = 0.25, 1.0, 8

_COLUMNS = [column.name for column in NOTES.columns if column.name != "id"]
_IS_ONE = STREAM.c.id == 1

# Created once: creating a statement takes longer than running it.
#: SELECT holder, held_until - <now> AS remaining, (SELECT id FROM event_notes LIMIT 1) AS first FROM event_stream …
LOOK: Query = select(
    STREAM.c.holder,
    (STREAM.c.held_until - epoch()).label("remaining"),
    select(NOTES.c.id).limit(1).scalar_subquery().label("first"),
).where(_IS_ONE)
_HOLDER = bindparam("me", type_=String())
_IS_MINE = STREAM.c.holder == _HOLDER
_TAKE = (
    update(STREAM)
    .where(_IS_ONE, or_(_IS_MINE, is_over(STREAM.c.held_until, LEASE)))
    .values(holder=_HOLDER, held_until=epoch() + LEASE)
)
_FREE = update(STREAM).where(_IS_ONE, _IS_MINE).values(holder=null(), held_until=0)
#: Ids that are not committed yet are left for later.
_COMMITTED = select(NOTES.c.id).order_by(NOTES.c.id).limit(MOST)
_LAST_NUMBER = select(STREAM.c.last).where(_IS_ONE).scalar_subquery()
_LAST = bindparam("last_number", type_=BigInteger())
_NUMBER = (_LAST + func.row_number().over(order_by=NOTES.c.id)).label("number")
_MOVE = insert(EVENTS).from_select(
    ["number", *_COLUMNS], select(_NUMBER, *(NOTES.c[name] for name in _COLUMNS)).where(NOTES.c.id.in_([IDS]))
)


def _of_projects(numbered: Any, *conditions: Any) -> Any:
    """INSERT INTO event_projects SELECT owner, number FROM <numbered> WHERE owner <> '' UNION …"""
    columns = (numbered.owner, numbered.lessee, numbered.project_id)
    pairs = (select(column, numbered.number).where(column != "", *conditions) for column in columns)
    return insert(PROJECTS).from_select(["project_id", "number"], union(*pairs))


_OF_PROJECTS = _of_projects(EVENTS.c, EVENTS.c.number > _LAST)
_FORGET = delete(NOTES).where(NOTES.c.id.in_([IDS]))
_COUNT = update(STREAM).where(_IS_ONE).values(last=STREAM.c.last + bindparam("growth", type_=BigInteger()))


def _all_at_once() -> Any:
    """The same as one statement, for PostgreSQL:

    WITH moved AS (DELETE FROM event_notes WHERE id IN (SELECT id … LIMIT 1000) RETURNING …),
    numbered AS (INSERT INTO events SELECT last + row_number() OVER (ORDER BY moved.id), … RETURNING number, …),
    whose AS (INSERT INTO event_projects SELECT owner, number FROM numbered … UNION …)
    UPDATE event_stream SET last = last + (SELECT count(*) FROM numbered) WHERE id = 1 RETURNING <the count>
    """
    moved = delete(NOTES).where(NOTES.c.id.in_(_COMMITTED)).returning(*NOTES.c).cte("moved")
    number = _LAST_NUMBER + func.row_number().over(order_by=moved.c.id)
    rows = select(number, *(moved.c[name] for name in _COLUMNS))
    of_events = (EVENTS.c.number, EVENTS.c.owner, EVENTS.c.lessee, EVENTS.c.project_id)
    numbered = insert(EVENTS).from_select(["number", *_COLUMNS], rows).returning(*of_events).cte("numbered")
    count = select(func.count()).select_from(numbered).scalar_subquery()
    whose = _of_projects(numbered.c).cte("whose")
    return update(STREAM).where(_IS_ONE).values(last=STREAM.c.last + count).returning(count).add_cte(whose)


_NUMBER_ALL = _all_at_once()


class Numbering:
    """Numbers events for one process, which is the only one while it has the lease of the stream."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = str(uuid.uuid4())
        self._looks = 0

    @property
    def pause(self) -> float:
        """Return the seconds until the next ``step``."""
        return BUSY if self._looks < _RESTS_AFTER else IDLE

    def step(self) -> int:
        """Number committed events, at most MOST, unless another process has the stream; return how many."""
        return self.number(self._database.select(lambda connection: compiled.run(connection, LOOK, {}).one()))

    def number(self, stream: AnyRow) -> int:
        """The same, after a look: ``stream`` has the columns of LOOK. At rest nothing is written."""
        self._looks += 1
        if stream.first is None or self.is_others(stream):
            return 0
        numbered = self._database.change(self._number)
        self._looks = 0 if numbered else self._looks
        return numbered

    def is_others(self, stream: AnyRow) -> bool:
        """Return whether another process gives numbers now, after a look."""
        is_held: bool = 0 < stream.remaining <= LEASE  # further ahead, it is of a time before the clock was set back
        return is_held and bool(stream.holder != self._holder)

    def stop(self) -> None:
        """Let another process begin at once."""
        self._database.change(lambda connection: compiled.change(connection, _FREE, {"me": self._holder}))

    def _number(self, connection: Connection) -> int:
        """UPDATE event_stream SET holder = :me, held_until = … WHERE holder = :me OR (held_until is over)
        SELECT id FROM event_notes ORDER BY id LIMIT 1000
        INSERT INTO events SELECT :last + row_number() OVER (ORDER BY id), … FROM event_notes WHERE id IN (…)
        INSERT INTO event_projects SELECT owner, number FROM events WHERE number > :last … UNION …
        DELETE FROM event_notes WHERE id IN (…)
        UPDATE event_stream SET last = last + :number
        """
        if not rows_changed(compiled.change(connection, _TAKE, {"me": self._holder})):
            return 0
        if connection.dialect.name == "postgresql":
            return int(compiled.change(connection, _NUMBER_ALL, {}).scalar())
        ids = [row.id for row in compiled.run(connection, _COMMITTED, {})]
        if ids:
            last = {"last_number": reading.last_number(connection)}
            compiled.change(connection, _MOVE, last, ids)
            compiled.change(connection, _OF_PROJECTS, last)
            compiled.change(connection, _FORGET, {}, ids)
            compiled.change(connection, _COUNT, {"growth": len(ids)})
        return len(ids)


#: SELECT number FROM events WHERE number = (SELECT min(number) FROM events) AND at < <now> - :keep
_OLDEST_IS_OLD: Query = select(EVENTS.c.number).where(
    EVENTS.c.number == select(func.min(EVENTS.c.number)).scalar_subquery(),
    EVENTS.c.at < epoch() - bindparam("keep", type_=Double()),
)


def has_old(connection: Connection, keep: float) -> bool:
    """Return whether the oldest event is older than ``keep`` seconds."""
    return compiled.run(connection, _OLDEST_IS_OLD, {"keep": keep}).first() is not None


def delete_old(connection: Connection, keep: float) -> int:
    """Delete the oldest events, at most MOST, that are older than ``keep`` seconds; return how many.

    SELECT number, at < <now> - :keep FROM events ORDER BY number LIMIT 1000
    """
    is_old = (EVENTS.c.at < epoch() - keep).label("is_old")
    rows = connection.execute(select(EVENTS.c.number, is_old).order_by(EVENTS.c.number).limit(MOST)).all()
    kept = next((place for place, row in enumerate(rows) if not row.is_old), len(rows))
    if kept:
        for column in (PROJECTS.c.number, EVENTS.c.number):
            connection.execute(delete(column.table).where(column <= rows[kept - 1].number))
    return kept


def begin_stream(connection: Connection) -> str:
    """Give the stream a new UUID, so that readers begin again: their cursors are of another stream. Return it."""
    new = str(uuid.uuid4())
    connection.execute(update(STREAM).where(_IS_ONE).values(uuid=new))
    return new


def oldest_wait(connection: Connection) -> float:
    """Return for how many seconds the oldest event has waited for its number; 0 if none waits."""
    waiting = select(epoch() - NOTES.c.at).order_by(NOTES.c.id).limit(1)
    return max(0.0, connection.execute(waiting).scalar() or 0.0)
