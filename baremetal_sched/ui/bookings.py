"""/bookings: machines for later: a list, and one booking with its machines."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from flask import Response
from sqlalchemy import select, true
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.bookings import OVER, PLANNED, RUNNING, STATES
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Booking
from baremetal_sched.db.paging import SortKey
from baremetal_sched.errors.scheduling import BookingNotFound
from baremetal_sched.scheduling.api.bookings import visible_to
from baremetal_sched.scheduling.api.policies import CHANGE_BOOKING, DELETE_BOOKING, GET_BOOKING, GET_CLAIM
from baremetal_sched.scheduling.bookings.documents import BookingFilters, documents_of, select_bookings
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
    filters = BookingFilters(
        state=query.one_of("state", STATES),
        is_all=query.flag("all") or False,
        project=query.text("project"),
        resource_class=query.text("resource_class"),
        name=query.text("name"),
    )
    within = true() if visible is None else visible
    rows = select_bookings(session, filters, place.page({"id": Booking.id}, within=within))
    if wanted:
        documents = (each for chunk in exports.chunks(rows) for each in _documents(call, session, chunk))
        return exports.export(call, wanted, "bookings", exports.members(wanted, schemas.BOOKING), documents)
    found = of_rows(place, rows, 0)
    return page(
        call,
        "bookings.html",
        found=found,
        bookings=[_with_times(call, each) for each in _documents(call, session, found.rows)],
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
    booking = session.scalars(select(Booking).where(Booking.uuid == uuid)).first()
    if booking is None or not call.allows(GET_BOOKING, {"project_id": booking.project}):
        raise BookingNotFound(booking=uuid)
    (document,) = _documents(call, session, [booking])
    return page(
        call,
        "booking.html",
        booking=_with_times(call, document),
        names=node_names(call, session, {each["node"] for each in document["machines"]}),
        is_claimed=any(each["consumer"] for each in document["machines"]),
        kinds=KINDS,
        now=utcnow(),
    )


def _documents(call: UiCall, session: Session, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the documents of the API, without links."""
    return documents_of(session, rows, cache(lambda project: call.allows(GET_CLAIM, {"project_id": project})))


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
