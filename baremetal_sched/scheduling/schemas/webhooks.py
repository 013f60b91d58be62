"""Schemas of requests for webhooks, and of webhooks."""

from typing import Any

from baremetal_sched.compute.schemas.form import NAME, Form, closed
from baremetal_sched.scheduling.schemas.answers import (
    TEXT,
    TEXT_OR_NULL,
    UUID,
    array,
    component,
    fields,
    said,
)

#: The states of a webhook.
ACTIVE, PARKED = "active", "parked"

#: How many events after the cursor are counted.
MOST_BEHIND = 1_000

_URL = said(
    "Where the events are sent: POST requests with the signature of Standard Webhooks.", {**TEXT, "maxLength": 2048}
)
_NAME = said("Unique within the project; null: none.", {**NAME, "type": ["string", "null"]})
_TYPES: dict[str, Any] = {**array({**TEXT, "maxLength": 64}), "maxItems": 100}
_NODES: dict[str, Any] = {**array(UUID), "maxItems": 100}
_FILTER = {
    "types": said("Only events of these types; empty: of all.", _TYPES),
    "nodes": said("Only events of the nodes with these UUIDs; empty: of all.", _NODES),
}
_NEW_SECRET = said(
    "Make a new secret, which the answer has. The one before it signs as well for a day.", {"const": True}
)

NEW_WEBHOOK = Form(closed({"name": _NAME, "url": _URL, **_FILTER}, "url"))
CHANGED_WEBHOOK = Form(
    {**closed({"name": _NAME, "url": _URL, **_FILTER, "new_secret": _NEW_SECRET}), "minProperties": 1}
)

_AFTER = said("Continue after this cursor, which an answer gave; now: with what happens from now on.", TEXT)
_SKIP = said("Skip the next event that would be sent, which the receiver refuses.", {"const": 1})
RESUMPTION = Form({**closed({"after": _AFTER, "skip": _SKIP}), "maxProperties": 1})

_TIME = {**TEXT_OR_NULL, "format": "date-time"}
_LINKS = array(fields({"rel": TEXT, "href": said("An absolute URL.", {**TEXT, "format": "uri"})}))
_STATUS = said("The HTTP status of the answer; null: there was none.", {"type": ["integer", "null"]})
_RESULT = {
    "status": _STATUS,
    "duration": said("How many seconds it took.", {"type": "number", "minimum": 0}),
    "error": said("Why it failed; null: it succeeded.", TEXT_OR_NULL),
}
_ATTEMPT = {
    "time": said("When it began.", {**TEXT, "format": "date-time"}),
    **_RESULT,
    "event": said("The id of the event.", UUID),
}
_WEBHOOK = {
    "uuid": UUID,
    "name": TEXT_OR_NULL,
    "url": TEXT,
    **_FILTER,
    "project_id": said("The project that it belongs to, or null.", TEXT_OR_NULL),
    "user_id": said("Its maker: it sends what this user may read with the roles of that time.", TEXT_OR_NULL),
    "state": said("Whether events are sent, or only after it is resumed.", {"enum": [ACTIVE, PARKED]}),
    "cursor": said("All events up to this one were sent, or are not for it.", TEXT),
    "behind": said(
        f"How many events for it are after the cursor; {MOST_BEHIND} stands for as many or more. Null: unknown, as "
        "they are deleted, or its maker may not read events.",
        {"type": ["integer", "null"], "minimum": 0},
    ),
    "failing_since": said("The first attempt since the last success; null: there was none.", _TIME),
    "last_status": said("The HTTP status of the last answer, or null.", {"type": ["integer", "null"]}),
    "last_error": said("Why the last attempt failed, or why it is parked; null: it succeeded.", TEXT_OR_NULL),
    "attempts": said("The last attempts to this URL, at most 20, the newest first.", array(fields(_ATTEMPT))),
    "previous_secret_until": said("Until when the secret before the present one signs as well, or null.", _TIME),
    "created_at": _TIME,
    "links": _LINKS,
}
_SECRET = said("What the receiver verifies signatures with: only in the answer that makes it.", TEXT)
_LOST = said(
    "How many events after the cursor had been deleted, those that are not for it counted; null: unknown, as the "
    "database was restored from a backup, or has lost events.",
    {"type": ["integer", "null"], "minimum": 0},
)
_SKIPPED = said(
    "After skip: the event that was skipped; null: there was none to send.",
    {"oneOf": [fields({"id": UUID, "type": TEXT, "time": {**TEXT, "format": "date-time"}}), {"type": "null"}]},
)

WEBHOOK = fields(_WEBHOOK)
WEBHOOK_TEST = fields(_RESULT)
WEBHOOK_WITH_SECRET = fields({**_WEBHOOK, "secret": _SECRET}, {"secret"})
RESUMED_WEBHOOK = fields({**_WEBHOOK, "lost": _LOST, "skipped": _SKIPPED}, {"skipped"})
WEBHOOKS = fields({"webhooks": array(component("Webhook")), "webhooks_links": _LINKS}, {"webhooks_links"})
