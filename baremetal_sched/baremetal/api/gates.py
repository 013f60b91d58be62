"""What a request hears about what its microversion does not have yet: each collection has its own way."""

from baremetal_sched.baremetal.api.errors import CollectionTooNew, MethodRefused, RoutingError
from baremetal_sched.errors import NotFoundError
from baremetal_sched.web.application import Route
from baremetal_sched.web.problems import PathNotFound

#: Collections that say what they are, and since when they are there. To a GET they are not found, other methods are not
#: allowed.
_NAMES = {
    "allocations": ("allocations", 52),
    "deploy_templates": ("deploy templates", 55),
    "shards": ("shards", 82),
    "runbooks": ("runbooks", 92),
    "inspection_rules": ("inspection rules", 96),
}
#: Those of them that Ironic's routing refuses, not the controller.
_ROUTED = ("deploy_templates", "runbooks")


class _NotYet(NotFoundError):
    template = "{message}"


def refusal(route: Route, version: int) -> Exception:
    """The error for a request of microversion 1.``version``, which is older than ``route``."""
    _, _, collection, *rest = route.path.split("/")
    if collection == "nodes" and rest[-1] == "allocation":
        return RoutingError(404, "The API version does not allow allocations")
    if (collection == "nodes" and rest[1] != "volume") or (collection == "volume" and rest):
        return PathNotFound()
    if collection not in _NAMES:
        return CollectionTooNew()
    name, since = _NAMES[collection]
    if collection == "runbooks" and version >= since:
        return RoutingError(404, "The API version does not allow runbook traits")
    message = f"The API version does not allow {'updating ' if version >= since else ''}{name}"
    if collection in _ROUTED:
        return RoutingError(404 if route.method == "GET" else 405, message)
    return _NotYet(message=message) if route.method == "GET" else MethodRefused(message=message)
