"""Bookings: their rows, their states by the clock, and their events."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, func, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import epoch, in_words
from baremetal_sched.db.models import Booking
from baremetal_sched.db.notes import notes_of
from baremetal_sched.errors.scheduling import BookingNotFound, BookingsNotServed
from baremetal_sched.placement.events import OF_BOOKINGS

#: The schema's revision of the first release that knows bookings and plans.
FIRST_REVISION = "0039"

# States, by the clock.
PLANNED = "planned"
RUNNING = "running"
OVER = "over"

STATES = (PLANNED, RUNNING, OVER)


def require_served(connection: Connection) -> None:
    """Raise BookingsNotServed while a release that knows no bookings may serve the database."""
    if not schema_state.has_finished(connection, FIRST_REVISION):
        raise BookingsNotServed


def find(session: Session, uuid: str) -> Booking:
    """Return the booking with this UUID. Raises BookingNotFound."""
    booking: Booking | None = session.scalars(select(Booking).where(Booking.uuid == uuid)).first()
    if booking is None:
        raise BookingNotFound(booking=uuid)
    return booking


def lock(session: Session, booking_id: int) -> Booking | None:
    """Return a booking (an id), its row locked, as it is now; None if it is gone. Claims under a booking, its changes
    and the replacing of its machines follow each other. To be called before any node is locked.

    By a write, since on a cluster locks are not seen elsewhere.
    """
    grown = update(Booking).where(Booking.id == booking_id).values(revision=Booking.revision + 1)
    session.execute(grown.execution_options(synchronize_session=False))
    query = select(Booking).where(Booking.id == booking_id).execution_options(populate_existing=True)
    booking: Booking | None = session.scalars(query).first()
    return booking


def state_of(booking: Booking, now: float) -> str:
    """Return the state of a booking at a moment."""
    if booking.is_over or booking.ends_at <= now:
        return OVER
    return PLANNED if now < booking.starts_at else RUNNING


def in_state(state: str) -> ColumnElement[bool]:
    """SQL condition on a booking: ``state_of`` is this one now."""
    now = epoch()
    if state == OVER:
        return Booking.is_over | (Booking.ends_at <= now)
    begun = Booking.starts_at <= now
    return ~Booking.is_over & (Booking.ends_at > now) & (begun if state == RUNNING else ~begun)


def short_by(booking: Booking, machines: int) -> int:
    """Return how many machines a booking lacks that has so many: one that it has, and that cannot be had as long as
    nothing changes, counts as lacking once the event has said so."""
    return max(booking.count - machines, booking.short_told, 0)


def note(
    session: Session, what: str, booking: Booking, *, came: Collection[str] = (), went: Collection[str] = ()
) -> None:
    """Note an event of a booking, one of ``OF_BOOKINGS``: nodes (UUIDs) that came, and that went."""
    machines = session.connection().scalar(select(func.count()).where(BOOKED.c.booking_id == booking.id)) or 0
    data = {
        "uuid": booking.uuid,
        "name": booking.name,
        "project_id": booking.project,
        "user_id": booking.user,
        "resource_class": booking.resource_class,
        "count": booking.count,
        "short_by": short_by(booking, machines),
        "starts_at": in_words(booking.starts_at),
        "ends_at": in_words(booking.ends_at),
        "came": sorted(came),
        "went": sorted(went),
    }
    notes_of(session).add(OF_BOOKINGS[what], booking.uuid, {"booking": data}, project=booking.project)
