"""Bookings as clients see them, with their states by the clock, and the consumers of their machines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, literal, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.bookings import OVER, in_state, short_by, state_of
from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.bookings.use import claims_under
from baremetal_sched.baremetal.matching.spreading import SEVERAL
from baremetal_sched.baremetal.visibility import is_exactly
from baremetal_sched.db import paging
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Booking, Node
from baremetal_sched.db.paging import Page
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.scheduling.schemas.answers import document
from baremetal_sched.scheduling.schemas.bookings import BOOKING_MEMBERS


@dataclass(frozen=True)
class BookingFilters:
    """Which bookings a list has. ``state``: only those in it now; None: all that are not over, or with ``is_all`` also
    those. The others: only those with this value; None: any."""

    state: str | None = None
    is_all: bool = False
    project: str | None = None
    resource_class: str | None = None
    name: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on a booking."""
        columns = ((Booking.project, self.project), (Booking.resource_class, self.resource_class))
        named = ((column, value) for column, value in (*columns, (Booking.name, self.name)) if value is not None)
        conditions: list[ColumnElement[bool]] = [
            is_exactly(column.expression, literal(value)) for column, value in named
        ]
        if self.state is not None:
            return [*conditions, in_state(self.state)]
        return conditions if self.is_all else [*conditions, ~in_state(OVER)]


def select_bookings(session: Session, filters: BookingFilters, page: Page) -> list[Booking]:
    """Return the bookings on a page, the oldest first, within its condition. Raises InvalidValue for an unknown
    marker."""
    within = () if page.within is None else (page.within,)
    query = select(Booking).where(*filters.conditions(), *within)
    return [booking for (booking,) in paging.select_page(session, query, Booking, page, _no_marker)]


def _no_marker(uuid: str) -> SchedulerError:
    return InvalidValue(message=f"There is no booking {uuid}, which marker names.")


def documents_of(
    session: Session, bookings: Sequence[Booking], shows_claims: Callable[[str], bool] = lambda project: True
) -> list[dict[str, Any]]:
    """Return bookings as JSON, without their links. ``shows_claims`` says whether the claims of a project may be
    seen, and with them the user that booked, and the consumers of the machines."""
    if not bookings:
        return []
    now = session.scalar(select(epoch())) or 0.0
    machines: dict[int, list[dict[str, Any]]] = {booking.id: [] for booking in bookings}
    claimed = {(each.booking_id, each.node_id): each for each in claims_under(session, *bookings)}
    query = select(BOOKED.c.booking_id, Node.id, Node.uuid).join_from(BOOKED, Node, Node.id == BOOKED.c.node_id)
    for booking_id, node_id, node in session.execute(query.where(BOOKED.c.booking_id.in_(machines)).order_by(Node.id)):
        use = claimed.get((booking_id, node_id))
        consumer, claim = (None, None) if use is None else (use.consumer, use.claim)
        machines[booking_id].append({"node": node, "consumer": consumer, "claim": claim})
    return [
        _document(booking, state_of(booking, now), machines[booking.id], shows_claims=shows_claims(booking.project))
        for booking in bookings
    ]


def _document(booking: Booking, state: str, machines: list[dict[str, Any]], *, shows_claims: bool) -> dict[str, Any]:
    several, kept = booking.request.get(SEVERAL, {}), [] if state == OVER else machines
    return document(
        BOOKING_MEMBERS,
        booking,
        state=state,
        short_by=0 if state == OVER else short_by(booking, len(kept)),
        spread=several.get("spread"),
        pack=several.get("pack"),
        machines=kept if shows_claims else [{**each, "consumer": None, "claim": None} for each in kept],
        project_id=booking.project,
        user_id=booking.user if shows_claims else None,
        links=[],
    )
