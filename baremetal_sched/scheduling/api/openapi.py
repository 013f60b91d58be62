"""/v1/openapi.json"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

from flask import Response

from baremetal_sched.scheduling.api.operation import Operation, parameter
from baremetal_sched.scheduling.api.operations import IN_PATHS, OPERATIONS, SCHEMAS
from baremetal_sched.scheduling.schemas.answers import component
from baremetal_sched.web.call import Call
from baremetal_sched.web.responses import JSON, json_response
from baremetal_sched.web.route import Route, View

_INFO = {
    "title": "Scheduling API of baremetal-sched",
    "version": "v1",
    "description": "Dry runs, explanations, claims, capacity and conductor groups. There are no microversions: fields "
    "may be added, and none changes its meaning.",
}

#: Why the API answers with each status.
_ERRORS = {
    400: "The body or a parameter is malformed, or names something unknown. The message says what.",
    401: "The request is not authenticated.",
    403: "The policy does not allow the request to the caller.",
    404: "The node or the claim does not exist, or the caller may not see it.",
    409: "Nothing is free, the claim differs from the one with its UUID, or it belongs to something else.",
    410: "What follows the cursor cannot be read any more.",
    415: "The content type is not accepted.",
    429: "There were too many failed log-ins from the client's address, or tests of webhooks of the project.",
    503: "The database is unavailable, the search took too long, or too many explanations are being worked on.",
}
_OTHER = "Other"

_TOKEN = {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
#: How callers are authenticated, by strategy.
_SECURITY = {"keystone": _TOKEN, "noauth2": _TOKEN, "http_basic": {"type": "http", "scheme": "basic"}}

_REQUEST_ID = {"X-OpenStack-Request-Id": {"$ref": "#/components/headers/RequestId"}}
_HEADERS = {
    "RequestId": {"description": "What logs call the request.", "required": True, "schema": {"type": "string"}},
    "RetryAfter": {
        "description": "Seconds after which the client may try again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
    },
}


def showing(routes: Callable[[], Iterable[Route]]) -> View:
    """Return the view that describes ``routes``, which are looked at when it is called first."""
    described = cache(lambda: document(routes()))

    def show_openapi(call: Call, session: None) -> Response:
        """GET /v1/openapi.json"""
        call.refuse_query()
        scheme = _SECURITY.get(call.settings.api.auth_strategy)
        description = {**described(), "servers": [{"url": call.base_url}]}
        if scheme is not None:
            description["components"] = {**description["components"], "securitySchemes": {"caller": scheme}}
            description["security"] = [{"caller": []}]
        return json_response(description)

    return show_openapi


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes, without the parts that depend on the service's settings.

    Raises LookupError for a route that OPERATIONS does not describe.
    """
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = re.sub(r"<(\w+)>", r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "headers": _HEADERS,
            "responses": {
                **{_name(status): _error(why, status) for status, why in _ERRORS.items()},
                _OTHER: _error("Any other error."),
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    described = OPERATIONS.get((route.method, route.path))
    if described is None:
        raise LookupError(f"{route.method} {route.path} is not described in OPERATIONS")
    operation = described.document()
    names = re.findall(r"<(\w+)>", route.path)
    operation["parameters"] = [parameter(name, "path", IN_PATHS[name]) for name in names] + operation["parameters"]
    if route.policy is not None:
        operation["description"] = f"The policy is `{route.policy}`."
    if described.body is not None:
        content = {media_type: {"schema": described.body} for media_type in route.takes}
        operation["requestBody"] = {"required": not route.may_be_empty, "content": content}
    if route.public:
        operation["security"] = []
    for status in described.done:
        operation["responses"][str(status)]["headers"] = _REQUEST_ID
    for status in _statuses(route, described):
        operation["responses"][str(status)] = _reference(_name(status))
    operation["responses"]["default"] = _reference(_OTHER)
    return operation


def _statuses(route: Route, described: Operation) -> Iterable[int]:
    """The errors with which the route is answered, without the common errors of all paths."""
    applies = {
        400: described.refuses,
        401: not route.public,
        403: not route.public,
        404: "<" in route.path,
        409: described.conflicts,
        410: described.expires,
        415: bool(route.takes),
        429: not route.public,
        503: not route.public,
    }
    return (status for status in _ERRORS if applies[status])


def _name(status: int) -> str:
    return HTTPStatus(status).phrase.replace(" ", "")


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{name}"}


def _error(why: str, status: int | None = None) -> dict[str, Any]:
    headers: dict[str, Any] = dict(_REQUEST_ID)
    if status in (429, 503):
        headers["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
    return {"description": why, "headers": headers, "content": {JSON: {"schema": component("Error")}}}


def show_root(call: Call, session: None) -> Response:
    """GET / and /v1: the one version that there is."""
    here = f"{call.base_url}/v1"
    links = [
        {"rel": "self", "href": here},
        # What RFC 8631 calls a description for programs.
        {"rel": "service-desc", "type": JSON, "href": f"{here}/openapi.json"},
    ]
    return json_response({"versions": [{"id": "v1", "status": "CURRENT", "links": links}]})
