"""/bookings: machines for later: a list, and one booking with its machines."""

from datetime import datetime
from typing import Any

from flask import Response
from sqlalchemy import true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.bookings import OVER, PLANNED, RUNNING, STATES
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Booking
from baremetal_sched.db.paging import SortKey
from baremetal_sched.scheduling.api.bookings import documents, filters_of, seen, visible_to
from baremetal_sched.scheduling.api.policies import CHANGE_BOOKING, DELETE_BOOKING
from baremetal_sched.scheduling.bookings.documents import select_bookings
from baremetal_sched.scheduling.schemas import bookings as schemas
from baremetal_sched.ui import exports
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.claims import node_names
from baremetal_sched.ui.forms import submitted, without
from baremetal_sched.ui.paging import MARKERS, MOST, ORDER, PAGING, active_filters, of_rows, place_of
from baremetal_sched.ui.rendering import page

FILTERS = ("state", "all", "project", "resource_class", "name")
_NEWEST = SortKey("id", descending=True)

#: How good each state is.
KINDS = {PLANNED: "plain", RUNNING: "good", OVER: "plain"}


def show_bookings(call: UiCall, session: Session) -> Response:
    """GET /bookings: those that are not over, the newest first, unless the filters say otherwise. Raises
    InvalidValue."""
    wanted = exports.format_of(call)
    query = submitted(call, (*FILTERS, *(ORDER if wanted else PAGING)))
    visible = visible_to(call)
    place = place_of(query, (), _NEWEST, most=exports.MOST if wanted else MOST)
    filters = filters_of(query, "project")
    within = true() if visible is None else visible
    rows = select_bookings(session, filters, place.page({"id": Booking.id}, within=within))
    if wanted:
        chunks = exports.chunks(rows)
        shown = (each for chunk in chunks for each in documents(call, session, chunk))
        return exports.export(call, wanted, "bookings", exports.members(wanted, schemas.BOOKING), shown)
    found = of_rows(place, rows, 0)
    return page(
        call,
        "bookings.html",
        found=found,
        bookings=[_with_times(call, each) for each in documents(call, session, found.rows)],
        given=dict(call.query),
        kept=without(call.query, *MARKERS),
        active=active_filters(call),
        states=[("", "planned or running"), *((each, each) for each in STATES)],
        everything=visible is None,
        kinds=KINDS,
        now=utcnow(),
    )


def show_booking(call: UiCall, session: Session, uuid: str) -> Response:
    """GET /bookings/{uuid}. Raises BookingNotFound, also for a booking that the caller may not see."""
    call.refuse_query()
    (document,) = documents(call, session, [seen(call, session, uuid)])
    return page(
        call,
        "booking.html",
        booking=_with_times(call, document),
        names=node_names(call, session, {each["node"] for each in document["machines"]}),
        is_claimed=any(each["consumer"] for each in document["machines"]),
        kinds=KINDS,
        now=utcnow(),
    )


def _with_times(call: UiCall, document: dict[str, Any]) -> dict[str, Any]:
    """Return the booking with times in UTC, and with what the caller may do."""
    times = {name: datetime.fromisoformat(document[name]).replace(tzinfo=None) for name in ("starts_at", "ends_at")}
    target, is_over = {"project_id": document["project_id"]}, document["state"] == OVER
    return {
        **document,
        **times,
        "label": document["name"] or document["uuid"],
        "may_change": not is_over and call.allows(CHANGE_BOOKING, target),
        "may_cancel": call.allows(DELETE_BOOKING, target),
    }
