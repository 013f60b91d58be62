"""Errors in the format of the compute API: ``{"itemNotFound": {"code": 404, "message": "…"}}``."""

from flask import Response

from baremetal_sched.web.problems import Problem, message_of
from baremetal_sched.web.responses import json_response

#: What an error with each status is called; any other is a computeFault.
NAMES = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "conflictingRequest",
    413: "overLimit",
    415: "badMediaType",
    429: "overLimit",
    501: "notImplemented",
    503: "serviceUnavailable",
}
FAULT = "computeFault"


class NotImplementedHere(Problem):
    """Something that Nova has and this service does not, by name."""

    status = 501


def render(error: Exception, status: int) -> Response:
    """Return the answer to ``error``."""
    return json_response({NAMES.get(status, FAULT): {"code": status, "message": message_of(error)}}, status)
