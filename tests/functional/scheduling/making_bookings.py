"""What tests of bookings have in common: a clock that stands still, bookings by their domain function, and the machines
that they have."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db.models import Booking, Node
from baremetal_sched.placement import allocations
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import End
from baremetal_sched.scheduling import claims
from baremetal_sched.scheduling.bookings.alternatives import explained
from baremetal_sched.scheduling.bookings.booking import NewBooking, book
from baremetal_sched.scheduling.claims import NewClaim
from tests.database_clock import SettableClock, settable
from tests.service import Service

T = TypeVar("T")

NOW, HOUR, DAY = 1_800_000_000.0, 3600.0, 86_400.0
TURNAROUND = 600.0


@contextmanager
def standing_still(database_url: str, **options: Any) -> Iterator[tuple[Service, SettableClock]]:
    """A service with a conductor, whose clock stands at NOW."""
    options = {"turnaround": TURNAROUND, "most_booked": 1.0, **options}
    with Service(database_url, scheduling=options) as service, settable(service.database) as clock:
        clock.stopped_at = NOW
        service.add_conductor("r1")
        yield service, clock


def new(starts: float | None, ends: float, **values: Any) -> NewBooking:
    """A booking of gold machines from some days after NOW until others (None: it starts now)."""
    several, query = values.pop("several", None), values.pop("query", "resources=CUSTOM_GOLD:1")
    request = TreeRequest(query, served=False, version=QUERY_VERSION, project=values.pop("of", "p"), several=several)
    given: dict[str, Any] = {"uuid": str(uuid.uuid4()), "name": None, "project": "p", "user": "u", "digest": "d"}
    at = None if starts is None else NOW + starts * DAY
    return NewBooking(**{**given, "request": request, "starts_at": at, "ends_at": NOW + ends * DAY, **values})


def work(service: Service, do: Callable[[Session], T]) -> T:
    return service.database.write(do)


def made(service: Service, asked: NewBooking) -> str:
    """Book, and return the UUID."""
    with explained(service.database, service.app.settings):
        return work(service, lambda session: book(session, service.app.settings, asked).uuid)


def machines(service: Service, uuid: str) -> list[str]:
    """The names of the machines of a booking."""

    def read(session: Session) -> list[str]:
        own = (
            select(Node.name).join(BOOKED, BOOKED.c.node_id == Node.id).join(Booking, BOOKED.c.booking_id == Booking.id)
        )
        return sorted(name or "" for name in session.scalars(own.where(Booking.uuid == uuid)))

    return service.database.read(read)


def booked(service: Service, asked: NewBooking) -> list[str]:
    """Book, and return the names of the machines."""
    return machines(service, made(service, asked))


def claim(service: Service, name: str, until: float, booking: str | None = None) -> str:
    """Claim a machine until a moment, also under a booking, and return the consumer."""
    consumer = str(uuid.uuid4())

    def do(session: Session) -> None:
        node = session.scalars(select(Node).where(Node.name == name)).one()
        end = End(at=until, booking=None if booking is None else bookings.find(session, booking).id)
        write = ConsumerWrite(consumer, {node.uuid: {"CUSTOM_GOLD": 1}}, "p", "u", None, end=end)
        if booking is not None:
            write.calendars = {node.uuid: booked_machines.calendars(session, [node.id])[node.id].calendar}
        allocations.write(session, [write], "Unable to allocate:")

    work(service, do)
    return consumer


def wait(service: Service, query: str = "resources=CUSTOM_GOLD:1", end: End | None = None) -> str:
    """Enter a claim into the queue, whatever is free; return its UUID."""
    request = TreeRequest(query, served=False, version=QUERY_VERSION, project="p")
    waiting = NewClaim(str(uuid.uuid4()), request, "p", "u", None, end, "d")
    return work(service, lambda session: claims.wait(session, waiting, DAY, "none", service.app.settings)).uuid
