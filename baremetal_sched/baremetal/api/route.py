"""A line of the bare metal API's route table."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from flask import Response

from baremetal_sched.web import route
from baremetal_sched.web.call import Call

_BEHIND_A_NODE = "/v1/nodes/<ident>/"

#: Called as ``guard(call, session, rule, **path parameters)``, before the view and in its transaction. It raises the
#: error for callers without permission.
Guard = Callable[..., None]


@dataclass(frozen=True)
class BaremetalRoute(route.Route):
    """A route of this API.

    ``ident_is_argument``: Ironic treats the node as an argument, not as a part of the route. An invalid name of a node
    is answered with an error of the view then, and with a routing error elsewhere.

    ``guard`` finds the subject of the request, and checks whether ``policy`` gives the caller access to it; without
    one, the rule depends on the caller alone.
    """

    ident_is_argument: bool = field(default=False, kw_only=True)
    guard: Guard | None = field(default=None, kw_only=True)


def guarded(route: BaremetalRoute) -> BaremetalRoute:
    """Return the route with a view that asks the guard first, if there is one."""
    guard, rule, view = route.guard, route.policy, route.view
    if guard is None or rule is None:
        return route

    @wraps(view)
    def guarded_view(call: Call, session: Any, **path: str) -> Response:
        if not call.caller.unrestricted:
            guard(call, session, rule, **path)
        return view(call, session, **path)

    return replace(route, view=guarded_view, checks_policy=True)


def sub_collections(routes: Iterable[route.Route]) -> frozenset[str]:
    """Return the names that follow a node in a path. A node with one of these names cannot be addressed by it."""
    behind = (route.path.removeprefix(_BEHIND_A_NODE) for route in routes if route.path.startswith(_BEHIND_A_NODE))
    return frozenset(path.partition("/")[0] for path in behind)
