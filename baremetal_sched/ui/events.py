"""/events: what has happened, the newest first."""

import time
from datetime import UTC, datetime
from typing import Any

from flask import Response
from sqlalchemy import Connection, select

from baremetal_sched import event_words
from baremetal_sched.db.clock import seconds_of, utcnow
from baremetal_sched.db.event_types import USER
from baremetal_sched.db.models import Node
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidError, InvalidValue, NotAllowed
from baremetal_sched.errors.events import EventsDisabled, EventsGone, EventsNotServed
from baremetal_sched.scheduling.api.event_masks import mask_of
from baremetal_sched.scheduling.api.events import inside_of
from baremetal_sched.scheduling.api.policies import ALL_EVENTS
from baremetal_sched.scheduling.events import types
from baremetal_sched.scheduling.events.event_pages import NOW, EventPage, EventRequest
from baremetal_sched.scheduling.events.reading import Event
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import FormQuery, submitted, without
from baremetal_sched.ui.paging import USUAL, active_filters
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.http_errors import message_of

#: The filters of the form, and those that come by links.
CONTROLS = ("node", "domain", "type", "user_id", "since")
_FILTERS = (*CONTROLS, "subject")

#: Times of the form: its words, and how many seconds ago.
_AGO = {"hour": 3600.0, "day": 86_400.0, "week": 604_800.0}
SINCE = [("", "any time"), ("hour", "the last hour"), ("day", "the last day"), ("week", "the last week")]

_TYPES = [("", "any"), *((each, each) for each in (*types.READERS, *types.TYPES))]


def show_events(call: UiCall, connection: Connection) -> Response:
    """GET /events. Raises NotAllowed for callers who may read none, InvalidValue for unknown parameters."""
    query = submitted(call, (*_FILTERS, "before"))
    status, complaint, found = 200, None, EventPage([], None)
    try:
        wanted = _request(call, connection, query)
        found = wanted.before(connection, call.settings, query.text("before") or NOW)
    except (EventsDisabled, EventsNotServed) as error:
        complaint = message_of(error)  # that is how the service is set, and no mistake
    except (InvalidError, EventsGone) as error:
        status, complaint = 400, message_of(error)
    return page(
        call,
        "events.html",
        status,
        complaint=complaint,
        rows=[_row(each) for each in found.events],
        seen=_seen(call, connection, found.events),
        older=found.cursor and str(found.cursor),
        kept=without(call.query, "before"),
        is_newest=not query.has("before"),
        given=dict(call.query),
        hidden=[(name, value) for name, value in call.query if name not in (*CONTROLS, "before")],
        active=active_filters(call),
        types=_TYPES,
        times=SINCE,
        everything=call.allows(ALL_EVENTS),
        now=utcnow(),
    )


def _request(call: UiCall, connection: Connection, query: FormQuery) -> EventRequest:
    mask = mask_of(call.caller, call.policy, call.settings)
    if mask is None:
        raise NotAllowed(policy=ALL_EVENTS)
    named, since, node = query.items("type") or (), query.text("since"), query.text("node")
    types.require_known(named)
    seconds = time.time() - _AGO[since] if since in _AGO else seconds_of("since", since)
    nodes = None if node is None else [_uuid(call, connection, node)]
    inside = inside_of(call, query.text("domain"))
    return EventRequest(mask, USUAL, seconds, named, nodes, inside, query.text("user_id"), query.uuid("subject"))


def _uuid(call: UiCall, connection: Connection, text: str) -> str:
    """Return the UUID of a node, which may have been deleted, or of the visible one with this name. Raises
    InvalidValue."""
    uuid = canonical_uuid(text)
    if uuid is None:
        uuid = connection.scalar(select(Node.uuid).where(Node.name == text, *call.listed("node").conditions()))
    if uuid is None:
        raise InvalidValue(message=f"There is no node {text} that you may see. Of a deleted one, give the UUID.")
    return uuid


def _seen(call: UiCall, connection: Connection, events: list[Event]) -> frozenset[str]:
    """Return those of the nodes (UUIDs) that are still there and that the caller sees: a project also reads events of
    machines that its claims had."""
    nodes = {each.node for each in events if each.node is not None}
    if not nodes:
        return frozenset()
    return frozenset(connection.scalars(select(Node.uuid).where(Node.uuid.in_(nodes), *call.visible.conditions())))


def _row(event: Event) -> dict[str, Any]:
    row = types.TYPES.get(event.type)
    return {
        "uuid": event.uuid,
        "at": datetime.fromtimestamp(event.at, UTC).replace(tzinfo=None),
        "kind": event_words.area(event.type),
        "is_error": event.type.endswith((".error", ".failed", ".timed_out")),
        "sentence": "" if row is None else row.sentence.replace("``", ""),
        "node": event.node,
        "name": event.data.get("name"),
        "subject": event.subject,
        "words": event_words.changes(event.data),
        "user": (event.data[USER] or "the service") if USER in event.data else None,
    }
