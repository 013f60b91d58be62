"""/v1/openapi.json"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from flask import Response

from baremetal_sched import errors
from baremetal_sched.scheduling.schemas import (
    answers,
    bookings,
    claims,
    domains,
    events,
    explanations,
    holds,
    requests,
    webhooks,
)
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import HttpError, status_of
from baremetal_sched.web.operation import Operation, Schema
from baremetal_sched.web.responses import JSON, json_response
from baremetal_sched.web.route import Route, View

_INFO = {
    "title": "Scheduling API of baremetal-sched",
    "version": "v1",
    "description": "Claims of one or several machines, now or when they are free; bookings of machines for later; "
    "holds; domains; events and webhooks; explanations and dry runs; capacity and conductor groups. There are no "
    "microversions: fields may be added, and none changes its meaning.",
}

#: Errors that any route may answer; a route names its own beside them.
COMMON_ERRORS: tuple[type[errors.SchedulerError], ...] = (
    # of authentication and policy
    *(errors.AuthenticationUnavailable, errors.NotAllowed, errors.NotAuthenticated, errors.WrongScope),
    # of the request: path, media types, body and parameters
    *(errors.DocumentTooLarge, HttpError, errors.InvalidValue, errors.PacketTooLarge),
    # of the database
    *(errors.DatabaseAway, errors.IsMirror, errors.SchemaNotServed, errors.SecretsUnreadable),
    *(errors.TooManyConflicts, errors.TooManyWaiting),
    # of work that takes too long: 504
    errors.AnswerTimeout,
)

#: Why the API answers with a status, where that is not for each route to say.
_ERRORS = {
    400: "The body or a parameter is malformed, or names something unknown. The message says what.",
    401: "The request is not authenticated.",
    403: "The policy does not allow the request to the caller.",
    410: "What follows the cursor can no longer be read.",
    415: "The content type is not accepted.",
    429: "There were too many failed log-ins from the client's address, or tests of webhooks of the project.",
    503: "The database is unavailable, the search took too long, or too many explanations are being worked on.",
}
_OTHER = "Other"

#: The schemas that others refer to.
SCHEMAS: Mapping[str, Schema] = {
    "Versions": answers.VERSIONS,
    "OpenAPI": answers.DOCUMENT,
    "DryRun": requests.DRY_RUN,
    "Capacity": answers.CAPACITY,
    "ConductorGroups": answers.GROUPS,
    "Explanation": explanations.EXPLANATION,
    "NodeExplanation": explanations.NODE_EXPLANATION,
    "ClosestTree": explanations.CLOSEST_TREE,
    "Availability": explanations.AVAILABILITY,
    "Finding": explanations.FINDING,
    "Claim": claims.CLAIM,
    "Claims": claims.CLAIMS,
    "Booking": bookings.BOOKING,
    "Bookings": bookings.BOOKINGS,
    "Hold": holds.HOLD,
    "NodeHolds": holds.NODE_HOLDS,
    "Holds": holds.HOLDS,
    "MadeHolds": holds.MADE_HOLDS,
    "Domain": domains.DOMAIN,
    "Domains": domains.DOMAINS,
    "DomainNodes": domains.DOMAIN_NODES,
    "DomainsFromProperty": domains.FOLLOWED,
    "Event": events.EVENT,
    "Events": events.EVENTS,
    "Webhook": webhooks.WEBHOOK,
    "WebhookWithSecret": webhooks.WEBHOOK_WITH_SECRET,
    "ResumedWebhook": webhooks.RESUMED_WEBHOOK,
    "WebhookTest": webhooks.WEBHOOK_TEST,
    "Webhooks": webhooks.WEBHOOKS,
    "Error": answers.ERROR,
}

#: The parameters of paths.
IN_PATHS: Mapping[str, Schema] = {
    "node": answers.said("UUID or name of the node.", {**answers.TEXT, "minLength": 1}),
    "claim": answers.said("UUID of the claim.", {**answers.TEXT, "minLength": 1}),
    "booking": answers.said("UUID of the booking.", {**answers.TEXT, "minLength": 1}),
    "hold": answers.said("UUID of the hold.", {**answers.TEXT, "minLength": 1}),
    "domain": answers.said("UUID of the domain.", {**answers.TEXT, "minLength": 1}),
    "webhook": answers.said("UUID of the webhook.", {**answers.TEXT, "minLength": 1}),
}


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
        scheme = _SECURITY.get(call.settings.api.auth_strategy)
        description = {**described(), "servers": [{"url": call.base_url}]}
        if scheme is not None:
            description["components"] = {**description["components"], "securitySchemes": {"caller": scheme}}
            description["security"] = [{"caller": []}]
        return json_response(description)

    return show_openapi


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes, without the parts that depend on the service's settings.

    Raises LookupError for a route without an operation.
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
    described = route.operation
    if described is None:
        raise LookupError(f"{route.method} {route.path} has no operation")
    content = {} if described.answer is None else {"content": {JSON: {"schema": answers.component(described.answer)}}}
    operation: dict[str, Any] = {
        "operationId": described.name,
        "summary": described.summary,
        "parameters": [
            *(_parameter(name, "path", IN_PATHS[name]) for name in re.findall(r"<(\w+)>", route.path)),
            *(_parameter(name, "query", schema) for name, schema in described.query.items()),
        ],
        "responses": {
            str(status): {"description": why, "headers": _REQUEST_ID, **content}
            for status, why in (described.done or {204 if described.answer is None else 200: "Done."}).items()
        },
    }
    if route.policy is not None:
        operation["description"] = f"The policy is `{route.policy}`."
    if described.body is not None:
        bodies = {media_type: {"schema": described.body} for media_type in route.takes}
        operation["requestBody"] = {"required": not route.may_be_empty, "content": bodies}
    if route.public:
        operation["security"] = []
    operation["responses"] |= _failures(route, described)
    operation["responses"]["default"] = _reference(_OTHER)
    return operation


def _parameter(name: str, place: str, schema: Schema) -> dict[str, Any]:
    """Return a parameter. Lists are separated by commas; an object stands for parameters named like its properties."""
    document: dict[str, Any] = {"name": name, "in": place, "required": place == "path", "schema": {**schema}}
    description = document["schema"].pop("description", None)
    if description:
        document["description"] = description
    if place == "query":
        document |= {"style": "form", "explode": schema["type"] == "object"}
    return document


def _failures(route: Route, described: Operation) -> dict[str, Any]:
    """The errors with which the route is answered: those of any route, without those of all paths, and its own."""
    own: dict[int, list[str]] = {}
    for error in route.errors:
        own.setdefault(status_of(error, route.statuses), []).append(_words(error))
    applies = {400: described.refuses, 415: bool(route.takes), **dict.fromkeys((401, 403, 429, 503), not route.public)}
    statuses = own.keys() | {status for status in applies if applies[status]}
    return {
        str(status): _reference(_name(status)) if status in _ERRORS else _error("\n".join(own[status]), status)
        for status in sorted(statuses)
    }


def _words(error: type[errors.SchedulerError]) -> str:
    """Return the template of an error or, if that has no words of its own, the first sentence about its class."""
    if re.sub(r"\{\w+\}", "", error.template):
        return error.template
    return f"{(error.__doc__ or '').partition('.')[0]}."


def _name(status: int) -> str:
    return HTTPStatus(status).phrase.replace(" ", "")


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{name}"}


def _error(why: str, status: int | None = None) -> dict[str, Any]:
    headers: dict[str, Any] = dict(_REQUEST_ID)
    if status in (429, 503):
        headers["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
    return {"description": why, "headers": headers, "content": {JSON: {"schema": answers.component("Error")}}}


def show_root(call: Call, session: None) -> Response:
    """GET / and /v1: the one version that there is."""
    here = f"{call.base_url}/v1"
    links = [
        {"rel": "self", "href": here},
        # What RFC 8631 calls a description for programs.
        {"rel": "service-desc", "type": JSON, "href": f"{here}/openapi.json"},
    ]
    return json_response({"versions": [{"id": "v1", "status": "CURRENT", "links": links}]})
