"""Bookings that are kept: a service whose clock stands still until it is set, and what is told about bookings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Booking, Node
from baremetal_sched.scheduling.bookings import keeping
from baremetal_sched.scheduling.bookings.booking import book
from tests.database_clock import SettableClock, settable
from tests.functional.scheduling.test_bookings import DAY, NOW, TURNAROUND, new
from tests.functional.scheduling.test_events import Reader
from tests.service import Service

GOLD = {"resource_class": "gold"}
HOUR = 3600.0


class Bookings:
    """Makes bookings, lets time pass and conductors sweep, and follows the events."""

    def __init__(self, service: Service, clock: SettableClock) -> None:
        self.service, self.clock, self.reader = service, clock, Reader(service)

    def go_to(self, days: float, *, sweeps: bool = True) -> None:
        """Let so many days have passed since the beginning, and let a conductor sweep a moment later."""
        self.clock.stopped_at = NOW + days * DAY + 0.25
        self.service.conductors["r1"].beat()
        if sweeps:
            self.sweep()

    def book(self, starts: float | None, ends: float, **values: Any) -> Booking:
        """A booking of gold machines from some days from now (None: now) until others."""

        def do(session: Session) -> int:
            return book(session, self.service.app.settings, new(starts, ends, **values)).id

        return self.now(self.service.database.write(do))

    def now(self, booking_id: int) -> Booking:
        """The row of a booking."""
        return self.service.database.read(lambda session: session.get_one(Booking, booking_id))

    def machines(self, booking: Booking) -> list[str | None]:
        """The names of its machines."""
        names = select(Node.name).join(BOOKED, BOOKED.c.node_id == Node.id).where(BOOKED.c.booking_id == booking.id)
        return sorted(self.service.database.read(lambda session: session.scalars(names).all()), key=str)

    def ids(self, booking: Booking) -> list[int]:
        """The ids of its machines."""
        rows = select(BOOKED.c.node_id).where(BOOKED.c.booking_id == booking.id).order_by(BOOKED.c.node_id)
        return [*self.service.database.read(lambda session: session.scalars(rows).all())]

    def uuid(self, name: str) -> str:
        """The UUID of a node."""
        found: str = self.service.baremetal("GET", f"/nodes/{name}").json["uuid"]
        return found

    def claim(self, booking: Booking) -> tuple[str, str | None]:
        """Claim a machine under a booking; returns the claim, and the name of the machine."""
        consumer = {"project_id": "p", "user_id": "u"}
        body = {"resource_class": "gold", "booking": booking.uuid, "consumer": consumer}
        made = self.service.http.post_json("/scheduling/v1/claims", body, status=201).json
        (node,) = made["allocations"]
        return made["uuid"], self.names([node])[0]

    def sweep(self) -> None:
        """What all conductors do now and then."""
        keeping.sweep(self.service.database, self.service.app.settings)

    def told(self) -> list[tuple[str, Any, int, int]]:
        """The events since the last call: what happened, the machines that went and came, and how many it lacks."""
        events = [each for each in self.reader.next() if each["type"].startswith("scheduling.booking.")]
        return [
            (
                each["type"].removeprefix("scheduling.booking."),
                self.names(each["data"]["booking"]["went"]),
                self.names(each["data"]["booking"]["came"]),
                each["data"]["booking"]["short_by"],
            )
            for each in events
        ]

    def names(self, uuids: list[str]) -> list[str]:
        query = select(Node.uuid, Node.name)
        names = {uuid: name for uuid, name in self.service.database.read(lambda session: session.execute(query).all())}
        return sorted(names.get(uuid) or uuid for uuid in uuids)

    def closed(self) -> list[str | None]:
        """The names of the nodes that are closed."""
        query = select(Node.name).where(Node.closes_at.is_not(None)).order_by(Node.name)
        return [*self.service.database.read(lambda session: session.scalars(query).all())]


@contextmanager
def world(database_url: str, **options: Any) -> Iterator[Bookings]:
    """A service with these options of [scheduling]."""
    options = {"turnaround": TURNAROUND, "most_booked": 1.0, **options}
    with Service(database_url, scheduling=options) as service, settable(service.database) as clock:
        clock.stopped_at = NOW
        service.add_conductor("r1")
        yield Bookings(service, clock)


def hold(service: Service, node: str, **times: float) -> None:
    """Hold a node: ``starts_at`` and ``ends_at`` are days."""
    body = {"type": "window", **{name: in_words(NOW + days * DAY) for name, days in times.items()}}
    service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status=201)
