"""How lines of the bare metal API's route table are written: the rule is named without its prefix ``baremetal:``."""

from collections.abc import Iterator
from dataclasses import replace
from functools import wraps
from typing import Any

from flask import Response

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources.collection import evaluate_patch
from baremetal_sched.baremetal.api.route import BaremetalRoute, Guard
from baremetal_sched.errors.baremetal import ChassisNotFound, NoValidHost
from baremetal_sched.web.route import View

#: Most bytes in a body with a config drive, or with all that an agent found: nearly what MariaDB takes in one packet
#: by default.
LARGE_BODY_SIZE = 15 * 2**20

#: A missing thing that is named besides what the path is about is the client's mistake.
RECODED = {NoValidHost: 400, ChassisNotFound: 400}


def read(path: str, view: View, rule: str, guard: Guard | None = None, since: int = 0, **facts: Any) -> BaremetalRoute:
    """GET, which changes nothing."""
    return BaremetalRoute("GET", path, view, since, policy=f"baremetal:{rule}", guard=guard, **facts)


def write(
    method: str, path: str, view: View, rule: str, guard: Guard | None = None, since: int = 0, **facts: Any
) -> BaremetalRoute:
    """A request that may change something."""
    facts = {"transaction": "write", **facts}
    return BaremetalRoute(method, path, view, since, policy=f"baremetal:{rule}", guard=guard, **facts)


def patch(path: str, view: View, rule: str, guard: Guard | None = None, since: int = 0, **facts: Any) -> BaremetalRoute:
    """PATCH, whose result is worked out before anything is locked, if that takes long."""
    return write("PATCH", path, view, rule, guard, since, prepare=evaluate_patch, **facts)


def after_access(route: BaremetalRoute) -> tuple[BaremetalRoute, BaremetalRoute]:
    """The route, and for older microversions one that first checks access, as Ironic does, and then raises the error of
    ``absent``."""

    @wraps(route.view, assigned=("__module__",), updated=())
    def refuse_version(call: BaremetalCall, session: None, **path: str) -> Response:
        raise route.absent(route.method, call.version)

    older = replace(route, since=0, until=route.since - 1, view=refuse_version, transaction="read", prepare=None)
    return route, older


def any_method(path: str, view: View, rule: str, guard: Guard | None = None) -> list[BaremetalRoute]:
    """Every method: which ones there are is up to the vendor."""
    return [write(method, path, view, rule, guard) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")]


def every(*routes: BaremetalRoute, **facts: Any) -> Iterator[BaremetalRoute]:
    """Yield ``routes`` with these facts in addition."""
    return (replace(route, **facts) for route in routes)
