"""The part of the OpenAPI document about webhooks."""

from collections.abc import Mapping

from baremetal_sched.scheduling.api.operation import LIMIT, Operation
from baremetal_sched.scheduling.schemas.answers import TEXT, said
from baremetal_sched.scheduling.schemas.webhooks import ACTIVE, CHANGED_WEBHOOK, NEW_WEBHOOK, PARKED, RESUMPTION

_QUERY = {
    "limit": LIMIT,
    "marker": said("Webhooks after the one with this UUID.", TEXT),
    "name": said("Webhooks of this name.", TEXT),
    "state": said("Webhooks in this state.", {"type": "string", "enum": [ACTIVE, PARKED]}),
}

WEBHOOK_OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/v1/webhooks"): Operation("list_webhooks", "List webhooks", "Webhooks", _QUERY),
    ("POST", "/v1/webhooks"): Operation(
        "create_webhook",
        "Have events sent to a receiver from now on",
        "WebhookWithSecret",
        body=NEW_WEBHOOK.schema,
        done={201: "It is made."},
        conflicts=True,
    ),
    ("GET", "/v1/webhooks/<webhook>"): Operation("show_webhook", "Show a webhook", "Webhook"),
    ("PATCH", "/v1/webhooks/<webhook>"): Operation(
        "update_webhook",
        "Change a webhook, or make a new secret",
        "WebhookWithSecret",
        body=CHANGED_WEBHOOK.schema,
        conflicts=True,
    ),
    ("DELETE", "/v1/webhooks/<webhook>"): Operation("delete_webhook", "Delete a webhook", None, done={204: "Done."}),
    ("POST", "/v1/webhooks/<webhook>/resume"): Operation(
        "resume_webhook",
        "Continue at the cursor of a webhook, at the oldest event that is left, or at another one",
        "ResumedWebhook",
        body=RESUMPTION.schema,
        expires=True,
        conflicts=True,
    ),
    ("POST", "/v1/webhooks/<webhook>/test"): Operation(
        "test_webhook", "Send an event for a test, beside the queue, and wait for the result", "WebhookTest"
    ),
}
