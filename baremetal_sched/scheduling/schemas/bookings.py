"""Bookings: their members, and the schemas of requests for them."""

from typing import Any

from baremetal_sched.baremetal.bookings.bookings import STATES
from baremetal_sched.compute.schemas.form import NAME, Form, closed
from baremetal_sched.placement.ends import LONGEST
from baremetal_sched.scheduling.schemas.answers import (
    COUNT,
    LINKS,
    NEXT_PAGE,
    TEXT,
    TEXT_OR_NULL,
    TIME,
    TIME_OR_NULL,
    UUID,
    UUID_OR_NULL,
    Member,
    answer,
    array,
    change,
    component,
    fields,
    said,
)
from baremetal_sched.scheduling.schemas.explanations import ALLOCATION, ASKED, QUERY, SERVER
from baremetal_sched.scheduling.schemas.several import SEVERAL

_COUNT = {name: each for name, each in SEVERAL["count"].items() if name != "default"}
_NAME_OR_NULL = {**NAME, "type": ["string", "null"]}
_ID: dict[str, Any] = {**TEXT, "minLength": 1, "maxLength": 255}
_OBJECT_OR_NULL: dict[str, Any] = {"type": ["object", "null"]}

_MACHINE = {
    "node": said("UUID of the node.", UUID),
    "consumer": said(
        "UUID of the consumer that has claimed it under the booking; null: none has, or the caller may not see the "
        "project's claims.",
        UUID_OR_NULL,
    ),
    "claim": said("UUID of its claim, its allocation or its server, or null.", UUID_OR_NULL),
}

BOOKING_MEMBERS = (
    Member("uuid", "UUID of the booking.", UUID, column=(1, "Booking")),
    Member(
        "name", "Its name, or null. Names need not be unique.", TEXT_OR_NULL, change=_NAME_OR_NULL, column=(2, "Name")
    ),
    Member(
        "state",
        "planned: it has not begun. running: its machines can be claimed under it. over: it has ended.",
        {"enum": list(STATES)},
        column=(3, "State"),
    ),
    Member("starts_at", "When it begins; it can be changed until then.", TIME, change=TIME, column=(6, "Starts At")),
    Member("ends_at", "When it ends.", TIME, change=TIME, column=(7, "Ends At")),
    Member(
        "resource_class",
        "The class of its machines, as placement names it.",
        TEXT,
        column=(4, "Class"),
    ),
    Member("count", "How many machines are booked.", COUNT, change=_COUNT, column=(5, "Machines")),
    Member(
        "short_by",
        "How many machines it lacks, because no others can be had; 0 if it is over.",
        COUNT,
        column=(8, "Short By"),
    ),
    Member("spread", "How its machines are spread over domains, or null.", _OBJECT_OR_NULL),
    Member("pack", "All its machines are in one domain of this level; or null.", _OBJECT_OR_NULL),
    Member(
        "machines",
        "Its machines. Before it begins, one that can no longer be had is replaced; a booking that is over has none.",
        array(fields(_MACHINE)),
    ),
    Member(
        "request",
        "The request for its machines, with flavor and image as they were at the time of the request.",
        {"type": "object"},
    ),
    Member("project_id", "The project that may claim its machines.", TEXT, column=(9, "Project")),
    Member("user_id", "The user that booked. null: the caller may not see the project's claims.", TEXT_OR_NULL),
    Member("created_at", "When it was made.", TIME),
    Member("links", "A link to the booking.", LINKS),
)

#: Members of every body that books, for any request.
_COMMON: dict[str, Any] = {
    "uuid": said(
        "UUID of the booking, by default a new one. With it the request can safely be sent again.",
        {**TEXT, "format": "uuid"},
    ),
    "name": said("A name for people.", _NAME_OR_NULL),
    "starts_at": said("When the booking begins. Default, and null: now.", TIME_OR_NULL),
    "ends_at": said("When it ends. Give this or for.", TIME),
    "for": said(
        "Instead of ends_at: after how many seconds it ends.",
        {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST},
    ),
    "project_id": said(
        "The project that may claim the machines. By default that of the caller or, if it has none, [placement] "
        "incomplete_consumer_project_id.",
        _ID,
    ),
    "user_id": said("By default that of the caller or, if it has none, [placement] incomplete_consumer_user_id.", _ID),
    **{name: each for name, each in SEVERAL.items() if name != "group"},
    "count": said("How many machines, all or none.", SEVERAL["count"]),
}

#: Members that bodies of allocations may have, which change nothing.
_NOT_TAKEN = frozenset({*ASKED, "extra"})


def _asking(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a booking of the machines that ``schema`` asks for."""
    properties = {name: each for name, each in schema["properties"].items() if name not in _NOT_TAKEN}
    return closed({**properties, **_COMMON}, *schema["required"])


BOOKING_BY_QUERY = Form(_asking(QUERY.schema))
BOOKING_BY_FLAVOR = Form(_asking(SERVER.schema))
BOOKING_LIKE_ALLOCATION = Form(_asking(ALLOCATION))

#: The members of bodies that do not belong to the request for machines.
BESIDES = tuple(_COMMON)

#: Every body that books something.
ANY_BOOKING: dict[str, Any] = {
    "oneOf": [BOOKING_BY_QUERY.schema, BOOKING_BY_FLAVOR.schema, BOOKING_LIKE_ALLOCATION.schema],
}
CHANGED_BOOKING = change(BOOKING_MEMBERS)

BOOKING = answer(BOOKING_MEMBERS)
BOOKINGS = fields(
    {"bookings": said("The bookings, the oldest first.", array(component("Booking"))), "bookings_links": NEXT_PAGE},
    {"bookings_links"},
)
