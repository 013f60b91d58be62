"""When machines are booked, or kept by the plan of a request that waits: conditions in SQL on the rows of nodes.

A machine that is booked is closed to requests that name no end (``nodes.closes_at``). Others look further: their time,
and the turnaround after it, must meet no booking but their own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Double, and_, case, exists, func, literal, or_, select, true
from sqlalchemy.orm import Session

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import epoch, statement_epoch
from baremetal_sched.db.models import BookedMachine, Hold, Node, table_of
from baremetal_sched.db.types import Query
from baremetal_sched.settings import Settings

BOOKED = table_of(BookedMachine)


@dataclass(frozen=True)
class Window:
    """From one moment until another, in seconds since 1970."""

    starts_at: float
    ends_at: float


#: Seconds that a machine of a class (a node's) needs after a claim until it is available.
Turnaround = Callable[[str | None], float]

#: SQL condition on a row: the machine is still kept by it.
COUNTS = or_(BOOKED.c.ends_at.is_(None), BOOKED.c.ends_at > epoch())


@dataclass(frozen=True)
class Own:
    """The owner of rows, for a search: a booking (its id), or a waiting request (its id) that has a plan."""

    booking: int | None = None
    plan: int | None = None

    def has(self, row: Any) -> bool:
        """Return whether a row is its own, like ``is_row``."""
        own: tuple[Any, Any] = (row.waiting_id, self.plan) if self.booking is None else (row.booking_id, self.booking)
        return own[1] is not None and own[0] == own[1]

    def is_row(self) -> ColumnElement[bool]:
        """SQL condition on a row: it is its own."""
        if self.booking is not None:
            return BOOKED.c.booking_id == self.booking
        return BOOKED.c.waiting_id == self.plan

    def is_others(self) -> ColumnElement[bool]:
        """SQL condition on a row: it is of another booking, or another plan."""
        column, own = (BOOKED.c.waiting_id, self.plan) if self.booking is None else (BOOKED.c.booking_id, self.booking)
        return true() if own is None else or_(column.is_(None), column != own)


#: No owner: all rows are those of others.
NOBODY = Own()


def turnaround(settings: Settings) -> Turnaround:
    """Return the turnaround of each class, by the settings."""
    of_class, others = settings.scheduling.turnaround_of, settings.scheduling.turnaround
    return lambda resource_class: of_class.get(resource_class, others)


def turnaround_of(settings: Settings) -> ColumnElement[float]:
    """SQL: the turnaround of the class of a node."""
    of_class = settings.scheduling.turnaround_of
    others: ColumnElement[float] = literal(float(settings.scheduling.turnaround), Double())
    whens: list[tuple[Any, Any]] = [
        (Node.resource_class == name, literal(float(each), Double())) for name, each in of_class.items()
    ]
    return case(*whens, else_=others) if whens else others


def meets_booking(
    settings: Settings, starts_at: ColumnElement[float], ends_at: ColumnElement[float] | None, own: Own = NOBODY
) -> ColumnElement[bool]:
    """SQL condition on a node: its use from one moment until another (None: without end), and the turnaround after it,
    meets a booking or a plan of others, or the turnaround after that.

    EXISTS (SELECT 1 FROM booked_machines b WHERE b.node_id = n.id AND b.starts_at < :ends_at + t
    AND (b.ends_at IS NULL OR b.ends_at + b.turnaround > :starts_at) AND <it is of others>)
    """
    begins = () if ends_at is None else (BOOKED.c.starts_at < ends_at + turnaround_of(settings),)
    goes_on = or_(BOOKED.c.ends_at.is_(None), BOOKED.c.ends_at + BOOKED.c.turnaround > starts_at)
    return exists().where(BOOKED.c.node_id == Node.id, *begins, goes_on, own.is_others())


def is_booked_now(own: Own) -> ColumnElement[bool]:
    """SQL condition on a node: its own booking of it is running, or its own plan has it."""
    runs = () if own.booking is None else (BOOKED.c.starts_at <= statement_epoch(), COUNTS)
    return exists().where(BOOKED.c.node_id == Node.id, own.is_row(), *runs)


def closed_by_hold(settings: Settings, moment: ColumnElement[float], *, before: bool = False) -> ColumnElement[bool]:
    """SQL condition on a node: by a moment, or ``before`` it, a hold that has not begun closes it. (One that has begun
    shows in its maintenance.) The rule is that of ``rules.closing_time``.

    EXISTS (SELECT 1 FROM holds h WHERE h.node_id = n.id AND h.begun_at IS NULL
    AND coalesce(h.starts_at, h.asserted_at) - :ahead <= :moment)
    """
    return exists().where(Hold.node_id == Node.id, closes(settings, moment, before=before))


def closes(settings: Settings, moment: ColumnElement[float], *, before: bool = False) -> ColumnElement[bool]:
    """SQL condition on a hold: it has not begun, and closes its node by a moment, or ``before`` it."""
    ahead: ColumnElement[float] = literal(float(settings.scheduling.withhold_before_windows), Double())
    closes_at = func.coalesce(Hold.starts_at, Hold.asserted_at) - ahead
    return and_(Hold.begun_at.is_(None), closes_at < moment if before else closes_at <= moment)


def is_clear(settings: Settings, ends_at: ColumnElement[float] | None, own: Own = NOBODY) -> ColumnElement[bool]:
    """SQL condition on a node: neither a hold nor a booking of others keeps it from being used from now on until a
    moment (None: without end). That a hold is planned before that moment does not matter."""
    now = statement_epoch()
    return and_(~closed_by_hold(settings, now), ~meets_booking(settings, now, ends_at, own))


#: By its index: SELECT max(starts_at) FROM booked_machines
_LAST_START: Query = select(func.max(BOOKED.c.starts_at).label("last"))


def last_start(session: Session) -> float | None:
    """Return the moment at which the last of all bookings and plans begins; None if there are none."""
    last: float | None = compiled.run(session.connection(), _LAST_START, {}).scalar()
    return last


def held_from(session: Session, settings: Settings, node_id: int) -> float | None:
    """Return when the first hold that has not begun closes a node (an id); None if there is none."""
    ahead: float = settings.scheduling.withhold_before_windows
    first = select(func.min(func.coalesce(Hold.starts_at, Hold.asserted_at)))
    start: float | None = session.scalar(first.where(Hold.node_id == node_id, Hold.begun_at.is_(None)))
    return None if start is None else start - ahead


def booked_from(session: Session, settings: Settings, *conditions: ColumnElement[bool]) -> float | None:
    """Return when a use that begins now must be over, as a booking or a plan comes after it: the first of those that
    meet the conditions, on their rows and nodes; None if there is none. It may be over already.

    SELECT min(b.starts_at - <t>) FROM booked_machines b JOIN nodes n ON n.id = b.node_id
    WHERE (b.ends_at IS NULL OR b.ends_at + b.turnaround > now) AND …
    """
    goes_on = or_(BOOKED.c.ends_at.is_(None), BOOKED.c.ends_at + BOOKED.c.turnaround > epoch())
    begins = func.min(BOOKED.c.starts_at - turnaround_of(settings))
    first = select(begins).join_from(BOOKED, Node, Node.id == BOOKED.c.node_id)
    until: float | None = session.connection().scalar(first.where(goes_on, *conditions))
    return until


def booked_since(session: Session, node_id: int) -> float | None:
    """Return since when a node (an id) is closed for its bookings and plans; None if it has none."""
    query = select(func.min(BOOKED.c.made_at)).where(BOOKED.c.node_id == node_id, COUNTS)
    since: float | None = session.connection().scalar(query)
    return since
