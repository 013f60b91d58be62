"""Errors in the format of the bare metal API.

The body is ``{"error_message": "<JSON as a string>"}``. Errors of views have shape A inside: ``faultcode``,
``faultstring``, ``debuginfo``. Errors of routing have shape B: ``code``, ``title``, ``description``. Errors of an
unreadable body have no envelope.
"""

from collections.abc import Mapping
from http import HTTPStatus

import orjson
from flask import Response

from baremetal_sched.baremetal.api.versions import HEADER, MAJOR
from baremetal_sched.errors import NotAllowed, NotFoundError, WrongScope
from baremetal_sched.masking import mask_text
from baremetal_sched.web.http_errors import (
    BodyTooDeep,
    BodyTooLarge,
    HttpError,
    MethodNotAllowed,
    MicroversionMalformed,
    MicroversionNotServed,
    NotAcceptable,
    PathNotFound,
    message_of,
)
from baremetal_sched.web.responses import json_response


class CollectionTooNew(NotFoundError):
    """A whole collection that the microversion of the request does not have yet."""

    template = "The API is not supported for this version"


class ResourceNotFound(NotFoundError):
    """The resource does not exist, or this client may not see it; the error does not say which. Shape A."""

    template = "Resource could not be found."


class MethodRefused(HttpError):
    """A method that the controller itself refuses: shape A."""

    status = 405


class RoutingError(HttpError):
    """An error that Ironic finds while it looks for the controller: shape B."""

    def __init__(self, status: int, description: str = "") -> None:
        super().__init__(message=description)
        self.status = status


def body(error: Exception, status: int, *, at_root: bool) -> Response:
    """The answer to ``error``. ``at_root``: the request was for ``/`` itself, where shape A is always used."""
    if isinstance(error, BodyTooDeep | BodyTooLarge):
        return json_response({"faultcode": "Client", "faultstring": str(error)}, status)
    if isinstance(error, NotAcceptable):
        return json_response({"error_message": f"{status} {HTTPStatus(status).phrase}\n\n{error}"}, status)
    if is_routing(error) and not at_root:
        # The description of an unknown path or method is empty, as with Ironic.
        description = "" if isinstance(error, PathNotFound | MethodNotAllowed) else _text(error)
        return _envelope({"code": status, "title": HTTPStatus(status).phrase, "description": description}, status)
    text = mask_text(_text(error))
    fault = {"faultcode": "Client" if status < 500 else "Server", "faultstring": text, "debuginfo": None}
    return _envelope(fault, status)


def _text(error: Exception) -> str:
    match error:
        case MicroversionMalformed():
            return f"Invalid value for {HEADER} header"
        case MicroversionNotServed(details=asked):
            supported = f"The supported version range is: [{asked['minimum']}, {asked['maximum']}]."
            if asked["major"] != MAJOR:
                return (
                    f"Mutually exclusive versions requested. Version {asked['major']}.{asked['minor']} requested but "
                    f"not supported by this service. {supported}"
                )
            return (
                f"Version {MAJOR}.{asked['minor']} was requested but the minor version is not supported by this "
                f"service. {supported}"
            )
        case NotAllowed(details=refused) | WrongScope(details=refused):
            return f"Access was denied to the following resource: {refused['policy']}"
    return message_of(error)


def is_routing(error: Exception) -> bool:
    """Return whether it is an error of routing, which has a shape of its own."""
    refused = MicroversionMalformed | MicroversionNotServed
    return isinstance(error, PathNotFound | MethodNotAllowed | RoutingError | refused)


def is_unversioned(error: Exception) -> bool:
    """Return whether Ironic raises it where no microversion is agreed on yet."""
    return is_routing(error) or isinstance(error, BodyTooDeep | BodyTooLarge | NotAcceptable)


def _envelope(document: Mapping[str, object], status: int) -> Response:
    return json_response({"error_message": orjson.dumps(document).decode()}, status)
