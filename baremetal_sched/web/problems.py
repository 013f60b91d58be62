"""What can be wrong with a request before any domain function sees it. Each API renders these in its own format."""

from baremetal_sched.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    SchedulerError,
    UnavailableError,
)


class Problem(SchedulerError):
    """Base: ``status`` is the HTTP status of the answer."""

    status: int
    template = "{message}"


class BadRequest(Problem):
    """The request cannot be understood."""

    status = 400


class PathNotFound(Problem):
    """No such path, or not in the microversion of the request."""

    status = 404
    template = "The resource could not be found."


class MethodNotAllowed(Problem):
    """The path does not take this method; ``details['allowed']`` lists those that it takes."""

    status = 405
    template = "The method {method} is not allowed for this resource."


class NotAcceptable(Problem):
    """The client wants a format or a microversion that is not served."""

    status = 406


class BodyTooLarge(Problem):
    status = 413
    template = "Request body is too large: at most {limit} bytes are accepted."


class BodyTooDeep(Problem):
    status = 400
    template = "Request body JSON is nested too deeply: at most {limit} levels are accepted."


class UnsupportedMediaType(Problem):
    status = 415


_STATUSES: tuple[tuple[type[SchedulerError], int], ...] = (
    (NotFoundError, 404),
    (ConflictError, 409),
    (InvalidError, 400),
    (ForbiddenError, 403),
    (UnavailableError, 503),
)


def status_of(error: Exception) -> int:
    """The HTTP status that the error is answered with, whatever the API."""
    if isinstance(error, Problem):
        return error.status
    for kind, status in _STATUSES:
        if isinstance(error, kind):
            return status
    return 500
