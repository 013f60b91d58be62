"""/servers/{server_id}/os-instance-actions"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.compute import server_history
from baremetal_sched.compute.api.call import ComputeCall, timestamp
from baremetal_sched.compute.api.policies import name_of
from baremetal_sched.compute.api.server_filters import moment
from baremetal_sched.compute.api.server_view import host_id
from baremetal_sched.compute.api.servers import find
from baremetal_sched.db.models import Server, ServerAction
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import json_response

EVENTS_SINCE = 51
PAGES_SINCE = 58
HOST_SINCE = 62
BEFORE_SINCE = 66
DETAILS_SINCE = 84

_EVENTS, _DETAILS = (name_of("os-instance-actions", operation) for operation in ("events", "events:details"))


def list_actions(call: ComputeCall, session: Session, server_id: str) -> Response:
    """GET /servers/{server_id}/os-instance-actions"""
    query = Query(call, ("limit", "marker", "changes-since", "changes-before"))
    query.require(PAGES_SINCE, "limit", "marker", "changes-since")
    query.require(BEFORE_SINCE, "changes-before")
    server = find(call, session, server_id)
    actions = _within(server_history.list_actions(session, server.id), query)
    selected = _after(actions, query.text("marker"))[: query.limit(least=0)]
    document: dict[str, Any] = {"instanceActions": [_summary(call, server, action) for action in selected]}
    if call.version >= PAGES_SINCE and selected and selected[-1] is not actions[-1]:
        document["links"] = query.next_link(selected[-1].request_id)
    return json_response(document)


def _within(actions: Sequence[ServerAction], query: Query) -> list[ServerAction]:
    since, before = (moment(name, query.text(name)) for name in ("changes-since", "changes-before"))
    if since and before and since > before:
        raise InvalidValue(message="The value of changes-since must be less than or equal to changes-before.")

    def changed(action: ServerAction) -> datetime:
        return action.updated_at or action.started_at

    return [
        action
        for action in actions
        if (since is None or changed(action) >= since) and (before is None or changed(action) <= before)
    ]


def _after(actions: Sequence[ServerAction], marker: str | None) -> Sequence[ServerAction]:
    if marker is None:
        return actions
    for place, action in enumerate(actions):
        if action.request_id == marker:
            return actions[place + 1 :]
    raise InvalidValue(message=f"Marker {marker} could not be found.")


def show_action(call: ComputeCall, session: Session, server_id: str, request_id: str) -> Response:
    """GET /servers/{server_id}/os-instance-actions/{request_id}"""
    server = find(call, session, server_id)
    action = server_history.find(session, server.id, server.uuid, request_id)
    document = _summary(call, server, action)
    target = {"project_id": server.project_id}
    everything = call.allows(_EVENTS, target)
    if everything or call.version >= EVENTS_SINCE:
        details = call.version >= DETAILS_SINCE and call.allows(_DETAILS, target)
        document["events"] = [
            _event(call, server, event, everything=everything, details=details) for event in action.events
        ]
    return json_response({"instanceAction": document})


def _summary(call: ComputeCall, server: Server, action: ServerAction) -> dict[str, Any]:
    document = {
        "action": action.action,
        "instance_uuid": server.uuid,
        "request_id": action.request_id,
        "user_id": action.user_id,
        "project_id": action.project_id,
        "start_time": timestamp(action.started_at),
        "message": action.message,
    }
    if call.version >= PAGES_SINCE:
        document["updated_at"] = timestamp(action.updated_at or action.started_at)
    return document


def _event(
    call: ComputeCall, server: Server, event: dict[str, Any], *, everything: bool, details: bool
) -> dict[str, Any]:
    """An event; ``everything``: with its host, and the traceback, which there never is."""
    document = {
        "event": event["event"],
        "start_time": _time(event["start_time"]),
        "finish_time": _time(event["finish_time"]),
        "result": event["result"],
    }
    if everything:
        document["traceback"] = None
    if call.version >= HOST_SINCE:
        host = event["host"] or ""
        document["hostId"] = host_id(server.project_id, host)
        if everything:
            document["host"] = host
    if details:
        document["details"] = event["details"]
    return document


def _time(text: str | None) -> str | None:
    return None if text is None else timestamp(datetime.fromisoformat(text))
