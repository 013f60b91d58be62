"""/v1/bookings: machines for later."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, false, literal
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.visibility import is_exactly
from baremetal_sched.db.models import Booking
from baremetal_sched.db.paging import Page
from baremetal_sched.documents.schema import uuid_of
from baremetal_sched.errors.scheduling import BookingNotFound
from baremetal_sched.scheduling.api.policies import ALL_BOOKINGS, GET_BOOKING, GET_CLAIM
from baremetal_sched.scheduling.bookings.documents import BookingFilters, documents_of, select_bookings
from baremetal_sched.scheduling.schemas.answers import FLAG, TEXT, said
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query, page_of
from baremetal_sched.web.responses import json_response

PARAMETERS = {
    **page_of("Bookings"),
    "state": said("Only bookings that are in this state now.", {**TEXT, "enum": list(bookings.STATES)}),
    "all": said("true: also bookings that are over, which are left out unless state is over.", FLAG),
    "name": said("Only bookings of this name.", TEXT),
    "project_id": said("Only bookings of this project.", TEXT),
    "resource_class": said("Only bookings of this resource class, as placement names it.", TEXT),
}


def list_bookings(call: Call, session: Session) -> Response:
    """GET /v1/bookings"""
    query = Query(call, PARAMETERS)
    filters = BookingFilters(
        state=query.one_of("state", bookings.STATES),
        is_all=query.flag("all") or False,
        project=query.text("project_id"),
        resource_class=query.text("resource_class"),
        name=query.text("name"),
    )
    page = Page(query.limit(), query.text("marker"), within=visible_to(call))
    found = select_bookings(session, filters, page)
    links = query.links("bookings", [each.uuid for each in found], page.limit)
    return json_response({"bookings": _documents(call, session, found), **links})


def show_booking(call: Call, session: Session, booking: str) -> Response:
    """GET /v1/bookings/{booking}"""
    return json_response(_documents(call, session, [_seen(call, session, booking)])[0])


def visible_to(call: Call) -> ColumnElement[bool] | None:
    """Return the condition on the bookings that the caller may see; None: all of them."""
    if call.allows(ALL_BOOKINGS):
        return None
    project = call.caller.project_id
    return false() if project is None else is_exactly(Booking.project.expression, literal(project))


def _seen(call: Call, session: Session, text: str) -> Booking:
    """Return the booking with this UUID. Raises BookingNotFound if the caller may not see it."""
    found = bookings.find(session, uuid_of(text, BookingNotFound(booking=text)))
    if not call.allows(GET_BOOKING, {"project_id": found.project}):
        raise BookingNotFound(booking=text)
    return found


def _documents(call: Call, session: Session, found: Sequence[Booking]) -> list[dict[str, Any]]:
    documents = documents_of(session, found, cache(lambda project: call.allows(GET_CLAIM, {"project_id": project})))
    for each in documents:
        each["links"] = [{"rel": "self", "href": f"{call.base_url}/v1/bookings/{each['uuid']}"}]
    return documents
