"""The answers for routes that a microversion does not have: in Ironic, each collection answers in its own way."""

from baremetal_sched.baremetal.api.errors import CollectionTooNew, MethodRefused, ResourceNotFound, RoutingError
from baremetal_sched.errors import NotFoundError
from baremetal_sched.web.http_errors import MethodNotAllowed, TooNew
from baremetal_sched.web.route import Absence

#: Since when there are the collections that say what they are.
RUNBOOKS_SINCE = 92


class _NotYet(NotFoundError):
    """The route exists in a later microversion."""


def collection(method: str, version: int) -> Exception:
    """The whole collection is not supported."""
    return CollectionTooNew()


def resource(method: str, version: int) -> Exception:
    """A 404 without an explanation."""
    return ResourceNotFound()


def allocation_of_node(method: str, version: int) -> Exception:
    """The same answer as for an unknown path."""
    return RoutingError(404, "The API version does not allow allocations")


def too_new(since: int) -> Absence:
    """The error names the microversion that has it: 406."""
    return lambda method, version: TooNew(since=f"1.{since}")


def endpoint(since: int) -> Absence:
    """The error names the microversion that has it: 404."""
    return lambda method, version: _NotYet(
        message=f"This endpoint is supported starting with the API version 1.{since}"
    )


def named(name: str, since: int) -> Absence:
    """A collection, of 1.``since``, that says what it is: not found to a GET, not allowed to other methods."""

    def absent(method: str, version: int) -> Exception:
        message = _not_allowed(name, since, version)
        return _NotYet(message=message) if method == "GET" else MethodRefused(message=message)

    return absent


def routed(name: str, since: int) -> Absence:
    """The same as errors of routing."""
    return lambda method, version: RoutingError(404 if method == "GET" else 405, _not_allowed(name, since, version))


def runbook_traits(method: str, version: int) -> Exception:
    """Runbooks are older than their traits."""
    if version >= RUNBOOKS_SINCE:
        return RoutingError(404, "The API version does not allow runbook traits")
    return routed("runbooks", RUNBOOKS_SINCE)(method, version)


def traits(method: str, version: int) -> Exception:
    """Each method that changes traits of a node has its own way."""
    return ResourceNotFound() if method == "DELETE" else MethodNotAllowed(method=method, allowed=[])


def _not_allowed(name: str, since: int, version: int) -> str:
    return f"The API version does not allow {'updating ' if version >= since else ''}{name}"
