"""/v1/bookings: machines for later."""

import uuid as uuid_module
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, false, literal, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.visibility import is_exactly
from baremetal_sched.db import requester
from baremetal_sched.db.clock import LATEST, epoch, seconds_of
from baremetal_sched.db.models import Booking
from baremetal_sched.db.paging import Page
from baremetal_sched.documents.schema import canonical_uuid, uuid_of
from baremetal_sched.errors import CommitUnknown, InvalidValue
from baremetal_sched.errors.scheduling import BookingNotFound
from baremetal_sched.scheduling.api.policies import (
    ALL_BOOKINGS,
    BOOK,
    BOOK_ALL,
    CHANGE_BOOKING,
    DELETE_BOOKING,
    GET_BOOKING,
    GET_CLAIM,
)
from baremetal_sched.scheduling.api.request_bodies import (
    RequestForms,
    SchedulingCall,
    body_of,
    digest_of,
    owner_of,
    read_request,
    require_levels,
)
from baremetal_sched.scheduling.bookings.alternatives import explained
from baremetal_sched.scheduling.bookings.booking import NewBooking, book
from baremetal_sched.scheduling.bookings.changing import cancel, change
from baremetal_sched.scheduling.bookings.documents import BookingFilters, documents_of, select_bookings
from baremetal_sched.scheduling.schemas.answers import FLAG, TEXT, said
from baremetal_sched.scheduling.schemas.bookings import (
    BESIDES,
    BOOKING_BY_FLAVOR,
    BOOKING_BY_QUERY,
    BOOKING_LIKE_ALLOCATION,
    CHANGED_BOOKING,
)
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query, page_of
from baremetal_sched.web.responses import empty_response, json_response

PARAMETERS = {
    **page_of("Bookings"),
    "state": said("Only bookings that are in this state now.", {**TEXT, "enum": list(bookings.STATES)}),
    "all": said("true: also bookings that are over, which are left out unless state is over.", FLAG),
    "name": said("Only bookings of this name.", TEXT),
    "project_id": said("Only bookings of this project.", TEXT),
    "resource_class": said("Only bookings of this resource class, as placement names it.", TEXT),
}

_FORMS = RequestForms(BOOKING_BY_QUERY, BOOKING_BY_FLAVOR, BOOKING_LIKE_ALLOCATION, BESIDES, whole=True)


def create_booking(call: SchedulingCall, session: None) -> Response:
    """POST /v1/bookings"""
    new_booking = _read(call)

    def work(session: Session) -> dict[str, Any]:
        requester.attach(session, call.requested_by)
        return _linked(call, session, [book(session, call.settings, new_booking(session))])[0]

    with explained(call.database, call.settings, call.deadline):
        try:
            made = call.database.write(work, deadline=call.deadline)
        except CommitUnknown:
            # If it was made, it is found by its UUID.
            made = call.database.write(work, deadline=call.deadline)
    return json_response(made, 200 if made["state"] == bookings.OVER else 201, {"Location": made["links"][0]["href"]})


def _read(call: Call) -> Callable[[Session], NewBooking]:
    """Return what gives the booking of the call's body in a session: it raises InvalidValue if a level has no domain,
    and for flavors, images and nodes that cannot be used. Raises BadRequest, InvalidValue, BadQuery, NotAllowed."""
    document = body_of(call)
    is_bound = not call.allows(BOOK_ALL)
    # Nothing belongs to the project of a caller that has none.
    of_nodes = (call.caller.project_id or "") if is_bound else None
    resolve = read_request(document, _FORMS, of_nodes, unrestricted=call.caller.unrestricted)
    starts_at, ends_at = (seconds_of(each, document.get(each)) for each in ("starts_at", "ends_at"))
    seconds = document.get("for")
    if (ends_at is None) == (seconds is None):
        raise InvalidValue(message="Give either ends_at or for: when the booking ends, or after how many seconds.")
    project, user = owner_of(call, document)
    call.require(BOOK, {"project_id": project})
    uuid = canonical_uuid(document.get("uuid", "")) or str(uuid_module.uuid4())
    digest = digest_of({**document, "uuid": None, "project_id": project, "user_id": user})

    def new_booking(session: Session) -> NewBooking:
        request = resolve(session)
        require_levels(call, session, request.several, request.project)
        request = replace(request, several=request.several or Several(1))
        until = _end_after(session, starts_at, float(seconds or 0)) if ends_at is None else ends_at
        return NewBooking(uuid, document.get("name"), project, user, request, starts_at, until, digest, is_bound)

    return new_booking


def _end_after(session: Session, starts_at: float | None, seconds: float) -> float:
    """Return the end so many seconds after a start; None: it starts now. Raises InvalidValue."""
    begins = (session.scalar(select(epoch())) or 0.0) if starts_at is None else starts_at
    if begins + seconds >= LATEST:
        raise InvalidValue(message="A booking must end before the year 9999: for is too long.")
    return begins + seconds


CANCELLING = {"force": said("true: also while there are claims under it, which end then.", FLAG)}


def list_bookings(call: Call, session: Session) -> Response:
    """GET /v1/bookings"""
    query = Query(call, PARAMETERS)
    filters = filters_of(query, "project_id")
    page = Page(query.limit(), query.text("marker"), within=visible_to(call))
    found = select_bookings(session, filters, page)
    links = query.links("bookings", [each.uuid for each in found], page.limit)
    return json_response({"bookings": _linked(call, session, found), **links})


def show_booking(call: Call, session: Session, booking: str) -> Response:
    """GET /v1/bookings/{booking}"""
    return json_response(_linked(call, session, [seen(call, session, booking)])[0])


def change_booking(call: SchedulingCall, session: None, booking: str) -> Response:
    """PATCH /v1/bookings/{booking}"""
    changes = CHANGED_BOOKING.read(call.json)
    if "count" in changes:  # JSON may write 2.0 for 2
        changes["count"] = int(changes["count"])

    def work(session: Session) -> dict[str, Any]:
        requester.attach(session, call.requested_by)
        found = seen(call, session, booking)
        call.require(CHANGE_BOOKING, {"project_id": found.project})
        changed = change(session, call.settings, found, **changes, is_bound=not call.allows(BOOK_ALL))
        return _linked(call, session, [changed])[0]

    with explained(call.database, call.settings, call.deadline):
        return json_response(call.database.write(work, deadline=call.deadline))


def delete_booking(call: SchedulingCall, session: Session, booking: str) -> Response:
    """DELETE /v1/bookings/{booking}"""
    force = Query(call, CANCELLING).flag("force") or False
    found = seen(call, session, booking)
    call.require(DELETE_BOOKING, {"project_id": found.project})
    cancel(session, call.settings, found, force=force)
    return empty_response()


def visible_to(call: Call) -> ColumnElement[bool] | None:
    """Return the condition on the bookings that the caller may see; None: all of them."""
    if call.allows(ALL_BOOKINGS):
        return None
    project = call.caller.project_id
    return false() if project is None else is_exactly(Booking.project.expression, literal(project))


def filters_of(query: Query, project: str) -> BookingFilters:
    """Return the filters of a query, whose parameter for the project has this name. Raises InvalidValue."""
    return BookingFilters(
        state=query.one_of("state", bookings.STATES),
        is_all=query.flag("all") or False,
        project=query.text(project),
        resource_class=query.text("resource_class"),
        name=query.text("name"),
    )


def seen(call: Call, session: Session, text: str) -> Booking:
    """Return the booking with this UUID. Raises BookingNotFound if the caller may not see it."""
    found = bookings.find(session, uuid_of(text, BookingNotFound(booking=text)))
    if not call.allows(GET_BOOKING, {"project_id": found.project}):
        raise BookingNotFound(booking=text)
    return found


def documents(call: Call, session: Session, found: Sequence[Booking]) -> list[dict[str, Any]]:
    """Return bookings as JSON, without links, as the caller may see them."""
    return documents_of(session, found, cache(lambda project: call.allows(GET_CLAIM, {"project_id": project})))


def _linked(call: Call, session: Session, found: Sequence[Booking]) -> list[dict[str, Any]]:
    linked = documents(call, session, found)
    for each in linked:
        each["links"] = [{"rel": "self", "href": f"{call.base_url}/v1/bookings/{each['uuid']}"}]
    return linked
