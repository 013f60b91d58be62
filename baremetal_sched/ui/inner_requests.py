"""Requests that pages make to the APIs, in this process and for the same caller.

There is no second way to change anything: the request goes through the API's route, policy, schema and transaction, and
is in its audit log. It has a request id of its own, and the deadline of the page.
"""

import contextvars
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from baremetal_sched.ui.call import UiCall
from baremetal_sched.web.slots import ACCEPTED_AT

#: Entries of the page's request that the new one repeats: where it came from and arrived, and when.
_KEPT = (
    *("REMOTE_ADDR", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL", "HTTP_HOST", ACCEPTED_AT),
    *("wsgi.version", "wsgi.url_scheme", "wsgi.errors", "wsgi.multithread", "wsgi.multiprocess", "wsgi.run_once"),
)


@dataclass(frozen=True)
class InnerAnswer:
    """The answer of an API: its status, its document (None without one), and the message of an error."""

    status: int
    document: Any = None
    message: str = ""

    @property
    def is_done(self) -> bool:
        """Return whether the API did what was requested, or will."""
        return self.status < 400


def send(call: UiCall, method: str, path: str, body: object = None) -> InnerAnswer:
    """Send a request for ``path``, such as ``/baremetal/v1/nodes/n1``, as the caller of ``call``. The page must have no
    open transaction."""
    path, _, query = path.partition("?")
    _, mount, rest = path.split("/", 2)
    sent = b"" if body is None else json.dumps(body).encode()
    kept = {name: call.http.environ[name] for name in _KEPT if name in call.http.environ}
    environ = {
        **kept,
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": f"{call.mount.rpartition('/')[0]}/{mount}",
        "PATH_INFO": f"/{rest}",
        "QUERY_STRING": query,
        "HTTP_ACCEPT": "application/json",
        "HTTP_X_OPENSTACK_IRONIC_API_VERSION": f"1.{call.version}",
        "CONTENT_LENGTH": str(len(sent)),
        "CONTENT_TYPE": "application/json" if sent else "",
        "wsgi.input": io.BytesIO(sent),
        **call.credentials,
    }
    # What the request binds for its log lines must not be bound for those of the page.
    return contextvars.copy_context().run(_answer, call.apis[f"/{mount}"], environ)


def _answer(api: WSGIApplication, environ: WSGIEnvironment) -> InnerAnswer:
    statuses: list[int] = []

    def start_response(status: str, headers: Iterable[object], exc_info: object = None) -> Any:
        statuses.append(int(status.partition(" ")[0]))

    text = b"".join(api(environ, start_response))
    try:
        document = json.loads(text) if text else None
    except ValueError:
        document = None
    status = statuses[-1]
    return InnerAnswer(status, document, _message(document) or HTTPStatus(status).phrase if status >= 400 else "")


def _message(document: object) -> str:
    """Return the message of an error, whichever API it is of; empty if it has none."""
    if not isinstance(document, dict):
        return ""
    inner = document.get("error_message")
    if isinstance(inner, str):
        try:
            document = {"error": json.loads(inner)}
        except ValueError:
            return inner
    parts = [document, *(each for each in document.values() if isinstance(each, dict))]
    texts = (part.get(name) for part in parts for name in ("message", "faultstring", "description"))
    return next((text for text in texts if isinstance(text, str) and text), "")
