"""Bookings as rows, for tests of what others see of them: nothing chooses their machines, and no limit applies."""

import uuid as uuid_module
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Booking, Node
from tests.service import Service

HOUR, DAY = 3600.0, 86_400.0
QUERY = "resources=CUSTOM_GOLD:1"


def enter(
    service: Service, *names: str, starts: float, ends: float, turnaround: float = 0.0, **columns: Any
) -> tuple[str, int]:
    """Enter a booking of nodes (names) from some seconds from now until others; return its UUID and its id."""

    def do(session: Session) -> tuple[str, int]:
        now = session.scalar(select(epoch())) or 0.0
        times = {"starts_at": now + starts, "ends_at": now + ends}
        values = {"name": None, "project": "a", "user": "anna", "resource_class": "CUSTOM_GOLD", **columns}
        request = TreeRequest(QUERY, served=False, version=QUERY_VERSION, project=None, several=Several(len(names)))
        several = {"request": request.document(), "count": len(names), "body_digest": ""}
        own = {"uuid": str(uuid_module.uuid4()), "created_at": utcnow(), "made_at": now, "due_at": now + starts}
        booking = Booking(**{**own, **several, **times, **values})
        session.add(booking)
        session.flush()
        ids = session.scalars(select(Node.id).where(Node.name.in_(names))).all()
        nodes = booked_machines.lock(session, ids)
        row = {**times, "booking_id": booking.id, "turnaround": dict.fromkeys(ids, turnaround)}
        booked_machines.put(session, nodes, booked_machines.calendars(session, ids), now, row)
        return booking.uuid, booking.id

    return service.database.write(do)
