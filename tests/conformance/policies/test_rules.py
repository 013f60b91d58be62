# tier: first
"""The rule that our route table names for a route is one that Ironic documents for that request."""

import re

from baremetal_sched.baremetal.api.routes import ROUTES
from baremetal_sched.web.route import Route
from tests.conformance.policies.cases import OTHERWISE, is_refusal
from tests.conformance.policies.facts import rules

#: Requests that Ironic checks a rule for without documenting it, by how its code does it.
UNDOCUMENTED: dict[tuple[str, str], str] = {
    # What names the node elsewhere is the same request.
    ("GET", "/nodes/"): "baremetal:node:get",
    ("GET", "/nodes/validate"): "baremetal:node:validate",
    # Things below another one are a list of these.
    ("GET", "/nodes/{}/children"): "baremetal:node:list_all",
    **{
        ("GET", f"/{above}/{{}}/{thing}s{detail}"): f"baremetal:{thing}:list_all"
        for above, thing in (("nodes", "port"), ("nodes", "portgroup"), ("portgroups", "port"))
        for detail in ("", "/detail")
    },
    ("GET", "/chassis/{}/nodes"): "baremetal:node:list_all",
    ("GET", "/chassis/{}/nodes/detail"): "baremetal:node:list_all",
    # The traits of a runbook are part of it.
    ("GET", "/runbooks/{}/traits"): "baremetal:runbook:get",
    **{
        (method, f"/runbooks/{{}}/traits{one}"): "baremetal:runbook:update"
        for method in ("PUT", "DELETE")
        for one in ("", "/{}")
    },
}


def _shape(path: str) -> str:
    return re.sub(r"<\w+>", "{}", path.removeprefix("/v1"))


def _documented(method: str, path: str) -> set[str]:
    # A vendor's method is named in the query string in the documentation.
    paths = {path, path.removesuffix("/{}")} if "/vendor_passthru/" in path else {path}
    # An indicator is named together with its component here and in the code of Ironic.
    paths |= {path + "/{}"} if path.endswith("/indicators/{}") else set()
    return {name for name, rule in rules().items() for each in paths if (method, each) in rule.operations}


def test_rules_of_routes_are_documented_for_them() -> None:
    """And they are rules of Ironic."""
    asked = [route for route in ROUTES if not route.public and not is_refusal(route)]
    assert len(asked) > 100
    wrong = [route for route in asked if route.policy not in rules().keys() & _fitting(route)]
    assert [(route.method, route.path, route.policy, _fitting(route)) for route in wrong] == []


def _fitting(route: Route) -> set[str]:
    path = _shape(route.path)
    fitting = _documented(route.method, path) | {UNDOCUMENTED.get((route.method, path), "")}
    return fitting | {OTHERWISE.get(name, "") for name in fitting}


def test_undocumented_requests_are_not_documented_after_all() -> None:
    for (method, path), rule in UNDOCUMENTED.items():
        assert rule in rules()
        assert rule not in _documented(method, path), f"{method} {path}"
