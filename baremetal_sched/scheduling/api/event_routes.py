"""The routes of events, and of webhooks to which they are sent."""

from baremetal_sched.errors.events import EventsDisabled, EventsGone, EventsNotServed, PrefixesNotServed
from baremetal_sched.errors.webhooks import (
    DomainOfWebhookGone,
    DomainsOfWebhooksNotServed,
    InvalidWebhookUrl,
    MakerGone,
    TooManyWebhooks,
    TooManyWebhookTests,
    WebhookExists,
    WebhookNotFound,
    WebhookTestNotSent,
    WebhookTestUnderWay,
)
from baremetal_sched.scheduling.api import events, webhook_tests, webhooks
from baremetal_sched.scheduling.api.policies import EVENTS, MANAGE_WEBHOOKS
from baremetal_sched.scheduling.schemas.webhooks import CHANGED_WEBHOOK, NEW_WEBHOOK, RESUMPTION
from baremetal_sched.web.operation import Operation
from baremetal_sched.web.responses import JSON
from baremetal_sched.web.route import Route

_OFF = (EventsDisabled, EventsNotServed)
_FILTERS = (PrefixesNotServed, DomainsOfWebhooksNotServed)

EVENT_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        "/v1/events",
        events.list_events,
        transaction=None,
        policy=EVENTS,
        operation=Operation("list_events", "Read events, or wait for one", "Events", events.PARAMETERS),
        errors=(EventsGone, *_OFF),
    ),
    Route(
        "GET",
        "/v1/webhooks",
        webhooks.list_webhooks,
        policy=MANAGE_WEBHOOKS,
        operation=Operation("list_webhooks", "List webhooks", "Webhooks", webhooks.PARAMETERS),
    ),
    Route(
        "POST",
        "/v1/webhooks",
        webhooks.create_webhook,
        transaction="write",
        policy=MANAGE_WEBHOOKS,
        takes=(JSON,),
        operation=Operation(
            "create_webhook",
            "Create a webhook",
            "WebhookWithSecret",
            body=NEW_WEBHOOK.schema,
            done={201: "Created."},
        ),
        errors=(WebhookExists, TooManyWebhooks, InvalidWebhookUrl, *_OFF, *_FILTERS),
    ),
    Route(
        "GET",
        "/v1/webhooks/<webhook>",
        webhooks.show_webhook,
        policy=MANAGE_WEBHOOKS,
        operation=Operation("show_webhook", "Show a webhook", "Webhook"),
        errors=(WebhookNotFound,),
    ),
    Route(
        "PATCH",
        "/v1/webhooks/<webhook>",
        webhooks.update_webhook,
        transaction="write",
        policy=MANAGE_WEBHOOKS,
        takes=(JSON,),
        operation=Operation(
            "update_webhook",
            "Change a webhook, or make a new secret",
            "WebhookWithSecret",
            body=CHANGED_WEBHOOK.schema,
        ),
        errors=(WebhookNotFound, WebhookExists, InvalidWebhookUrl, *_FILTERS),
    ),
    Route(
        "DELETE",
        "/v1/webhooks/<webhook>",
        webhooks.delete_webhook,
        transaction="write",
        policy=MANAGE_WEBHOOKS,
        operation=Operation("delete_webhook", "Delete a webhook", None),
        errors=(WebhookNotFound,),
    ),
    Route(
        "POST",
        "/v1/webhooks/<webhook>/resume",
        webhooks.resume_webhook,
        transaction="write",
        policy=MANAGE_WEBHOOKS,
        takes=(JSON,),
        may_be_empty=True,
        operation=Operation(
            "resume_webhook",
            "Continue at the cursor of a webhook, at the oldest event that is left, or at another one",
            "ResumedWebhook",
            body=RESUMPTION.schema,
        ),
        errors=(WebhookNotFound, MakerGone, EventsGone, DomainOfWebhookGone),
    ),
    Route(
        "POST",
        "/v1/webhooks/<webhook>/test",
        webhook_tests.send_test,
        transaction=None,
        policy=MANAGE_WEBHOOKS,
        statuses=dict.fromkeys((WebhookTestUnderWay, TooManyWebhookTests), 429),
        operation=Operation(
            "test_webhook", "Send an event for a test, beside the queue, and wait for the result", "WebhookTest"
        ),
        errors=(WebhookNotFound, WebhookTestUnderWay, TooManyWebhookTests, WebhookTestNotSent),
    ),
)
