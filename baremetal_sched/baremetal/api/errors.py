"""Errors in the format of the bare metal API.

The body is ``{"error_message": "<JSON as a string>"}``. Inside is, for what a view raised, shape A: ``faultcode``,
``faultstring``, ``debuginfo``; for what routing raised, shape B: ``code``, ``title``, ``description``. What is wrong
with the body as such comes without the envelope.
"""

from collections.abc import Mapping
from http import HTTPStatus

import orjson
from flask import Response

from baremetal_sched.baremetal.api.versions import VersionRefused
from baremetal_sched.errors import NotFoundError, SchedulerError
from baremetal_sched.web.problems import (
    BodyTooDeep,
    BodyTooLarge,
    MethodNotAllowed,
    NotAcceptable,
    PathNotFound,
    Problem,
    status_of,
)
from baremetal_sched.web.responses import json_response


class CollectionTooNew(NotFoundError):
    """A whole collection that the microversion of the request does not have yet."""

    template = "The API is not supported for this version"


class ResourceNotFound(NotFoundError):
    """What is asked for is not there, or not for this client; more is not said. Shape A."""

    template = "Resource could not be found."


class MethodRefused(Problem):
    """A method that the controller itself refuses: shape A."""

    status = 405


class TooNew(Problem):
    """A field, parameter or verb that the microversion of the request does not have yet."""

    status = 406
    template = "Request not acceptable."


class TooNewParameter(TooNew):
    template = "Request not acceptable. The minimal required API version should be 1.{since}"


class RoutingError(Problem):
    """What Ironic finds while it looks for the controller: shape B."""

    def __init__(self, status: int, description: str = "") -> None:
        super().__init__(message=description)
        self.status = status


def render(error: Exception, *, at_root: bool) -> Response:
    """The answer to ``error``. ``at_root``: the request was for ``/`` itself, where shape A is always used."""
    status = status_of(error)
    if isinstance(error, BodyTooDeep | BodyTooLarge):
        return json_response({"faultcode": "Client", "faultstring": str(error)}, status)
    if isinstance(error, NotAcceptable):
        return json_response({"error_message": f"{status} {HTTPStatus(status).phrase}\n\n{error}"}, status)
    if is_routing(error) and not at_root:
        # The description of an unknown path or method is empty, as with Ironic.
        description = "" if isinstance(error, PathNotFound | MethodNotAllowed) else str(error)
        return _envelope({"code": status, "title": HTTPStatus(status).phrase, "description": description}, status)
    message = str(error) if isinstance(error, SchedulerError) else "An internal error occurred; the log says more."
    fault = {"faultcode": "Client" if status < 500 else "Server", "faultstring": message, "debuginfo": None}
    response = _envelope(fault, status)
    if status == 503:
        response.headers["Retry-After"] = "1"
    return response


def is_routing(error: Exception) -> bool:
    """Is it an error of routing, which has a shape of its own?"""
    return isinstance(error, PathNotFound | MethodNotAllowed | VersionRefused | RoutingError)


def is_unversioned(error: Exception) -> bool:
    """Is it raised, with Ironic, where no microversion is agreed on yet?"""
    return is_routing(error) or isinstance(error, BodyTooDeep | BodyTooLarge | NotAcceptable)


def _envelope(document: Mapping[str, object], status: int) -> Response:
    return json_response({"error_message": orjson.dumps(document).decode()}, status)
