"""Tell a chat when a machine fails: a receiver of webhooks that posts a line for each failure."""

import json
import os
from urllib.request import Request, urlopen
from wsgiref.simple_server import make_server

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


def failure(event):
    """Return what to say about an event; None if nothing has failed. What it has depends on its type."""
    data = event["data"]
    machine = data.get("name") or data.get("uuid") or event["subject"]
    if event["type"] == "baremetal.node.provision_set.error":
        reason = now(data, "last_error")
        return f"{machine}: {data.get('provision_state', 'failed')}{f': {reason}' if reason else ''}"
    fault = now(data, "fault")
    return f"{machine}: {fault}" if fault else None


def now(data, name):
    """Return the new value of a field that has changed; None if it has not, or if the receiver may not see it."""
    return (data.get("changed", {}).get(name) or {}).get("after")


def receive(environ, start_response):
    """Answer 2xx when the line is in the chat: anything else makes the service try again."""
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"] or 0))
    headers = {name: environ.get("HTTP_" + name.upper().replace("-", "_"), "") for name in HEADERS}
    try:
        event = Webhook(os.environ["WEBHOOK_SECRET"]).verify(body, headers)
    except WebhookVerificationError:
        start_response("401 Unauthorized", [])
        return [b""]
    line = failure(event)
    if line is not None:
        sent = json.dumps({"text": line}).encode()
        request = Request(os.environ["CHAT_URL"], sent, {"Content-Type": "application/json"})
        urlopen(request, timeout=8).close()
    start_response("204 No Content", [])
    return [b""]


if __name__ == "__main__":
    make_server("", 8080, receive).serve_forever()
