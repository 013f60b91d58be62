"""Webhooks: their members, and the schemas of requests for them."""

from baremetal_sched.compute.schemas.form import NAME, Form, closed
from baremetal_sched.scheduling.schemas.answers import (
    COUNT_OR_NULL,
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
    new,
    said,
)
from baremetal_sched.scheduling.schemas.domains import DOMAIN_OR_NULL
from baremetal_sched.scheduling.schemas.events import SELECTOR

#: The states of a webhook.
ACTIVE, PARKED = "active", "parked"

#: How many events after the cursor are counted.
MOST_BEHIND = 1_000

_URL = {**TEXT, "maxLength": 2048}
_NAME = {**NAME, "type": ["string", "null"]}
_TYPES = {**array(SELECTOR), "maxItems": 100}
_NODES = {**array(UUID), "maxItems": 100}
_STATUS = {"type": ["integer", "null"]}
_RESULT = {
    "status": said("The HTTP status of the receiver's answer; null: there was none.", _STATUS),
    "duration": said("How many seconds the delivery took.", {"type": "number", "minimum": 0}),
    "error": said("Why the delivery failed; null: the receiver took it.", TEXT_OR_NULL),
}
_ATTEMPT = {"time": said("When it began.", TIME), **_RESULT, "event": said("The id of the event.", UUID)}

WEBHOOK_MEMBERS = (
    Member("uuid", "UUID of the webhook.", UUID, column=(1, "UUID")),
    Member(
        "name",
        "A name: up to 255 printable characters, unique within the project; null: none.",
        TEXT_OR_NULL,
        new=_NAME,
        change=_NAME,
        column=(2, "Name"),
    ),
    Member(
        "url",
        "Where events are sent, as POST requests with the signature of Standard Webhooks: an https URL without user, "
        "password and fragment. http is for hosts that [events] allowed_hosts lists. Without an entry there, an "
        "address must be public. An event that was refused is sent to a new URL at once.",
        TEXT,
        new=_URL,
        change=_URL,
        required=True,
    ),
    Member(
        "types",
        "Only events of these types, or of those that prefix.* selects, are sent: at most 100. Empty (the default): "
        "events of all types.",
        array(TEXT),
        new=_TYPES,
        change=_TYPES,
    ),
    Member(
        "nodes",
        "Only events of the nodes with these UUIDs are sent, at most 100. Empty (the default): all events.",
        _NODES,
        new=_NODES,
        change=_NODES,
    ),
    Member(
        "domain",
        "Only events of the nodes that are in this domain, or in one below it, when they are sent: its UUID. A request "
        "may name it by LEVEL:NAME. Null (the default): all events. If the domain is deleted, the webhook is parked.",
        UUID_OR_NULL,
        new=DOMAIN_OR_NULL,
        change=DOMAIN_OR_NULL,
    ),
    Member(
        "new_secret",
        "Make a new secret, which the answer has as secret. The secret before it also signs for a day.",
        change={"const": True},
    ),
    Member("project_id", "The project that it belongs to; null: none.", TEXT_OR_NULL),
    Member(
        "user_id",
        "Its maker. The webhook sends what this user may read with the roles of that time.",
        TEXT_OR_NULL,
    ),
    Member(
        "state",
        "active: events are sent. parked: nothing is sent until it is resumed.",
        {"enum": [ACTIVE, PARKED]},
        column=(3, "State"),
    ),
    Member("cursor", "All events up to this cursor have been sent, or are not for this webhook.", TEXT),
    Member(
        "behind",
        f"Number of events still to send; {MOST_BEHIND} means {MOST_BEHIND} or more. Null: unknown, because some have "
        "been deleted, or its maker may not read events.",
        COUNT_OR_NULL,
        column=(4, "Behind"),
    ),
    Member(
        "failing_since",
        "The first attempt that failed since the last success; null: none did.",
        TIME_OR_NULL,
        column=(5, "Failing Since"),
    ),
    Member("last_status", "The HTTP status of the receiver's last answer; null: there was none.", _STATUS),
    Member(
        "last_error",
        "Why the last attempt failed, or why the webhook is parked; null: the last attempt succeeded.",
        TEXT_OR_NULL,
        column=(6, "Last Error"),
    ),
    Member("attempts", "The last attempts to this URL, at most 20, the newest first.", array(fields(_ATTEMPT))),
    Member(
        "previous_secret_until",
        "Until when the secret before the present one also signs; null: it does not.",
        TIME_OR_NULL,
    ),
    Member("created_at", "When it was made.", TIME_OR_NULL),
    Member("links", "A link to the webhook.", LINKS),
)
_SECRET = Member(
    "secret", "The secret with which the receiver verifies signatures: only in the answer that makes it.", TEXT
)
_RESUMED = (
    Member(
        "lost",
        "How many events after the cursor have been deleted, including those that are not for this webhook. Null: "
        "unknown, because the database was restored from a backup, or has lost events.",
        COUNT_OR_NULL,
    ),
    Member(
        "skipped",
        "Only after skip: the event that was skipped; null: there was none to send.",
        {"oneOf": [fields({"id": UUID, "type": TEXT, "time": TIME}), {"type": "null"}]},
    ),
)

NEW_WEBHOOK, CHANGED_WEBHOOK = new(WEBHOOK_MEMBERS), change(WEBHOOK_MEMBERS)
_AFTER = said(
    "Continue after this cursor, which an answer gave. now: send only what happens from now on. Not together with "
    "skip.",
    TEXT,
)
_SKIP = said("1: skip the next event that would be sent, because the receiver always refuses it.", {"const": 1})
RESUMPTION = Form({**closed({"after": _AFTER, "skip": _SKIP}), "maxProperties": 1})

WEBHOOK = answer(WEBHOOK_MEMBERS)
WEBHOOK_TEST = fields(_RESULT)
WEBHOOK_WITH_SECRET = answer((*WEBHOOK_MEMBERS, _SECRET), "secret")
RESUMED_WEBHOOK = answer((*WEBHOOK_MEMBERS, *_RESUMED), "skipped")
WEBHOOKS = fields(
    {"webhooks": said("The webhooks, the oldest first.", array(component("Webhook"))), "webhooks_links": NEXT_PAGE},
    {"webhooks_links"},
)
