"""/v1/events: what has happened, in order."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, Connection

from baremetal_sched.baremetal.api.policies.domains import seen_among
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.visibility import EVERYTHING, Conditions, Visibility
from baremetal_sched.errors import NotAllowed
from baremetal_sched.scheduling.api.event_masks import mask_of
from baremetal_sched.scheduling.api.policies import ALL_EVENTS
from baremetal_sched.scheduling.api.request_bodies import SchedulingCall
from baremetal_sched.scheduling.events import reading, types
from baremetal_sched.scheduling.events.cloud_events import cloud_event, source_of
from baremetal_sched.scheduling.events.cursors import Cursor
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.scheduling.schemas.answers import COUNT, TEXT, array, said
from baremetal_sched.scheduling.schemas.events import SELECTOR
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query, page_of
from baremetal_sched.web.responses import json_response

#: The value of ``after`` for those who want only what happens from now on.
NOW = "now"

PARAMETERS = {
    "after": said(
        "The cursor of an answer: only events after it. now: only those from now on. Without it: all that are left.",
        TEXT,
    ),
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
}

#: Seconds before the deadline of a request at which it ends waiting.
_RESERVE = 5.0

#: Seconds after which a request that could not wait may be repeated.
_LATER = {"Retry-After": "1"}


def list_events(call: SchedulingCall, session: None) -> Response:
    """GET /v1/events"""
    query = Query(call, PARAMETERS)
    mask = mask_of(call.caller, call.policy, call.settings)
    if mask is None:
        raise NotAllowed(policy=ALL_EVENTS)
    seconds = query.integer("wait") or 0
    begins, named, node = query.text("after"), query.items("type") or (), query.uuid("node")
    types.require_known(named)
    filters = {"project": mask.project, "types": types.selected(named), "nodes": None if node is None else [node]}
    domain = query.text("domain")
    inside = None if domain is None else partial(naming.contents, text=domain, seen=seen_domains(call))
    read = partial(_read, call, begins, query.limit(), filters, inside)
    until = time.monotonic() + seconds
    if call.deadline is not None:
        until = min(until, call.deadline - _RESERVE)
    headers: dict[str, str] = {}
    events, cursor, is_all = read(None)
    while not events and is_all and begins != NOW and time.monotonic() < until:
        if not call.decisions.wait_for_events(cursor.number, until, call.caller.project_id):
            headers = _LATER
            break
        events, cursor, is_all = read(cursor)
    source = source_of(call.settings)
    documents = [cloud_event(mask.apply(event), source) for event in events]
    return json_response({"events": documents, "cursor": str(cursor)}, headers=headers)


def seen_domains(call: Call) -> Conditions:
    """Return the condition on the nodes by which the caller sees domains: those whose events it reads. Raises
    NotAllowed."""
    return seen_among(call, EVERYTHING if call.allows(ALL_EVENTS) else Visibility(call.caller.project_id))


def _read(
    call: SchedulingCall,
    begins: str | None,
    limit: int,
    filters: Mapping[str, Any],
    inside: Callable[[Connection], ColumnElement[bool]] | None,
    after: Cursor | None,
) -> tuple[list[Event], Cursor, bool]:
    """Return the next events, the cursor after them, and whether they are all that there are. ``begins``: the text of
    the request, for the first look. ``inside`` finds the condition on the nodes.

    Raises InvalidValue, EventsGone, EventsNotServed, EventsDisabled.
    """

    def find(connection: Connection, after: Cursor | None) -> tuple[list[Event], Cursor, bool]:
        if after is None and begins not in (None, NOW):
            after = Cursor.parse(begins)
        stream = reading.stream(connection, after.number if after is not None else 0)
        stream.require_served(call.settings)
        after = after or stream.beginning
        stream.require(after)
        on_nodes = None if inside is None else inside(connection)
        if begins == NOW or after.number == stream.last:
            return [], stream.now, True
        until = stream.last
        if (filters["types"] is not None or inside is not None) and filters["nodes"] is None:
            until = min(until, after.number + reading.WINDOW)
        events = reading.read_after(connection, after.number, limit, on_nodes=on_nodes, until=until, **filters)
        if len(events) == limit:
            until = events[-1].number
        now = reading.stream(connection, until)
        now.require(after)  # some of them may have been deleted since
        return events, now.cursor(until), until >= stream.last

    return call.database.select(partial(find, after=after), deadline=call.deadline)
