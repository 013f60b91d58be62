"""The matrix: requests to every route of the bare metal API, and what must come of each."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from baremetal_sched.baremetal.api.alternatives import alternatives
from baremetal_sched.baremetal.api.route import BaremetalRoute
from baremetal_sched.baremetal.api.routes import ALTERNATIVES, ROUTES
from tests.conformance.policies import bodies
from tests.conformance.policies.callers import KINDS, MINE, NOTHING, Caller
from tests.conformance.policies.facts import rules

LATEST = 115
ALLOWED, UNAUTHENTICATED, FORBIDDEN, UNSEEN = "allowed", "401", "403", "404"
#: The rule that is asked if the first one says no.
OTHERWISE: Mapping[str, str] = {
    "baremetal:node:create": "baremetal:node:create:self_owned_node",
    "baremetal:node:delete": "baremetal:node:delete:self_owned_node",
    **{f"baremetal:{thing}:list_all": f"baremetal:{thing}:list" for thing in ("node", "port", "portgroup", "volume")},
    **{f"baremetal:{thing}:list_all": f"baremetal:{thing}:list" for thing in ("allocation", "runbook")},
}
#: Lists of what everyone has some of: the rule of all, or that of one's own.
_ALL = {narrow: wide for wide, narrow in OTHERWISE.items()}
#: Views that answer every caller with the same error: nothing is behind them.
_REFUSALS = {
    *("refuse_creation", "refuse_list", "refuse_one", "refuse_method", "refuse_beat"),
    *("refuse_version", "refuse_target_raid_config"),
}
#: Where parts of nodes are made.
_PARTS = ("/v1/ports", "/v1/portgroups", "/v1/volume/connectors", "/v1/volume/targets")
#: What belongs to a node, and is seen by those who see the node.
_OF_NODES = {"port", "portgroup", "connector", "volume_target"}


@dataclass(frozen=True)
class Case:
    """A request. ``about``: what it names ("node", "port", …), or None; ``rules``: all of them must be met."""

    route: BaremetalRoute
    path: str
    about: str | None
    rules: tuple[str, ...]
    query: str = ""
    body: Any = None
    #: Of several requests to one route: what this one is about.
    part: str = ""

    @property
    def name(self) -> str:
        """Return how the request is called in lists of differences."""
        return f"{self.route.method} {self.route.path}{self.part and f' {self.part}'}"

    @property
    def version(self) -> int:
        """Return the minor part of the newest microversion that has the route."""
        return LATEST if self.route.until is None else self.route.until

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of things for which the request is sent."""
        return (NOTHING,) if self.about is None else tuple(KINDS)

    def filled(self, known: Mapping[str, str]) -> "Case":
        """Return the request with what ``known`` has in place of ``{node}`` and so on."""

        def fill(text: str) -> str:
            return re.sub(r"\{(\w+)\}", lambda match: known.get(match[1], match[0]), text)

        body = None if self.body is None else json.loads(fill(json.dumps(self.body)))
        return replace(self, path=fill(self.path), query=fill(self.query), body=body)

    def expected(self, caller: Caller, kind: str) -> str:
        """Return what comes of it: ``allowed``, or the status of the refusal."""
        if self.route.public:
            return ALLOWED
        if caller.is_anonymous:
            return UNAUTHENTICATED
        seen = _visibility(self)
        if seen is not None and not _met(seen, caller, kind):
            return UNSEEN
        if (self.route.method, self.route.path) == ("GET", "/v1/allocations") and caller.project == MINE:
            # Whoever lists their own must be allowed to see each of them.
            return ALLOWED if _met("baremetal:allocation:get", caller, "owned") else FORBIDDEN
        return ALLOWED if all(_met(rule, caller, kind) for rule in self.rules) else FORBIDDEN


def _visibility(case: Case) -> str | None:
    """Return the rule that decides whether the caller may know of what is named. Without it the answer is 404."""
    if case.route.method == "POST" and case.route.path in _PARTS:
        return None  # what is made for a node: the rule of the new thing alone
    if case.route.path == "/v1/heartbeat":
        return None  # whoever may send heartbeats at all: only the agent's token is looked at
    if case.about == "node" or case.about in _OF_NODES:
        return "baremetal:node:get"
    return "baremetal:allocation:get" if case.about == "allocation" else None


def _met(rule: str, caller: Caller, kind: str) -> bool:
    known = rules()
    return any(known[name].allows(caller, kind) for name in (rule, OTHERWISE.get(rule), _ALL.get(rule)) if name)


def cases() -> Iterator[Case]:
    """Return the requests to every route, and to its other addresses."""
    for route in ROUTES:
        for address in (route, *alternatives([route])):
            yield from _requests(route, address)


def refused() -> Iterator[Case]:
    """Return requests to the routes that refuse every caller: only authentication comes before."""
    for route in (*ROUTES, *ALTERNATIVES):
        if is_refusal(route):
            yield Case(route, _path(route.path, None), None, ())


def is_refusal(route: BaremetalRoute) -> bool:
    """Return whether the view of a route refuses everyone."""
    return _function(route) in _REFUSALS


def _function(route: BaremetalRoute) -> str:
    if route.view.__name__ != "named_view":
        return route.view.__name__
    (inner,) = (cell.cell_contents for cell in route.view.__closure__ or () if callable(cell.cell_contents))
    return str(inner.__name__)


def _requests(route: BaremetalRoute, address: BaremetalRoute) -> Iterator[Case]:
    if is_refusal(route):
        return
    key = route.method, route.path
    body, query = bodies.BODIES.get(key), bodies.QUERIES.get(key, "")
    about = _about(route)
    named = () if route.policy is None else (route.policy,)
    if "<argument>" in address.path:
        (value,) = body.values()
        yield Case(address, _path(address.path, str(value)), about, named)
        return
    path = _path(address.path, None)
    if address is not route and "<" in route.path and route.path.count("<") > address.path.count("<"):
        query = f"{_argument(route)}={_last_parameter(route)}"
    if route.path.endswith("vendor_passthru"):
        query = "&".join(filter(None, (query, "method=first_method")))
    case = Case(address, path, about, named, query, body)
    yield case
    if address is not route:
        return
    if key == ("PATCH", "/v1/nodes/<ident>"):
        yield from _patches(case, bodies.NODE_PATCHES)
    elif key == ("PATCH", "/v1/runbooks/<ident>"):
        yield from _patches(case, bodies.RUNBOOK_PATCHES)
    elif key == ("PUT", "/v1/nodes/<ident>/states/provision"):
        for arguments, rule in bodies.PROVISION:
            yield replace(case, body=arguments, rules=(*named, rule), part=arguments["target"])


def _patches(case: Case, parts: tuple[tuple[str, Any, str], ...]) -> Iterator[Case]:
    for path, value, rule in parts:
        operation = {"op": "add", "path": path, "value": value}
        yield replace(case, body=[operation], rules=(rule,), part=f"{path}={json.dumps(value)}")


def _about(route: BaremetalRoute) -> str | None:
    first = route.path.split("/")[2:5]
    if route.path == "/v1/nodes/" or route.path == "/v1/nodes/validate":
        return "node"
    if route.method == "POST" and route.path in _PARTS:
        return "node"
    if route.path == "/v1/nodes/<ident>/volume":
        return None  # links only: Ironic does not look at the node
    for before, parameter in pairwise(first):
        if parameter.startswith("<"):
            thing = bodies.PARAMETERS[before].strip("{}")
            return thing if thing in _OF_NODES | {"node", "allocation", "runbook"} else None
    return None


def _path(path: str, argument: str | None) -> str:
    parts = path.split("/")
    for index, part in enumerate(parts):
        if part == "<argument>":
            parts[index] = quote(str(argument))
        elif part.startswith("<"):
            if part == "<name>" and "drivers" in parts[:index]:
                parts[index] = "fake-hardware"
                continue
            before = next(each for each in reversed(parts[:index]) if each in bodies.PARAMETERS)
            parts[index] = "{node}" if part == "<ident>" and "nodes" in parts[:index] else bodies.PARAMETERS[before]
    return "/".join(parts)


_ARGUMENTS = {
    "vif": "vif_id",
    "port": "port_ident",
    "portgroup": "portgroup_ident",
    "connector": "connector_uuid",
    "volume_target": "target_uuid",
    "chassis": "chassis_uuid",
    "allocation": "allocation_ident",
    "deploy_template": "template_ident",
    "runbook": "runbook_ident",
    "inspection_rule": "inspection_rule_uuid",
}


def _argument(route: BaremetalRoute) -> str:
    """Return the argument that names what ``route`` is about at the address of its collection."""
    thing = _last_parameter(route).strip("{}")
    if route.path.endswith("<vif>"):
        return "vif_id"
    return "port_uuid" if (thing, route.method) == ("port", "DELETE") else _ARGUMENTS.get(thing, "node_ident")


def _last_parameter(route: BaremetalRoute) -> str:
    path = _path(route.path, None).split("/")
    place = max(index for index, part in enumerate(route.path.split("/")) if part.startswith("<"))
    if _BELOW_NODE.match(route.path) and not route.path.endswith("<vif>"):
        return "{node}"
    return path[place]


_BELOW_NODE = re.compile(r"/v1/nodes/<ident>/")
