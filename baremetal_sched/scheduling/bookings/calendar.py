"""What keeps machines from being had in the days to come: bookings, holds, and what has them now."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED as ROWS
from baremetal_sched.baremetal.bookings.times import turnaround
from baremetal_sched.baremetal.matching.earliest import holds_of
from baremetal_sched.baremetal.provider import availability
from baremetal_sched.baremetal.provider.availability import with_ends, with_provider
from baremetal_sched.baremetal.provider.blocked_times import FACTS, FOREVER, Facts, free_times
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Booking, Node, table_of
from baremetal_sched.settings import Settings

#: What keeps a machine: the first counts most.
KINDS = BOOKED, HELD, IN_USE, OUT_OF_USE = (availability.BOOKED, "held", "in use", "out of use")


@dataclass(frozen=True)
class CalendarUse:
    """What keeps a machine from a moment until another, which is infinite if it is not known. Of a booking also its
    UUID, name and project; a plan of a request that waits has none of them."""

    kind: str
    starts_at: float
    ends_at: float
    booking: str | None = None
    name: str | None = None
    project: str | None = None

    def meets(self, start: float, end: float) -> bool:
        """Return whether it is at some moment from ``start`` on, before ``end``."""
        return self.starts_at < end and self.ends_at > start


@dataclass(frozen=True)
class CalendarMachine:
    """A machine (UUID and name of its node), and what keeps it, in the order of KINDS and of time. ``place``: its
    domain of the requested level."""

    uuid: str
    name: str | None
    place: str | None
    uses: Sequence[CalendarUse]


def read_calendar(
    session: Session,
    settings: Settings,
    window: tuple[float, float],
    conditions: Sequence[ColumnElement[bool]],
    place: ColumnElement[Any],
    most: int,
) -> list[CalendarMachine]:
    """Return machines whose nodes meet the conditions, at most so many, by name, with what keeps them in the window.

    Four statements: now; the machines, with what ``FACTS`` says of them; their holds; and their rows of bookings.
    """
    now = session.scalar(select(epoch())) or 0.0
    source = with_ends(with_provider(table_of(Node)))
    query = select(*FACTS, Node.uuid, Node.name, place.label("place")).select_from(source).where(*conditions)
    rows = session.execute(query.order_by(Node.name, Node.id).limit(most)).all()
    uses: dict[int, list[CalendarUse]] = {row.id: [] for row in rows}
    takes = turnaround(settings)
    for row in rows:
        facts = Facts(*row[: len(FACTS)])
        free = free_times(facts, (), now, takes)
        until = free[0][0] if free else FOREVER
        if until > now:
            uses[row.id].append(CalendarUse(IN_USE if facts.is_used or facts.returns else OUT_OF_USE, now, until))
    for node_id, holds in holds_of(session, settings, [*uses], window[0]).items():
        if node_id in uses:
            uses[node_id] += [CalendarUse(HELD, *each) for each in holds]
    for node_id, use in _bookings(session, [*uses], window):
        uses[node_id].append(use)
    return [CalendarMachine(row.uuid, row.name, row.place, _sorted(uses[row.id], window)) for row in rows]


def _sorted(uses: Sequence[CalendarUse], window: tuple[float, float]) -> list[CalendarUse]:
    return sorted(
        (each for each in uses if each.meets(*window)), key=lambda each: (KINDS.index(each.kind), each.starts_at)
    )


def _bookings(session: Session, nodes: Sequence[int], window: tuple[float, float]) -> Iterator[tuple[int, CalendarUse]]:
    """SELECT … FROM booked_machines b LEFT JOIN bookings k ON k.id = b.booking_id WHERE b.node_id IN (…) AND <it meets
    the window>"""
    columns = (ROWS.c.node_id, ROWS.c.starts_at, ROWS.c.ends_at, Booking.uuid, Booking.name, Booking.project)
    meets = ROWS.c.starts_at < window[1], or_(ROWS.c.ends_at.is_(None), ROWS.c.ends_at > window[0])
    query = select(*columns).outerjoin_from(ROWS, Booking, Booking.id == ROWS.c.booking_id)
    for row in session.execute(query.where(ROWS.c.node_id.in_(nodes), *meets)):
        node_id, starts_at, ends_at, *named = row
        yield node_id, CalendarUse(BOOKED, starts_at, FOREVER if ends_at is None else ends_at, *named)
