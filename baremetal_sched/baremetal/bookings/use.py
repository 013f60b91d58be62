"""Using bookings: the claims under a booking, whose ends follow that of the booking."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.bookings.bookings import OVER, PLANNED
from baremetal_sched.db.clock import epoch, in_words
from baremetal_sched.db.models import Booking, Node, WaitingRequest
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.scheduling import BookingIsOver, BookingNotFound, BookingNotRunning, HasEnded
from baremetal_sched.placement import ends, waiting_ends
from baremetal_sched.placement.ends import SET, AskedEnd, End
from baremetal_sched.placement.tables import ALLOCATIONS, CLAIM_ENDS, CONSUMERS, GROUP_MEMBERS, PROVIDERS
from baremetal_sched.placement.waiting_requests import IS_WAITING
from baremetal_sched.settings import Settings


def _usable(session: Session, uuid: str, project: str, *, waits: bool, locks: bool) -> Booking:
    """Return the booking with this UUID for a claim of a project."""
    found = bookings.find(session, uuid)
    booking = bookings.lock(session, found.id) if locks else found
    if booking is None or booking.project != project:
        raise BookingNotFound(booking=uuid)
    state = bookings.state_of(booking, session.scalar(select(epoch())) or 0.0)
    if state == OVER:
        raise BookingIsOver(booking=uuid)
    if state == PLANNED and not waits:
        raise BookingNotRunning(booking=uuid, when=f"It begins at {in_words(booking.starts_at)}: wait, or ask then.")
    return booking


def end_under(
    session: Session, settings: Settings, asked: AskedEnd, project: str, *, waits: bool = False, locks: bool = True
) -> End:
    """Return the end of a request of a project that names a booking: that of the booking, or an earlier one of its own.
    ``waits``: it may wait for the start. With ``locks`` the row of the booking is locked until the transaction ends,
    before any node is.

    Raises BookingNotFound, also if it is that of another project; BookingIsOver; BookingNotRunning before the start;
    InvalidValue if its own end is later than the booking's, or too early; EndsNotServed.
    """
    booking = _usable(session, asked.booking or "", project, waits=waits, locks=locks)
    from_booking = not asked.is_named
    end = End.of(settings, booking.ends_at if from_booking else asked.at, asked.seconds, booking.id)
    begins = max(ends.require_served(session, end), booking.starts_at)
    last = in_words(booking.ends_at)
    if end is None or (begins + (end.seconds or 0) if end.at is None else end.at) > booking.ends_at:
        raise InvalidValue(message=f"The end is too late: booking {booking.uuid} ends at {last}. Name an earlier end.")
    if end.at is not None and end.at <= begins:
        raise InvalidValue(message=f"The end is too early: it must be later than {in_words(begins)}.")
    return replace(end, within=booking.ends_at)


def uuids(session: Session, ids: Iterable[int | None]) -> dict[int | None, str]:
    """Return the UUIDs of those of these bookings (ids) that exist, by id. Without any, nothing is read."""
    named = {each for each in ids if each is not None}
    rows = session.execute(select(Booking.id, Booking.uuid).where(Booking.id.in_(named))) if named else ()
    return {booking_id: uuid for booking_id, uuid in rows}


class ClaimUnder(NamedTuple):
    """A machine that is claimed under a booking: its node, its consumer, and the claim, whose UUID is the consumer's
    unless it is for several. ``state``: that of its end."""

    booking_id: int
    node_id: int
    node: str
    consumer_id: int
    consumer: str
    claim: str
    ends_at: float
    state: str


def claims_under(session: Session, *under: Booking) -> list[ClaimUnder]:
    """Return the machines that are claimed under bookings now, in the order of the nodes.

    SELECT DISTINCT … FROM claim_ends e JOIN consumers c ON c.id = e.consumer_id JOIN allocations a ON … JOIN
    resource_providers p … JOIN resource_providers r ON r.id = p.root_id JOIN nodes n ON n.uuid = r.uuid LEFT JOIN
    group_members m ON m.consumer_id = c.id WHERE e.booking_id IN (…)
    """
    root, of_ends = PROVIDERS.alias("root"), CLAIM_ENDS.c
    claim = func.coalesce(GROUP_MEMBERS.c.claim, CONSUMERS.c.uuid)
    columns = (of_ends.booking_id, Node.id, Node.uuid, CONSUMERS.c.id, CONSUMERS.c.uuid, claim)
    query: Select[Any] = (
        select(*columns, of_ends.ends_at, of_ends.state)
        .select_from(CLAIM_ENDS)
        .join(CONSUMERS, CONSUMERS.c.id == of_ends.consumer_id)
        .join(ALLOCATIONS, ALLOCATIONS.c.consumer_id == CONSUMERS.c.id)
        .join(PROVIDERS, PROVIDERS.c.id == ALLOCATIONS.c.provider_id)
        .join(root, root.c.id == PROVIDERS.c.root_id)
        .join(Node, Node.uuid == root.c.uuid)
        .outerjoin(GROUP_MEMBERS, GROUP_MEMBERS.c.consumer_id == CONSUMERS.c.id)
        .where(of_ends.booking_id.in_([each.id for each in under]))
        .distinct()
        .order_by(Node.id)
    )
    return [ClaimUnder(*row) for row in session.connection().execute(query)]


def follow(session: Session, settings: Settings, booking: Booking, old_ends_at: float) -> None:
    """Have the ends of what is claimed under a booking follow that of the booking, which was ``old_ends_at``, and of
    what waits: those at that moment, and those later than the new one, become the new one. Earlier ones of their own
    stay. Raises StaleDataError if one of them is changed at once.

    The rows of the booking, and of its nodes, are locked: nothing is claimed under it now.
    """
    end = End.of(settings, booking.ends_at, None, booking.id) or End()
    for each in session.scalars(select(WaitingRequest).where(WaitingRequest.booking_id == booking.id, IS_WAITING)):
        _follow_waiting(session, each, end, booking.ends_at, old_ends_at)
    of_ends = CLAIM_ENDS.c
    follows = _follows(of_ends.ends_at, booking, old_ends_at)
    query = (
        select(CONSUMERS.c.id, CONSUMERS.c.uuid)
        .join(CLAIM_ENDS, of_ends.consumer_id == CONSUMERS.c.id)
        .where(of_ends.booking_id == booking.id, of_ends.state == SET, of_ends.ends_at > epoch(), follows)
        .with_for_update()  # as it is now
    )
    consumers = {row_id: uuid for row_id, uuid in session.connection().execute(query)}
    if not consumers:
        return
    try:
        ends.change(session, consumers, end)
    except HasEnded as error:
        raise StaleDataError("a claim under the booking has ended") from error


def _follows(ends_at: ColumnElement[float], booking: Booking, old_ends_at: float) -> ColumnElement[bool]:
    return or_(ends_at == old_ends_at, ends_at > booking.ends_at)


def _follow_waiting(session: Session, waiting: WaitingRequest, end: End, booked_until: float, old: float) -> None:
    """Give a request that waits the new end if it had the old one, or a later one. Its deadline comes first."""
    if waiting.ends_at is None:
        end = replace(end, at=None, seconds=waiting.lasts, within=booked_until)
    elif old != waiting.ends_at <= booked_until:
        return
    waiting_ends.change(session, waiting, end)
