"""Keeping bookings: machines that can no longer be had are replaced, and what is due about a booking is done.

A machine that is lost is replaced if there is another one that satisfies the booking together with those that stay.
Otherwise it stays booked, as it may come back by itself: its consumer may give it back, its hold may be released. It
counts as lacking until then. One that no longer satisfies the request is given up at once. A machine that is
claimed under the booking is never replaced.

Each booking is a transaction of its own, under the lock of its row. ``keeping`` says when that is.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.bookings.times import BOOKED, Own, Window
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db.clock import epoch, statement_epoch
from baremetal_sched.db.models import Booking, Node
from baremetal_sched.db.notes import forget_booked
from baremetal_sched.scheduling.bookings import booking as making
from baremetal_sched.scheduling.bookings import choosing, lost_machines
from baremetal_sched.scheduling.bookings.lost_machines import Machines
from baremetal_sched.scheduling.queue import request_of
from baremetal_sched.settings import Settings

#: Seconds after which a booking is looked at again, whatever happens, and for which one that is over is kept.
_AGAIN, _KEPT = 3600.0, 30 * 86_400.0


def keep(session: Session, settings: Settings, booking_id: int) -> None:
    """Do what there is to do now about a booking (an id): end it, tell that it ends soon, give up machines that nobody
    has claimed in time, replace those that cannot be had, and tell whether it is short. ``due_at`` is when there is
    something to do again.

    Raises BadQuery or CannotWait if its request cannot be searched now, and StaleDataError if it loses a race.
    """
    booking = bookings.lock(session, booking_id)
    now = session.scalar(select(epoch())) or 0.0
    if booking is None or booking.is_over:
        return
    if booking.ends_at <= now:
        _end(session, settings, booking)
        return
    machines = lost_machines.look(session, settings, booking)
    missed, missed_next = _missed(session, settings, booking, machines, now)
    booking.count -= len(missed)
    machines = replace(machines, good=machines.good - missed)
    came, went = _change(session, settings, booking, machines, missed, now)
    lacking = lost_machines.look(session, settings, booking).lacking(booking) if came or went else None
    _tell(session, booking, machines.lacking(booking) if lacking is None else lacking, came, went)
    if not booking.count:
        _end(session, settings, booking)
        return
    soon = _tell_of_end(session, settings, booking, now)
    # At the next sweep a machine may be free, or given back that does not satisfy the request any more.
    again = 0.0 if booking.short_told or lost_machines.will_lose(session, settings, booking, machines) else _AGAIN
    start = booking.starts_at if booking.starts_at > now else booking.ends_at
    booking.due_at = min(now + again, start, booking.ends_at, soon, missed_next)
    session.flush()
    forget_booked(session)


def _end(session: Session, settings: Settings, booking: Booking) -> None:
    """End a booking. Its machines are opened again; what is claimed under it has ends of its own, which have come."""
    bookings.note(session, "over", booking)
    booking.is_over, booking.short_told, booking.due_at = True, 0, booking.ends_at + _KEPT
    booked_machines.drop(session, settings, BOOKED.c.booking_id == booking.id)


# -- machines that nobody has claimed ----------------------------------------------------------------------------------


def _missed(
    session: Session, settings: Settings, booking: Booking, machines: Machines, now: float
) -> tuple[frozenset[int], float]:
    """Return which machines (ids of nodes) nobody has claimed under the booking ``no_show`` seconds after they could
    be, and when the next one will be given up for that.

    A machine can be claimed from the start on, or since it was booked, or became available, if that was later.
    """
    missed, following = set[int](), booking.ends_at
    if not settings.scheduling.no_show or booking.starts_at > now:
        return frozenset(), following
    columns = (BOOKED.c.node_id, BOOKED.c.starts_at, BOOKED.c.made_at, Node.provision_updated_at)
    free = BOOKED.c.booking_id == booking.id, BOOKED.c.used_at.is_(None), BOOKED.c.node_id.in_(machines.good)
    for node, starts_at, made_at, updated in session.execute(select(*columns).join(Node).where(*free)):
        available = 0.0 if updated is None else updated.replace(tzinfo=UTC).timestamp()
        given_up = max(starts_at, made_at, available) + settings.scheduling.no_show
        if given_up <= now:
            missed.add(node)
        else:
            following = min(following, given_up)
    return frozenset(missed), following


# -- machines that cannot be had ---------------------------------------------------------------------------------------


def replacements(session: Session, settings: Settings, booking: Booking, machines: Machines, now: float) -> list[int]:
    """Return machines (ids of nodes) for those that a booking lacks, as many as there are. Nothing is locked."""
    request, context = request_of(booking.request), MachineContext(session, settings)
    own = Node.id.not_in([*machines.stay, *machines.lost, *machines.unfit])
    for number in range(machines.lacking(booking), 0, -1):
        window = Window(max(now, booking.starts_at), booking.ends_at)
        chosen = choosing.choose(
            context, choosing.of_number(request, number), window, Own(booking.id), machines.stay, [own]
        )
        if chosen is not None:
            return chosen
    return []


def _change(
    session: Session, settings: Settings, booking: Booking, machines: Machines, missed: Collection[int], now: float
) -> tuple[list[str], list[str]]:
    """Give up machines, and book others for those that are lost; return the UUIDs of those that come, and that go."""
    chosen = replacements(session, settings, booking, machines, now)
    room = machines.lacking(booking) - len(chosen)
    leave = {*missed, *machines.unfit, *sorted(machines.lost)[room:]}
    if not chosen and not leave:
        return [], []
    booked_machines.lock(session, [*chosen, *leave])
    came: list[str] = []
    if chosen:
        came = making.keep(
            MachineContext(session, settings),
            booking,
            request_of(booking.request),
            Window(max(now, booking.starts_at), booking.ends_at),
            chosen,
            now,
            stays=machines.stay,
        )
    went = _drop(session, settings, booking, leave)
    found = lost_machines.look(session, settings, booking)
    if not found.stay.issuperset(chosen):
        raise StaleDataError("a machine that was chosen can no longer be had")
    # A machine that was lost may be in a domain that has no more room for it.
    return came, went + _drop(session, settings, booking, found.unfit)


def _drop(session: Session, settings: Settings, booking: Booking, nodes: Collection[int]) -> list[str]:
    if not nodes:
        return []
    return booked_machines.drop(session, settings, BOOKED.c.booking_id == booking.id, BOOKED.c.node_id.in_(nodes))


# -- events ------------------------------------------------------------------------------------------------------------


def _tell(session: Session, booking: Booking, lacking: int, came: Collection[str], went: Collection[str]) -> None:
    """Note which machines came and went, and whether the booking now lacks another number of machines, or none."""
    before, booking.short_told = booking.short_told, lacking
    if came or went:
        bookings.note(session, "changed", booking, came=came, went=went)
    if lacking and lacking != before:
        bookings.note(session, "short", booking)
    if before and not lacking:
        bookings.note(session, "filled", booking)


def _tell_of_end(session: Session, settings: Settings, booking: Booking, now: float) -> float:
    """Note, once for each interval of the settings, that a running booking ends soon; return when the next interval
    begins."""
    begin = {booking.ends_at - seconds: seconds for seconds in settings.scheduling.tell_before}
    # What was over before it could end, or ran, is not told.
    of_run = {at: each for at, each in begin.items() if at > max(booking.made_at, booking.starts_at)}
    begun = [seconds for at, seconds in of_run.items() if at <= now]
    if booking.told is not None and booking.ends_at - booking.told > now:
        booking.told = None  # it ends later than it did
    if begun and (booking.told is None or booking.told > min(begun)):
        booking.told = min(begun)
        bookings.note(session, "ends_soon", booking)
    return min((at for at in of_run if at > now), default=booking.ends_at)


# -- what would become of bookings -------------------------------------------------------------------------------------


def prospects(session: Session, settings: Settings, nodes: Collection[int]) -> dict[str, int]:
    """Return how many bookings with machines among the nodes (ids), which are lost to them now, get others
    (``moved``), and how many are left ``short``. Each is looked at by itself, and nothing is changed."""
    session.flush()
    found = {"moved": 0, "short": 0}
    of_nodes = select(BOOKED.c.booking_id).where(BOOKED.c.node_id.in_(nodes), BOOKED.c.ends_at > statement_epoch())
    rows = session.execute(select(Booking, epoch()).where(Booking.id.in_(of_nodes), ~Booking.is_over)).all()
    for booking, now in rows:
        machines = lost_machines.look(session, settings, booking)
        if machines.lost.intersection(nodes):
            has_enough = len(replacements(session, settings, booking, machines, now)) == machines.lacking(booking)
            found["moved" if has_enough else "short"] += 1
    return found
