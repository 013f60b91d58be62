"""Requests to the APIs, and the messages about failed ones."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from osc_lib.exceptions import CommandError

from baremetal_sched.osc.endpoints import Endpoints

NO_SCHEDULING_API = (
    "This service has no scheduling API; Ironic and Placement do not have one. "
    "No API was found at {url}. Set OS_SCHEDULING_ENDPOINT_OVERRIDE if it is elsewhere."
)

#: The first part of the path of each API, and the microversion that the commands are written for.
_VERSIONS = {"scheduling": "/v1", "baremetal": "/v1", "placement": "", "compute": "/v2.1", "image": "/v2"}
_HEADERS = {
    "baremetal": {"X-OpenStack-Ironic-API-Version": "1.65"},
    "placement": {"OpenStack-API-Version": "placement 1.39"},
}

Pairs = Sequence[tuple[str, Any]]


class RequestFailed(CommandError):
    """A request was answered with an error: ``status``, and ``code`` if the API has one (placement)."""

    def __init__(self, message: str, status: int, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Client:
    """The APIs of the service that the ``openstack`` command is configured for."""

    def __init__(self, session: Any, endpoints: Endpoints) -> None:
        self.session = session
        self._endpoints = endpoints

    def get(self, service: str, path: str, parameters: Pairs = ()) -> Any:
        """Return the document at ``path`` of an API. Raises like ``request``."""
        query = f"?{urlencode(parameters)}" if parameters else ""
        return self.request(service, "GET", path + query)

    def request(self, service: str, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return the document of the answer, or None.

        Raises RequestFailed for an answer that is an error or not JSON, CommandError if the API does not exist, and
        errors of keystoneauth1 without an answer.
        """
        url = self._endpoints.url(service) + _VERSIONS[service]
        headers = {"Accept": "application/json", **_HEADERS.get(service, {})}
        sent = {} if body is None else {"json": body}
        response = self.session.request(url + path, method, headers=headers, raise_exc=False, **sent)
        document = _document(response)
        if response.status_code >= 400:
            if service == "scheduling" and response.status_code == 404 and _own_error(document) is None:
                raise CommandError(NO_SCHEDULING_API.format(url=url))
            raise _failure(response, document)
        if document is None and response.content:
            raise RequestFailed(f"What {url} answers is not JSON: is it the {service} API?", response.status_code)
        return document


def client_of(app: Any) -> Client:
    """Return the client of the ``openstack`` command that is running (a command's ``app``)."""
    client: Client = app.client_manager.scheduling
    return client


def _document(response: Any) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _failure(response: Any, document: Any) -> RequestFailed:
    status = response.status_code
    said, code = _said(document)
    message = said or f"HTTP {status} {response.reason}"
    if status == 401:
        message = f"The service does not accept the login: {message} (HTTP 401)"
    elif status in (403, 503):
        retry = response.headers.get("Retry-After")
        message += f" Try again in {retry} seconds." if status == 503 and retry else f" (HTTP {status})"
    return RequestFailed(message, status, code)


def _said(document: Any) -> tuple[str | None, str | None]:
    """Return the message of an error, whichever API it is of, and its code."""
    if not isinstance(document, Mapping):
        return None, None
    errors = document.get("errors")
    if isinstance(errors, list) and errors and isinstance(errors[0], Mapping):
        return str(errors[0].get("detail") or errors[0].get("title") or "").strip(), errors[0].get("code")
    ironic = document.get("error_message")
    if isinstance(ironic, str):
        try:
            ironic = json.loads(ironic)
        except ValueError:
            return ironic, None
    if isinstance(ironic, Mapping):
        return str(ironic.get("faultstring") or ironic.get("description") or ironic.get("title") or ""), None
    return _own_error(document) or _of_others(document), None


def _own_error(document: Any) -> str | None:
    """Return the message of an error of the scheduling API, or None if the document is not such an error."""
    error = document.get("error") if isinstance(document, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) and "status" in error else None
    return str(message) if message is not None else None


def _of_others(document: Mapping[str, Any]) -> str | None:
    """Return the message of an error of the compute or the image API."""
    for value in (document, *document.values()):
        if isinstance(value, Mapping) and isinstance(value.get("message"), str):
            return str(value["message"])
    return None
