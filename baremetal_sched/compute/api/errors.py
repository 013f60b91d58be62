"""Errors in the format of the compute API: ``{"itemNotFound": {"code": 404, "message": "…"}}``."""

from flask import Response

from baremetal_sched.errors import AnswerTimeout, UnavailableError, baremetal
from baremetal_sched.errors.baremetal import (
    ChildLocked,
    NodeInMaintenance,
    NodeIsRetired,
    NodeLocked,
    NodeProtected,
    NoValidHost,
    ParentLocked,
)
from baremetal_sched.errors.servers import MachineRefuses
from baremetal_sched.web.http_errors import HttpError
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


class NotImplementedHere(HttpError):
    """Something that Nova has and this service does not, by name."""

    status = 501


#: What projects are told of errors whose own words may name nodes and conductors.
_OF_MACHINES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((NodeLocked, ParentLocked, ChildLocked), "its machine is being worked on. Try again when that is done."),
    (NodeInMaintenance, "its machine is in maintenance."),
    (NodeProtected, "its machine is protected."),
    (NodeIsRetired, "its machine is retired."),
    ((UnavailableError, NoValidHost), "its machine cannot be worked on now. Try again later."),
    (AnswerTimeout, "its machine did not answer in time. It may have been changed: look before you ask again."),
    (Exception, "its machine does not allow it now."),
)


def render(text: str, status: int) -> Response:
    """Return the answer to an error that reads ``text``."""
    return json_response({NAMES.get(status, FAULT): {"code": status, "message": text}}, status)


def is_of_machine(error: Exception) -> bool:
    """Return whether the words of ``error`` may name a node, or a conductor."""
    return isinstance(error, MachineRefuses) or type(error).__module__ == baremetal.__name__


def without_machine(error: Exception) -> str:
    """Return what projects are told of an error for which ``is_of_machine`` is true."""
    if isinstance(error, MachineRefuses):
        reason = _of_machine(error.__cause__ or error)
        return str(MachineRefuses(**{**error.details, "reason": reason}))
    return f"The server cannot be changed: {_of_machine(error)}"


def _of_machine(error: BaseException) -> str:
    return next(text for kinds, text in _OF_MACHINES if isinstance(error, kinds))
