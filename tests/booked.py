"""Machines that are kept for bookings, by rows: what keeps them is in ``booked_machines``, whoever has booked."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED, turnaround
from baremetal_sched.baremetal.holds import holds
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Booking, Node
from tests.service import Service

BOOKING = "b00c0000-0000-4000-8000-000000000001"


def keep(
    service: Service,
    nodes: Collection[str],
    starts_at: float,
    ends_at: float | None,
    *,
    booking: int | None = None,
    waiting: int | None = None,
) -> None:
    """Keep nodes (UUIDs or names) from one moment until another, for a booking, for the plan of a request, or for
    nobody that is known."""

    def put(session: Session) -> None:
        now = holds.now(session)
        named = session.scalars(select(Node.id).where(Node.uuid.in_(nodes) | Node.name.in_(nodes))).all()
        locked = booked_machines.lock(session, named)
        seconds = turnaround(service.app.settings)
        times = {"starts_at": starts_at, "ends_at": ends_at, "booking_id": booking, "waiting_id": waiting}
        needed = {node.id: seconds(node.resource_class) for node in locked}
        seen = booked_machines.calendars(session, named)
        booked_machines.put(session, locked, seen, now, {**times, "turnaround": needed})

    service.database.write(put)


def drop(service: Service) -> None:
    """Give up all that is kept."""
    service.database.write(
        lambda session: booked_machines.drop(session, service.app.settings, BOOKED.c.id.is_not(None)) and None
    )


def add_booking(service: Service, starts_at: float, ends_at: float, uuid: str = BOOKING, **values: Any) -> int:
    """Have a booking without machines; return its id."""
    row = {
        "uuid": uuid,
        "project": "p",
        "user": "u",
        "resource_class": "CUSTOM_GOLD",
        "request": {},
        "body_digest": "",
        "count": 1,
        "made_at": starts_at,
        "created_at": utcnow(),
        "due_at": ends_at,
        "revision": 1,
        **values,
    }

    def enter(session: Session) -> int:
        now = {"starts_at": starts_at, "ends_at": ends_at}
        session.add(made := Booking(**row, **now))
        session.flush()
        return made.id

    return service.database.write(enter)
