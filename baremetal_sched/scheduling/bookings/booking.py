"""Making a booking: machines that are free for the whole of it, all or none."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from sqlalchemy import literal, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.bookings.times import NOBODY, Own, turnaround
from baremetal_sched.baremetal.bookings.times import Window as Window
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.spreading import quotas
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.baremetal.provider.availability import IS_AVAILABLE, PROVIDER, STOCK
from baremetal_sched.db.clock import epoch, in_words, utcnow
from baremetal_sched.db.compiled import insert_if_missing
from baremetal_sched.db.models import Booking, Node, table_of
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.errors.scheduling import BookingDiffers, BookingLimit
from baremetal_sched.placement import gate
from baremetal_sched.placement.tables import first_waiting_for
from baremetal_sched.scheduling.bookings import choosing
from baremetal_sched.scheduling.bookings.alternatives import NoChoice
from baremetal_sched.scheduling.bookings.limits import Wanted, require_within
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class NewBooking:
    """The requested booking: ``request`` is for ``several`` machines, if only for one. ``starts_at`` is None for one
    that starts now. ``digest`` identifies the body. ``is_bound``: the limits of the settings apply."""

    uuid: str
    name: str | None
    project: str
    user: str
    request: MachineRequest
    starts_at: float | None
    ends_at: float
    digest: str
    is_bound: bool = True


def book(session: Session, settings: Settings, new: NewBooking) -> Booking:
    """Book as many machines as are requested, and return the booking; the one that the same request has made, if it
    is repeated.

    Raises BookingsNotServed, BookingDiffers, InvalidValue for impossible times, BookingLimit, NoChoice if no choice
    of machines that are free for the whole of it satisfies the request; BadQuery, CannotWait for a request that names
    no class of nodes; and StaleDataError if it loses a race.
    """
    found = existing(session, new)
    if found is not None:
        return found
    bookings.require_served(session.connection())
    resource_class = new.request.machine_class()
    try:
        # Whoever is refused has locked nothing.
        seen = _look(session, settings, new, resource_class)
        booked_machines.count_up(session, resource_class, new.project)
        looked = _look(session, settings, new, resource_class, () if new.starts_at is None else seen.nodes)
    except (BookingLimit, NoChoice):
        found = existing(session, new)  # the same request may have got them since
        if found is None:
            raise
        return found
    booking = _insert(session, new, resource_class, looked.window, looked.now)
    context = MachineContext(session, settings)
    uuids = keep(context, booking, new.request, looked.window, looked.nodes, looked.now)
    bookings.note(session, "created", booking, came=uuids)
    return booking


@dataclass(frozen=True)
class _Looked:
    """What a booking would be now: its window, and its machines (ids of nodes)."""

    now: float
    window: Window
    nodes: Collection[int]


def _look(
    session: Session, settings: Settings, new: NewBooking, resource_class: str, seen: Collection[int] = ()
) -> _Looked:
    """Return what the booking would be; its machines are the ones that were ``seen`` a moment ago if these are still to
    be had. Raises InvalidValue, BookingLimit, NoChoice, WaitedFor."""
    now = session.scalar(select(epoch())) or 0.0
    window, context = _window(settings, new, now), MachineContext(session, settings)
    if new.is_bound:
        count = choosing.number_of(new.request)
        wanted = Wanted(new.project, resource_class, count, window, is_noticed=new.starts_at is not None)
        _require_within(context, new.request, wanted, now)
    if seen and len(choosing.still_fit(context, new.request, window, seen)) == len(seen):
        return _Looked(now, window, seen)
    at_once = new.is_bound and new.starts_at is None
    nodes = choose(context, new.request, window, at_once=at_once)
    if nodes is None:
        raise _nothing_fits(settings, new, window, now)
    return _Looked(now, window, nodes)


def choose(
    context: MachineContext,
    request: MachineRequest,
    window: Window,
    own: Own = NOBODY,
    stays: Collection[int] = (),
    *,
    at_once: bool = False,
) -> list[int] | None:
    """Return machines like ``choosing.choose``; ``at_once``: only those that the gate would give a newcomer now.

    Raises WaitedFor if requests wait for machines that were chosen: these are offered to them first.
    """
    if not at_once:
        return choosing.choose(context, request, window, own, stays)
    session = context.session
    conditions = [IS_AVAILABLE, STOCK.c.free == 1, Node.reservation.is_(None)]
    offered = gate.offered(session)
    if offered:
        is_unwanted = first_waiting_for(literal(request.machine_class())).is_(None)
        conditions.append(or_(is_unwanted, PROVIDER.c.id.in_(offered)))
    nodes = choosing.choose(context, request, window, own, stays, conditions)
    calendars = booked_machines.calendars(session, nodes or ())
    gate.require_unwanted(session.connection(), [each.provider for each in calendars.values()])
    return nodes


def _require_within(context: MachineContext, request: MachineRequest, wanted: Wanted, now: float) -> None:
    """Raise BookingLimit. Raises NoChoice if no machine fits: then its class may be misspelt, and the number of its
    machines is not told to those who may use none."""
    try:
        require_within(context.session, context.settings, wanted, now)
    except BookingLimit:
        if choosing.none_fits(context, request):
            raise NoChoice(request, wanted.window, now, now) from None
        raise


def _nothing_fits(settings: Settings, new: NewBooking, window: Window, now: float) -> SchedulerError:
    """Return the error for a request that no choice satisfies."""
    notice = settings.scheduling.notice if new.is_bound else 0.0
    if new.starts_at is None and notice:
        first = in_words(ceil(now + notice))
        return BookingLimit(
            reason="It cannot begin now, because too few machines that fit are free and not waited for. A booking can "
            f"begin at {first} at the earliest.",
            limit="notice",
            allowed=now + notice,
        )
    return NoChoice(new.request, window, now, now + notice)


def existing(session: Session, new: NewBooking) -> Booking | None:
    """Return the booking that the same request has made; None if there is none. Raises BookingDiffers."""
    found: Booking | None = session.scalars(select(Booking).where(Booking.uuid == new.uuid)).first()
    if found is not None and (found.body_digest, found.project) != (new.digest, new.project):
        raise BookingDiffers(booking=new.uuid)
    return found


def _window(settings: Settings, new: NewBooking, now: float) -> Window:
    """Return from when until when it is. Raises InvalidValue."""
    starts_at = now if new.starts_at is None else new.starts_at
    require_times(settings, starts_at, new.ends_at)
    if starts_at < now:
        raise InvalidValue(message=f"A booking cannot start in the past: {in_words(starts_at)} is over.")
    return Window(starts_at, new.ends_at)


def require_times(settings: Settings, starts_at: float, ends_at: float) -> None:
    """Raise InvalidValue unless a booking from one moment until another is long enough."""
    shortest = settings.scheduling.shortest_claim
    if ends_at <= starts_at:
        raise InvalidValue(message="A booking must end after it starts.")
    if ends_at - starts_at < shortest:
        raise InvalidValue(
            message=f"A booking must last for at least {shortest:g} s ([scheduling] shortest_claim): nobody gets a "
            "machine for less."
        )


def _insert(session: Session, new: NewBooking, resource_class: str, window: Window, now: float) -> Booking:
    """Raises StaleDataError if a booking with this UUID was made at the same time."""
    row = {
        "uuid": new.uuid,
        "name": new.name,
        "project": new.project,
        "user": new.user,
        "resource_class": resource_class,
        "request": new.request.document(),
        "body_digest": new.digest,
        "count": choosing.number_of(new.request),
        "starts_at": window.starts_at,
        "ends_at": window.ends_at,
        "made_at": now,
        "due_at": now,
        "revision": 1,
        "created_at": utcnow(),
    }
    made = insert_if_missing(session.connection(), table_of(Booking), row)
    booking = None if made is None else session.get(Booking, made)
    if booking is None:
        raise StaleDataError("a booking with this UUID was made")
    return booking


def keep(
    context: MachineContext,
    booking: Booking,
    request: MachineRequest,
    window: Window,
    nodes: Collection[int],
    now: float,
    *,
    stays: Collection[int] = (),
) -> list[str]:
    """Lock machines (ids of nodes) that were chosen for a booking besides those that stay, and keep them for it; return
    their UUIDs. Raises StaleDataError if one was lost since.

    What was read before the locks may be outdated: it is read again.
    """
    session, settings = context.session, context.settings
    seen = booked_machines.calendars(session, nodes)
    locked = booked_machines.lock(session, nodes)
    several = choosing.beside(session, request, stays)
    several = replace(several, count=len(nodes))
    fit = choosing.still_fit(context, request, window, nodes, Own(booking.id))
    places = choosing.places_of(session, several, nodes) if several.levels else None
    if len(fit) < len(nodes) or (places is not None and quotas(several, places) is None):
        raise StaleDataError("a machine that was chosen is not free any more")
    takes = turnaround(settings)
    row: dict[str, Any] = {
        "booking_id": booking.id,
        "starts_at": window.starts_at,
        "ends_at": window.ends_at,
        "turnaround": {node.id: takes(node.resource_class) for node in locked},
    }
    booked_machines.put(session, locked, seen, now, row)
    return [node.uuid for node in locked]
