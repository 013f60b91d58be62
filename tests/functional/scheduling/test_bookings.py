"""Bookings: which machines they get, and how others are kept off them."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.db.models import Node
from baremetal_sched.errors.scheduling import NotBookable
from baremetal_sched.scheduling.bookings.booking import NewBooking, book
from tests.database_clock import settable
from tests.service import Service

T = TypeVar("T")

NOW, HOUR, DAY = 1_800_000_000.0, 3600.0, 86_400.0
TURNAROUND = 600.0


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    service = Service(database_url, scheduling={"turnaround": TURNAROUND, "most_booked": 1.0})
    with settable(service.database) as clock:
        clock.stopped_at = NOW
        service.add_conductor("r1")
        yield service


def new(starts: float | None, ends: float, **values: Any) -> NewBooking:
    """Return a booking of gold machines from some days from now until others."""
    several = values.pop("several", None)
    query = values.pop("query", "resources=CUSTOM_GOLD:1")
    request = TreeRequest(query, served=False, version=QUERY_VERSION, project=values.pop("of", "p"), several=several)
    given: dict[str, Any] = {"uuid": str(uuid.uuid4()), "name": None, "project": "p", "user": "u", "digest": "d"}
    at = None if starts is None else NOW + starts * DAY
    return NewBooking(**{**given, "request": request, "starts_at": at, "ends_at": NOW + ends * DAY, **values})


def work(service: Service, do: Callable[[Session], T]) -> T:
    return service.database.write(do)


def booked(service: Service, asked: NewBooking) -> list[str]:
    """Book, and return the names of the machines."""

    def do(session: Session) -> list[str]:
        booking = book(session, service.app.settings, asked)
        names = select(Node.name).join(BOOKED, BOOKED.c.node_id == Node.id).where(BOOKED.c.booking_id == booking.id)
        return sorted(name or "" for name in session.scalars(names))

    return work(service, do)


def test_all_machines_or_none(service: Service) -> None:
    for name in ("n1", "n2"):
        service.add_node(name, resource_class="gold")
    with pytest.raises(NotBookable):
        booked(service, new(2, 3, several=Several(3)))
    assert booked(service, new(2, 3, several=Several(2))) == ["n1", "n2"]
