"""/v1/events: what has happened, in order."""

import time
from collections.abc import Callable
from functools import partial

from flask import Response
from sqlalchemy import ColumnElement, Connection

from baremetal_sched.baremetal.api.policies.domains import seen_among
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.visibility import EVERYTHING, Conditions, Visibility
from baremetal_sched.db.clock import seconds_of
from baremetal_sched.errors import InvalidValue, NotAllowed
from baremetal_sched.scheduling.api.event_masks import mask_of
from baremetal_sched.scheduling.api.policies import ALL_EVENTS
from baremetal_sched.scheduling.api.request_bodies import SchedulingCall
from baremetal_sched.scheduling.events import types
from baremetal_sched.scheduling.events.cloud_events import cloud_event, source_of
from baremetal_sched.scheduling.events.cursors import Cursor
from baremetal_sched.scheduling.events.event_pages import NOW, EventPage, EventRequest
from baremetal_sched.scheduling.schemas.answers import COUNT, TEXT, array, said
from baremetal_sched.scheduling.schemas.events import SELECTOR
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query, page_of
from baremetal_sched.web.responses import json_response

PARAMETERS = {
    "after": said(
        "The cursor of an answer: only events after it. now: only those from now on. Without it: all that are left.",
        TEXT,
    ),
    "before": said("A cursor: only events up to it, the newest first. now: from the newest on.", TEXT),
    "since": said("A time with its zone: only events from the first that is not older.", TEXT),
    "limit": page_of("Events")["limit"],
    "wait": said("Seconds to wait for an event if there is none.", COUNT),
    "type": said(
        "Only events of these types, or of those that prefix.* selects. Separated by commas.", array(SELECTOR)
    ),
    "domain": said(
        "Only events of the nodes that are in this domain, or in one below it, today: its UUID, or LEVEL:NAME, as in "
        "rack:r3. LEVEL: without a name is for nodes that are in no domain of the level.",
        TEXT,
    ),
    "node": said("Only events of the node with this UUID.", TEXT),
    "subject": said("Only events about the node, the claim or the allocation with this UUID.", TEXT),
    "user_id": said("Only changes that this user has made, as far as the caller may see who made them.", TEXT),
}

#: Parameters that exclude each other.
_EITHER = (("after", "before"), ("before", "wait"), ("after", "since"))

#: Seconds before the deadline of a request at which it ends waiting.
_RESERVE = 5.0

#: Seconds after which a request that could not wait may be repeated.
_LATER = {"Retry-After": "1"}


def list_events(call: SchedulingCall, session: None) -> Response:
    """GET /v1/events"""
    query = Query(call, PARAMETERS)
    wanted, after, before = _request(call, query), query.text("after"), query.text("before")
    until = time.monotonic() + (query.integer("wait") or 0)
    if call.deadline is not None:
        until = min(until, call.deadline - _RESERVE)

    def read(after: str | Cursor | None) -> EventPage:
        def find(connection: Connection) -> EventPage:
            if before is not None:
                return wanted.before(connection, call.settings, before)
            return wanted.after(connection, call.settings, after)

        return call.database.select(find, deadline=call.deadline)

    headers: dict[str, str] = {}
    page = read(after)
    while not page.events and page.is_all and page.cursor and after != NOW and time.monotonic() < until:
        if not call.decisions.wait_for_events(page.cursor.number, until, call.caller.project_id):
            headers = _LATER
            break
        page = read(page.cursor)
    documents = [*map(partial(cloud_event, source=source_of(call.settings)), page.events)]
    return json_response({"events": documents, "cursor": page.cursor and str(page.cursor)}, headers=headers)


def _request(call: SchedulingCall, query: Query) -> EventRequest:
    for one, other in _EITHER:
        if query.has(one) and query.has(other):
            raise InvalidValue(message=f"{one} and {other} exclude each other: give one of them.")
    mask = mask_of(call.caller, call.policy, call.settings)
    if mask is None:
        raise NotAllowed(policy=ALL_EVENTS)
    named, node = query.items("type") or (), query.uuid("node")
    types.require_known(named)
    since = seconds_of("since", query.text("since"))
    nodes, inside = None if node is None else [node], inside_of(call, query.text("domain"))
    return EventRequest(mask, query.limit(), since, named, nodes, inside, query.text("user_id"), query.uuid("subject"))


def seen_domains(call: Call) -> Conditions:
    """Return the condition on the nodes by which the caller sees domains: those whose events it reads. Raises
    NotAllowed."""
    return seen_among(call, EVERYTHING if call.allows(ALL_EVENTS) else Visibility(call.caller.project_id))


def inside_of(call: Call, domain: str | None) -> Callable[[Connection], ColumnElement[bool]] | None:
    """Return what finds the condition on the nodes of a domain (a UUID, or LEVEL:NAME); None without one. Raises
    NotAllowed."""
    return None if domain is None else partial(naming.contents, text=domain, seen=seen_domains(call))
