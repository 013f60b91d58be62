"""Changing and cancelling bookings. A change that is impossible changes nothing.

Machines that can stay stay; the others are replaced in the same transaction, and a larger booking gets the difference
beside those that stay. A machine that is claimed under the booking is never taken from it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings import bookings, use
from baremetal_sched.baremetal.bookings.bookings import OVER
from baremetal_sched.baremetal.bookings.times import BOOKED, Own, Window, turnaround_of
from baremetal_sched.baremetal.matching.question import nodes_source
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.baremetal.provider.availability import with_ends
from baremetal_sched.baremetal.provider.blocked_times import free_during, leaves
from baremetal_sched.db.clock import epoch, in_words
from baremetal_sched.db.models import Booking, Node, WaitingRequest
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.scheduling import BookingInUse, BookingIsOver, BookingNotFound, NotBookable
from baremetal_sched.placement.waiting_requests import FAILED, IS_WAITING
from baremetal_sched.scheduling.bookings import booking as making
from baremetal_sched.scheduling.bookings import choosing, lost_machines
from baremetal_sched.scheduling.bookings.alternatives import NoChoice
from baremetal_sched.scheduling.bookings.limits import Wanted, require_within
from baremetal_sched.scheduling.bookings.lost_machines import Machines
from baremetal_sched.scheduling.handover import SessionHandover
from baremetal_sched.scheduling.queue import request_of
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class BookingChange:
    """What a booking, whose row is locked, is to become: its times, and its number of machines. ``now``: the time."""

    session: Session
    settings: Settings
    booking: Booking
    window: Window
    count: int
    now: float
    is_bound: bool

    @property
    def runs(self) -> bool:
        """Whether the booking has begun."""
        return self.booking.starts_at <= self.now

    @property
    def moves(self) -> bool:
        """Whether it begins at another moment."""
        return self.window.starts_at != self.booking.starts_at

    @property
    def needs_time(self) -> bool:
        """Whether its machines are needed at times at which it has not booked them."""
        return self.moves or self.window.ends_at > self.booking.ends_at

    @property
    def left(self) -> Window:
        """The rest of the window."""
        return replace(self.window, starts_at=max(self.window.starts_at, self.now))


def change(
    session: Session,
    settings: Settings,
    booking: Booking,
    *,
    name: str | EllipsisType | None = ...,
    starts_at: float | None = None,
    ends_at: float | None = None,
    count: int | None = None,
    is_bound: bool = True,
) -> Booking:
    """Give a booking another name, other times, or another number of machines; return it as it is then. What is not
    given stays. ``is_bound``: the limits of the settings apply.

    Raises BookingNotFound, BookingIsOver, InvalidValue for impossible times; BookingLimit, NotBookable if machines that
    it needs cannot be had; BookingInUse if it would have fewer machines than are claimed under it; StaleDataError if it
    loses a race.
    """
    booked_machines.count_up(session, booking.resource_class, booking.project)
    locked = _lock(session, booking)
    now = session.scalar(select(epoch())) or 0.0
    if bookings.state_of(locked, now) == OVER:
        raise BookingIsOver(booking=locked.uuid)
    window = Window(
        locked.starts_at if starts_at is None else starts_at, locked.ends_at if ends_at is None else ends_at
    )
    wanted = BookingChange(session, settings, locked, window, count or locked.count, now, is_bound)
    _require_times(wanted)
    _require_within(wanted)
    is_named = name is not ... and name != locked.name
    went, came = _with_machines(wanted)
    if not (went or came or is_named or wanted.count != locked.count or wanted.window != _window_of(locked)):
        return locked
    if not isinstance(name, EllipsisType):
        locked.name = name
    _write(wanted)
    bookings.note(session, "changed", locked, came=came, went=went)
    return locked


def cancel(session: Session, settings: Settings, booking: Booking, *, force: bool = False) -> None:
    """Delete a booking; its machines are open again, and requests that wait under it fail. ``force``: claims under it
    end now, as they would at its end.

    Raises BookingNotFound, and BookingInUse if there are claims under it, without ``force``.
    """
    locked = _lock(session, booking)
    claims = use.claims_under(session, locked)
    if claims and not force:
        raise BookingInUse(booking=locked.uuid, number=len({each.claim for each in claims}))
    named = select(Node.uuid).join(BOOKED, BOOKED.c.node_id == Node.id).where(BOOKED.c.booking_id == locked.id)
    bookings.note(session, "deleted", locked, went=session.scalars(named).all())
    booked_machines.drop(session, settings, BOOKED.c.booking_id == locked.id)
    waiting = select(WaitingRequest).where(WaitingRequest.booking_id == locked.id, IS_WAITING)
    handover = SessionHandover(session, settings)
    for each in session.scalars(waiting.with_for_update()).all():
        handover.end(each, FAILED, f"Booking {locked.uuid} was cancelled.")
    was, now = locked.ends_at, session.scalar(select(epoch())) or 0.0
    if was > now:
        locked.ends_at = now
        session.flush()
        use.follow(session, settings, locked, was)
    session.delete(locked)
    session.flush()


def _lock(session: Session, booking: Booking) -> Booking:
    locked = bookings.lock(session, booking.id)
    if locked is None:
        raise BookingNotFound(booking=booking.uuid)
    return locked


def _window_of(booking: Booking) -> Window:
    return Window(booking.starts_at, booking.ends_at)


def _require_times(wanted: BookingChange) -> None:
    """Raise InvalidValue for times that the booking cannot have."""
    window, now, booking = wanted.window, wanted.now, wanted.booking
    if wanted.moves and wanted.runs:
        raise InvalidValue(
            message=f"The start can be changed only before it: the booking runs since {in_words(booking.starts_at)}."
        )
    if wanted.moves and window.starts_at < now:
        raise InvalidValue(message=f"A booking cannot start in the past: {in_words(window.starts_at)} is over.")
    if window.ends_at < now:
        raise InvalidValue(message=f"A booking cannot end in the past: {in_words(window.ends_at)} is over.")
    if wanted.runs and window.ends_at > window.starts_at:
        return  # it may end at any moment
    making.require_times(wanted.settings, window.starts_at, window.ends_at)


def _require_within(wanted: BookingChange) -> None:
    """Raise BookingLimit if the booking would get more than the limits allow. It may always become less."""
    booking = wanted.booking
    grows = wanted.count > booking.count
    if wanted.is_bound and (grows or wanted.needs_time):
        is_noticed = wanted.moves or (grows and not wanted.runs)
        owner = booking.project, booking.resource_class
        asked = Wanted(*owner, wanted.count, wanted.window, own=booking.id, is_noticed=is_noticed)
        require_within(wanted.session, wanted.settings, asked, wanted.now)


# -- its machines ------------------------------------------------------------------------------------------------------


def _with_machines(wanted: BookingChange) -> tuple[list[str], list[str]]:
    """Give the booking the machines that it is to have, for the times; return the nodes (UUIDs) that went and that
    came."""
    session, settings, booking = wanted.session, wanted.settings, wanted.booking
    own = BOOKED.c.booking_id == booking.id
    rows = session.execute(select(BOOKED.c.node_id, BOOKED.c.id).where(own))
    had = {node: row for node, row in rows}
    stays = _that_can_stay(wanted, had)
    machines = lost_machines.look(session, settings, booking)
    if machines.used & ({*had} - stays):
        raise NotBookable(
            reason="Machines that are claimed under it are booked by others then, or have holds.",
            earliest=None,
            longest=None,
        )
    stays -= _given_up(wanted, stays, machines)
    missing = wanted.count - len(stays) if len(stays) < len(had) or wanted.count > booking.count else 0
    request, context = (
        choosing.of_number(request_of(booking.request), max(missing, 1)),
        MachineContext(session, settings),
    )
    new = _chosen(wanted, context, request, stays) if missing > 0 else []
    locked = booked_machines.lock(session, {*had, *new})
    if _that_can_stay(wanted, [*stays]) != stays:
        raise StaleDataError("a machine of the booking can no longer stay")
    gone = {*had} - stays
    went = booked_machines.drop(session, settings, own, BOOKED.c.node_id.in_(gone)) if gone else []
    if stays and wanted.window != _window_of(booking):
        _move(wanted, {node: had[node] for node in stays}, [node for node in locked if node.id in stays])
    came = making.keep(context, booking, request, wanted.left, new, wanted.now, stays=stays) if new else []
    return went, came


def _that_can_stay(wanted: BookingChange, nodes: Collection[int]) -> set[int]:
    """Return which of its machines (ids of nodes) the booking can have at its new times, too.

    What keeps a machine from it at the times that it has booked is not a matter of the change.
    """
    if not wanted.needs_time or not nodes:
        return {*nodes}
    own, before = Own(wanted.booking.id), wanted.booking.ends_at
    if wanted.moves:
        condition = free_during(wanted.settings, wanted.window, own)
    else:
        condition = leaves(wanted.settings, replace(wanted.window, starts_at=before), own)
    query = select(Node.id).select_from(with_ends(nodes_source())).where(Node.id.in_(nodes), condition)
    return {*wanted.session.scalars(query)}


def _given_up(wanted: BookingChange, stays: Collection[int], machines: Machines) -> set[int]:
    """Return the machines that a smaller booking gives up, of those that nobody has claimed: first those that cannot be
    had. Raises BookingInUse."""
    surplus = len(stays) - wanted.count
    unclaimed = sorted((node for node in stays if node not in machines.used), key=lambda node: node in machines.good)
    if surplus > len(unclaimed):
        raise BookingInUse(booking=wanted.booking.uuid, number=len(machines.used))
    return {*unclaimed[:surplus]} if surplus > 0 else set()


def _chosen(
    wanted: BookingChange, context: MachineContext, request: MachineRequest, stays: Collection[int]
) -> list[int]:
    """Return machines besides those that stay. A booking that runs gets those that the gate would give a newcomer,
    if it is bound. Raises NoChoice."""
    own = Own(wanted.booking.id)
    at_once = wanted.is_bound and wanted.runs
    nodes = making.choose(context, request, wanted.left, own, stays, at_once=at_once)
    if nodes is None:
        raise NoChoice(request, wanted.left, wanted.now, wanted.now, own, stays)
    return nodes


def _move(wanted: BookingChange, rows: Mapping[int, int], nodes: Collection[Node]) -> None:
    """Give the rows (ids, by node) of machines, whose nodes are locked, the new times; and their turnaround as it is
    now, if they need more time."""
    session, settings, window = wanted.session, wanted.settings, wanted.window
    times: dict[str, Any] = {"ends_at": window.ends_at}
    if wanted.moves:
        times["starts_at"] = window.starts_at
    if wanted.needs_time:
        times["turnaround"] = select(turnaround_of(settings)).where(Node.id == BOOKED.c.node_id).scalar_subquery()
    booked_machines.move(session, rows.values(), booked_machines.calendars(session, rows), times)
    booked_machines.reopen(session, settings, nodes)


def _write(wanted: BookingChange) -> None:
    """Write the booking, and have the ends of what is claimed under it follow."""
    booking, ended = wanted.booking, wanted.booking.ends_at
    booking.starts_at, booking.ends_at = wanted.window.starts_at, wanted.window.ends_at
    if wanted.count != booking.count:
        booking.count = wanted.count
        booking.request = choosing.of_number(request_of(booking.request), wanted.count).document()
    booking.due_at = min(booking.due_at, wanted.now)  # a conductor finds out what is next
    wanted.session.flush()
    if booking.ends_at != ended:
        use.follow(wanted.session, wanted.settings, booking, ended)
