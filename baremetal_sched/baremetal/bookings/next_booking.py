"""The booking, or else the plan of a request that waits, that keeps a machine now or next."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED, COUNTS
from baremetal_sched.db.clock import epoch, in_words
from baremetal_sched.db.models import Booking, Node


@dataclass(frozen=True)
class NextBooking:
    """When a machine is kept, in seconds since 1970, and for which booking; None: for the plan of a request.
    ``ends_at`` is None for a plan without an end. ``label``: the booking's name, or its UUID."""

    starts_at: float
    ends_at: float | None
    has_begun: bool
    label: str | None
    project: str | None

    def words(self) -> str:
        """Return from when until when it is."""
        begins = "" if self.has_begun else f"from {in_words(self.starts_at)} "
        return f"{begins}until {'it is given back' if self.ends_at is None else in_words(self.ends_at)}"

    def document(self) -> dict[str, Any] | None:
        """Return it as clients see it; None: it is no booking."""
        if self.project is None or self.ends_at is None:
            return None
        return {"starts_at": in_words(self.starts_at), "ends_at": in_words(self.ends_at)}


def next_of(session: Session, node: Node) -> NextBooking | None:
    """Return the booking that runs on a node or begins next, the plan if it has no booking; None if it has neither.

    SELECT … FROM booked_machines b LEFT JOIN bookings k ON k.id = b.booking_id WHERE b.node_id = :node AND <it counts>
    ORDER BY b.booking_id IS NULL, b.starts_at LIMIT 1
    """
    if node.closes_at is None:
        return None
    columns = (BOOKED.c.starts_at, BOOKED.c.ends_at, Booking.uuid, Booking.name, Booking.project, epoch().label("now"))
    query = select(*columns).outerjoin_from(BOOKED, Booking, Booking.id == BOOKED.c.booking_id)
    order = (BOOKED.c.booking_id.is_(None), BOOKED.c.starts_at)
    row = session.execute(query.where(BOOKED.c.node_id == node.id, COUNTS).order_by(*order).limit(1)).first()
    if row is None:
        return None
    return NextBooking(row.starts_at, row.ends_at, row.starts_at <= row.now, row.name or row.uuid, row.project)
