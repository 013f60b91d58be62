"""Errors of a request found before it reaches the domain. Each API renders them in its own format."""

from collections.abc import Mapping

from baremetal_sched.errors import (
    AnswerTimeout,
    ConflictError,
    DriverFailed,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotAuthenticated,
    NotFoundError,
    SchedulerError,
    SecretsUnreadable,
    UnavailableError,
)
from baremetal_sched.masking import mask_text


class HttpError(SchedulerError):
    """Base: ``status`` is the HTTP status of the answer."""

    status: int


class BadRequest(HttpError):
    """The request cannot be understood."""

    status = 400


class PathNotFound(HttpError):
    """The path does not exist, or not in the microversion of the request."""

    status = 404
    template = "The resource could not be found."


class MethodNotAllowed(HttpError):
    """The path does not support this method; ``details['allowed']`` lists the supported ones."""

    status = 405
    template = "The method {method} is not allowed for this resource."


class NotAcceptable(HttpError):
    """The client wants a format or a microversion that is not served."""

    status = 406


class MicroversionMalformed(HttpError):
    """The client asks for a malformed version."""

    status = 400
    template = "API version {given!r} is malformed: two numbers with a dot between them, or latest, are expected."


class MicroversionNotServed(HttpError):
    """The client asks for a version that is not offered. ``details`` has it, and the offered range."""

    status = 406
    template = "API version {given} is not offered: the oldest is {minimum}, the newest {maximum}."


class TooNew(HttpError):
    """A field, parameter or verb is newer than the microversion of the request."""

    status = 406
    template = "Request not acceptable. The minimal required API version should be {since}"


class BodyTooLarge(HttpError):
    status = 413
    template = "Request body is too large: at most {limit} bytes are accepted."


class BodyTooDeep(HttpError):
    status = 400
    template = "Request body JSON is nested too deeply: at most {limit} levels are accepted."


class UnsupportedMediaType(HttpError):
    status = 415


class TooManyFailedLogins(HttpError):
    """``details['retry_after']``: seconds until the next attempt is allowed."""

    status = 429
    template = "Too many failed log-ins {whence}. Try again in {retry_after} seconds."


class RefusedRequest(HttpError):
    """The server or a middleware refused the request before it reached an API."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message=message)
        self.status = status


#: Statuses of errors, by their class or a base of it.
Statuses = Mapping[type[SchedulerError], int]

_STATUSES: Statuses = {
    NotFoundError: 404,
    ConflictError: 409,
    InvalidError: 400,
    ForbiddenError: 403,
    GoneError: 410,
    NotAuthenticated: 401,
    UnavailableError: 503,
    SecretsUnreadable: 503,
    DriverFailed: 502,
    AnswerTimeout: 504,
}


def status_of(
    error: Exception | type[Exception],
    exceptions: Statuses = {},  # noqa: B006 - it is only read
) -> int:
    """Return the HTTP status of the error, or of those of a class. ``exceptions``: statuses that differ in an API."""
    kinds = (error if isinstance(error, type) else type(error)).__mro__
    for kind in kinds:
        if kind in exceptions:
            return exceptions[kind]
    if isinstance(error, HttpError):
        return error.status
    return next((_STATUSES[kind] for kind in kinds if kind in _STATUSES), 500)


def message_of(error: Exception) -> str:
    """Return the message for clients, without secrets; for unexpected errors a general one, as theirs may hold
    anything."""
    return mask_text(str(error)) if isinstance(error, SchedulerError) else "An internal error occurred; see the log."
