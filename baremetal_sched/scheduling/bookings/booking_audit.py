"""The audit of bookings: no machine has two uses at one moment, and a booking has the machines that it says."""

from collections.abc import Iterator

from sqlalchemy import and_, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED, turnaround_of
from baremetal_sched.baremetal.provider.availability import IS_CLAIMED, with_ends, with_provider
from baremetal_sched.db.clock import in_words, statement_epoch
from baremetal_sched.db.models import Booking, Node, table_of
from baremetal_sched.placement.ends import SET
from baremetal_sched.placement.tables import CLAIM_ENDS
from baremetal_sched.settings import Settings

_LATER = BOOKED.alias("later")


def errors(session: Session, settings: Settings) -> Iterator[str]:
    """Yield the errors of bookings, one line each."""
    yield from _overlaps(session)
    yield from _claims_that_stay(session, settings)
    yield from _numbers(session)
    yield from _times(session)


def _overlaps(session: Session) -> Iterator[str]:
    """SELECT … FROM booked_machines b JOIN booked_machines l ON l.node_id = b.node_id AND l.id <> b.id AND
    (l.starts_at, l.id) > (b.starts_at, b.id) AND (b.ends_at IS NULL OR b.ends_at + b.turnaround > l.starts_at)"""
    earlier = or_(
        BOOKED.c.starts_at < _LATER.c.starts_at,
        and_(BOOKED.c.starts_at == _LATER.c.starts_at, BOOKED.c.id < _LATER.c.id),
    )
    goes_on = or_(BOOKED.c.ends_at.is_(None), BOOKED.c.ends_at + BOOKED.c.turnaround > _LATER.c.starts_at)
    both = and_(_LATER.c.node_id == BOOKED.c.node_id, earlier, goes_on)
    query = select(Node.uuid, BOOKED.c.starts_at, _LATER.c.starts_at).join_from(BOOKED, _LATER, both)
    for node, first, second in session.execute(query.join(Node, Node.id == BOOKED.c.node_id)):
        yield f"node {node}: it is booked from {in_words(first)} on, and again from {in_words(second)} on"


def _claims_that_stay(session: Session, settings: Settings) -> Iterator[str]:
    """Look for claims of booked machines that are not under the booking and last until its start: without end, or with
    an end less than the turnaround before it. It is no error if they are late, or if the booking is told to be short.

    SELECT … FROM booked_machines b JOIN nodes n ON … <with providers, inventories and ends> WHERE <it is claimed> AND
    (e.ends_at IS NULL OR e.ends_at + t > b.starts_at) AND …
    """
    end, now = CLAIM_ENDS.c, statement_epoch()
    is_own = func.coalesce(end.booking_id, 0) == BOOKED.c.booking_id
    stays = or_(end.ends_at.is_(None), end.ends_at + turnaround_of(settings) > BOOKED.c.starts_at)
    source = with_ends(with_provider(BOOKED.join(table_of(Node), Node.id == BOOKED.c.node_id)))
    lacks = select(Booking.id).where(Booking.short_told > 0)
    query = (
        select(Node.uuid, BOOKED.c.starts_at)
        .select_from(source.join(table_of(Booking), Booking.id == BOOKED.c.booking_id))
        .where(IS_CLAIMED, ~is_own, stays, BOOKED.c.ends_at > now, BOOKED.c.booking_id.not_in(lacks))
        .where(or_(end.state.is_(None), end.state == SET))
    )
    for node, starts_at in session.execute(query):
        yield f"node {node}: it is booked from {in_words(starts_at)} on, and its claim does not end in time"


def _numbers(session: Session) -> Iterator[str]:
    """Compare how many machines bookings have with what they say, and with what was told."""
    has = select(func.count()).where(BOOKED.c.booking_id == Booking.id).scalar_subquery()
    query = select(Booking.uuid, Booking.count, Booking.short_told, has).where(
        ~Booking.is_over,
        or_(has < Booking.count - Booking.short_told, has > Booking.count),
    )
    for uuid, count, short, found in session.execute(query):
        yield f"booking {uuid}: it has {found} of {count} machines, and lacks {short} by its last event"


def _times(session: Session) -> Iterator[str]:
    """Compare the times of machines with those of their bookings. A machine may have come after the start."""
    inside = and_(BOOKED.c.starts_at >= Booking.starts_at, BOOKED.c.ends_at == Booking.ends_at, ~Booking.is_over)
    query = select(Booking.uuid, Node.uuid).join_from(BOOKED, Booking, Booking.id == BOOKED.c.booking_id)
    for uuid, node in session.execute(query.join(Node, Node.id == BOOKED.c.node_id).where(~inside)):
        yield f"booking {uuid}: its node {node} is kept for other times"
