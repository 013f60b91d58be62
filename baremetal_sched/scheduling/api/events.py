"""/v1/events: what has happened, in order."""

import time
from dataclasses import dataclass
from functools import partial

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.errors import NotAllowed
from baremetal_sched.scheduling.api.event_masks import mask_of
from baremetal_sched.scheduling.api.policies import ALL_EVENTS
from baremetal_sched.scheduling.api.request_bodies import SchedulingCall
from baremetal_sched.scheduling.events import reading
from baremetal_sched.scheduling.events.cloud_events import cloud_event, source_of
from baremetal_sched.scheduling.events.cursors import Cursor
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.scheduling.schemas.answers import COUNT, TEXT, said
from baremetal_sched.web.query import Query, listed, page_of
from baremetal_sched.web.responses import json_response

#: The value of ``after`` for those who want only what happens from now on.
NOW = "now"

PARAMETERS = {
    "after": said(
        "The cursor of an answer: only events after it. now: only those from now on. Without it: all that are left.",
        TEXT,
    ),
    "limit": page_of("Events")["limit"],
    "wait": said("For how many seconds to wait for an event, if there is none.", COUNT),
    "type": listed("Only events of these types."),
    "node": said("Only events of the node with this UUID.", TEXT),
}

#: Seconds before the deadline of a request at which it ends waiting.
_RESERVE = 5.0

#: Seconds after which a request that could not wait may be repeated.
_LATER = {"Retry-After": "1"}


@dataclass(frozen=True)
class _Selection:
    """Which events are asked for."""

    after: str | None
    limit: int
    types: list[str] | None
    node: str | None
    project: str | None


def list_events(call: SchedulingCall, session: None) -> Response:
    """GET /v1/events"""
    query = Query(call, PARAMETERS)
    mask = mask_of(call.caller, call.policy, call.settings)
    if mask is None:
        raise NotAllowed(policy=ALL_EVENTS)
    seconds = query.integer("wait") or 0
    wanted = _Selection(query.text("after"), query.limit(), query.items("type"), query.uuid("node"), mask.project)
    until = time.monotonic() + seconds
    if call.deadline is not None:
        until = min(until, call.deadline - _RESERVE)
    headers: dict[str, str] = {}
    events, cursor, is_all = _read(call, wanted, None)
    while not events and is_all and wanted.after != NOW and time.monotonic() < until:
        if not call.decisions.wait_for_events(cursor.number, until, call.caller.project_id):
            headers = _LATER
            break
        events, cursor, is_all = _read(call, wanted, cursor)
    source = source_of(call.settings)
    documents = [cloud_event(mask.apply(event), source) for event in events]
    return json_response({"events": documents, "cursor": str(cursor)}, headers=headers)


def _read(call: SchedulingCall, wanted: _Selection, after: Cursor | None) -> tuple[list[Event], Cursor, bool]:
    """Return the next events, the cursor after them, and whether they are all that there are.

    Raises InvalidValue, EventsGone, EventsNotServed, EventsDisabled.
    """
    return call.database.select(partial(_find, call=call, wanted=wanted, after=after), deadline=call.deadline)


def _find(
    connection: Connection, call: SchedulingCall, wanted: _Selection, after: Cursor | None
) -> tuple[list[Event], Cursor, bool]:
    if after is None and wanted.after not in (None, NOW):
        after = Cursor.parse(wanted.after)
    stream = reading.stream(connection, after.number if after is not None else 0)
    stream.require_served(call.settings)
    after = after or stream.beginning
    stream.require(after)
    if wanted.after == NOW:
        return [], stream.now, True
    if after.number == stream.last:
        return [], stream.now, True
    until = stream.last
    if wanted.types is not None and wanted.node is None:
        until = min(until, after.number + reading.WINDOW)
    events = reading.read_after(
        connection,
        after.number,
        wanted.limit,
        project=wanted.project,
        types=wanted.types,
        nodes=None if wanted.node is None else [wanted.node],
        until=until,
    )
    if len(events) == wanted.limit:
        until = events[-1].number
    now = reading.stream(connection, until)
    now.require(after)  # some of them may have been deleted since
    return events, now.cursor(until), until >= stream.last
