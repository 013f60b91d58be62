"""Answers to tenants do not depend on the nodes of others: every route answers them the same with and without these.

Everything that can be asked is asked before and after others get machines. The whole answer is compared: no name, no
count and no suggestion may have changed. To those who see everything each route answers something else afterwards, so
each of them could tell.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.db.models import Domain
from baremetal_sched.scheduling.api.routes import ROUTES as API
from baremetal_sched.ui.routes import ROUTES as PAGES
from baremetal_sched.web.route import Route
from tests.functional.compute.world import ZEROS
from tests.service import ADMINISTRATOR, Service

ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
CAROL = {"X-Auth-Token": "carol:c", "X-Roles": "reader"}
TENANTS = {"with nodes": ANNA, "without nodes": CAROL, "without a project": {"X-Auth-Token": "x", "X-Roles": "reader"}}
PLACEMENT_ADMIN = {"X-Auth-Token": "admin:operators", "X-Roles": "admin"}
EVERYONE = {
    "admin": ADMINISTRATOR,
    "service": {"X-Auth-Token": "nova:service", "X-Roles": "service"},
    "system reader": {"X-Auth-Token": "s", "X-Roles": "reader", "OpenStack-System-Scope": "all"},
}

#: The nodes of others, and what they have.
FOREIGN = "aaaaaaaa-0000-4000-8000-00000000f0e1"
FOREIGN_NODES = [FOREIGN, "zulu-1", "zulu-2"]
CHILD = "aaaaaaaa-0000-4000-8000-00000000f0e2"
FOREIGN_DOMAIN = "aaaaaaaa-0000-4000-8000-00000000f0e3"
OWN_DOMAIN = "aaaaaaaa-0000-4000-8000-00000000f0e4"
OWN_NODES = ["own", "leased", "of-nobody"]

#: What others have, and what is nearly the same: neither may be told from what there is not.
TRAITS = ["CUSTOM_ZULU", "CUSTOM_ZULUU", "CUSTOM_OWNN", "CUSTOM_OWN", "HW_CPU_X86_VMX"]
CLASSES = ["CUSTOM_ZULU_CLASS", "CUSTOM_ZULU_CLAS", "CUSTOM_GOLD", "CUSTOM_GOLDD"]
OWN_TRAIT = "CUSTOM_OWN"

QUERIES = [
    *(f"resources=CUSTOM_GOLD:1&required={trait}" for trait in TRAITS),
    *(f"resources={name}:1" for name in CLASSES),
    "resources=CUSTOM_GOLD:1&required=!CUSTOM_ZULU&wanted=9",
    "resources=CUSTOM_GOLD:1&required=in:CUSTOM_ZULU,CUSTOM_ZULUU",
    "resources=CUSTOM_GOLD:1&root_required=CUSTOM_ZULUU",
    f"resources=CUSTOM_GOLD:1&in_tree={FOREIGN}",
    f"resources=CUSTOM_GOLD:1&member_of={CHILD}",
    "resources1=CUSTOM_GOLD:1&resources2=CUSTOM_ZULU_CLASS:1&required2=CUSTOM_ZULUU&group_policy=none",
    "resources=CUSTOM_GOLD:1,CUSTOM_CARD:1",
]


def flavors() -> Iterator[dict[str, Any]]:
    gold = {"vcpus": 1, "ram": 1, "disk": 1}
    for specs in (
        *({"resources:CUSTOM_GOLD": "1", f"trait:{trait}": "required"} for trait in TRAITS),
        *({f"resources:{name}": "1"} for name in CLASSES),
        {"resources:CUSTOM_GOLD": "1", "capabilities:boot_mode": "zulu"},
    ):
        yield {"flavor": {**gold, "extra_specs": {**specs, **ZEROS}}}


def allocations() -> Iterator[dict[str, Any]]:
    yield from ({"resource_class": name} for name in ("gold", "goldd", "zulu-class", "zulu-clas"))
    yield from ({"resource_class": "gold", "traits": [trait]} for trait in TRAITS)
    yield from ({"resource_class": "gold", "candidate_nodes": [node]} for node in FOREIGN_NODES)


def capacity() -> Iterator[str]:
    keys = ["resource_class", "conductor_group", "driver", "owner", "lessee", "shard", "trait:CUSTOM_ZULU"]
    yield from (f"group_by={key}" for key in ["", *keys, ",".join(keys)])
    values = {
        "resource_class": "zulu-class", "conductor_group": "zulu-rack", "owner": "zulu-project", "at_least": "99",
        "lessee": "zulu-project", "shard": "zulu-shard", "driver": "fake-hardware", "traits": "CUSTOM_ZULU",
        "not-traits": "CUSTOM_ZULU", "traits-any": "CUSTOM_ZULU,CUSTOM_OWN", "not-traits-any": "CUSTOM_ZULU,CUSTOM_X",
    }  # fmt: skip
    yield "group_by=domain:row"
    yield from (f"group_by=resource_class&{name}={value}" for name, value in values.items())


#: Queries, or bodies, of routes that are not just asked.
ASKED: dict[tuple[str, str], list[Any]] = {
    ("POST", "/v1/requests"): [*flavors()],
    ("GET", "/v1/capacity"): [*capacity()],
    ("GET", "/v1/groups"): ["", "conductor_group=zulu-rack", "conductor_group=own-rack"],
    ("GET", "/v1/explanations"): QUERIES,
    ("POST", "/v1/explanations"): [*({"query": query} for query in QUERIES[:3]), *flavors(), *allocations()],
    ("GET", "/find"): ["class=goldd", *(f"class={name}&required={trait}" for name in CLASSES for trait in TRAITS[:2])],
    ("GET", "/confirm"): [f"action=hold&item={FOREIGN}", f"action=cancel&item={CHILD}"],
    ("GET", "/nodes"): [
        "",
        "resource_class=zulu-class",
        "conductor_group=zulu-rack",
        "traits=CUSTOM_ZULU",
        "resource_class=goldd",
        "sort_key=owner",
        "offer=free",
        "served=true",
    ],
    ("GET", "/search"): ["q=zulu", "q=zulu-1", f"q={FOREIGN}", f"q={CHILD}", "q=own", "q=o"],
    ("GET", "/v1/explanations/nodes/<node>"): QUERIES[:6],
    ("POST", "/v1/explanations/nodes/<node>"): [{"query": QUERIES[0]}, *flavors()],
    ("GET", "/v1/holds"): ["", "owner=zulu-project", "resource_class=zulu-class", "active=true"],
    ("POST", "/v1/holds"): [
        {"type": "window", "dry_run": True, "filter": chosen}
        for chosen in ({"nodes": ["zulu-1"]}, {"resource_class": "zulu-class"}, {"resource_class": "gold"})
    ],
}
#: What the parameters of paths may be.
NAMES = {
    "<node>": [*FOREIGN_NODES, *OWN_NODES],
    "<ident>": [*FOREIGN_NODES, *OWN_NODES],
    "<path:name>": ["zulu-rack", "own-rack"],
    "<name>": [],
    "<domain>": [FOREIGN_DOMAIN, OWN_DOMAIN],
    "<booking>": [FOREIGN],
    "<uuid>": [FOREIGN],
}
#: They say nothing of nodes.
#: Pages of what nodes alone do not change.
WITHOUT_NODES = (
    *("/claims", "/events", "/webhooks", "/servers", "/allocations", "/flavors", "/images"),
    *("/bookings", "/bookings/<uuid>", "/v1/bookings", "/v1/bookings/<booking>"),
)

PUBLIC = [route for route in (*API, *PAGES) if route.public]
#: Holds of one node are not for tenants who do not see it: ``test_holds.py`` has them.
HOLD = "/v1/nodes/<node>/holds"
#: Claims change what others get; ``test_claims.py`` has what tenants hear of those of others. The page of who waits
#: has no nodes.
CLAIMS, WAITING = "/v1/claims", "/waiting"
#: Only administrators change domains: ``test_domains.py``.
DOMAINS = "/v1/domains"
#: Their numbers count what others do; ``test_events.py`` has what tenants hear.
EVENTS = "/v1/events"
#: Tenants make none, and hear of their own only: ``test_webhooks.py``.
WEBHOOKS = "/v1/webhooks"
#: Tenants make them of machines that they may use: ``test_booking_api.py``.
BOOKINGS = "/v1/bookings"
ROUTES = [
    *(
        ("/scheduling", route)
        for route in API
        if not (route.public or route.path.startswith((CLAIMS, HOLD, EVENTS, WEBHOOKS)))
        and (route.method == "GET" or not route.path.startswith((DOMAINS, BOOKINGS)))
    ),
    *(("/ui", route) for route in PAGES if not route.public and route.method == "GET" and route.path != WAITING),
]


def paths(route: Route) -> list[str]:
    """All paths of the route. Raises KeyError for a parameter that is not known here."""
    found = [route.path]
    for parameter in [part for part in route.path.split("/") if part.startswith("<")]:
        found = [path.replace(parameter, name) for path in found for name in NAMES[parameter]]
    return found


def answers(service: Service, mount: str, route: Route, headers: dict[str, str], most: int) -> dict[str, str]:
    """The answers, ``most`` for each path, by request."""
    found = {}
    for path in paths(route):
        for asked in ASKED.get((route.method, route.path), [""])[:most]:
            more: dict[str, Any] = {"headers": headers, "expect_errors": True}
            if route.method == "GET":
                response = service.http.get(f"{mount}{path}?{asked}", **more)
            else:
                response = service.http.post_json(f"{mount}{path}", asked or {}, **more)
            assert response.status_int in (200, 303, 400, 403, 404), response.text
            said = response.headers.get("Location", "") + response.text
            # What a page says of times changes by itself.
            found[f"{route.method} {path} {asked}"] = re.sub("<time [^>]*>[^<]*</time>", "", said)
    return found


def add_domain(service: Service, uuid: str, name: str, *nodes: str) -> None:
    new = {"name": name, "level": name.partition("-")[2]}
    made = service.http.post_json("/scheduling/v1/domains", new, headers=ADMINISTRATOR, status=201).json["uuid"]
    known = update(Domain).where(Domain.uuid == made).values(uuid=uuid)
    service.database.change(lambda connection: connection.execute(known))
    for node in nodes:
        service.http.put(f"/scheduling/v1/domains/{uuid}/nodes/{node}", headers=ADMINISTRATOR, status=204)


def add_own_nodes(service: Service) -> None:
    service.add_conductor("c1")
    service.add_conductor("c2", "own-rack")
    service.add_node("own", owner="a", traits=(OWN_TRAIT,), conductor_group="own-rack")
    service.add_node("leased", owner="landlord", lessee="a", traits=("HW_CPU_X86_VMX",))
    service.add_node("of-nobody")
    add_domain(service, OWN_DOMAIN, "own-row", "own", "of-nobody")


def add_foreign_nodes(service: Service) -> None:
    service.add_conductor("zulu-host", "zulu-rack")
    fields: dict[str, Any] = {"owner": "zulu-project", "shard": "zulu-shard"}
    nodes = [
        service.add_node("zulu-1", traits=("CUSTOM_ZULU", "CUSTOM_OWNN"), conductor_group="zulu-rack", **fields),
        service.add_node("zulu-2", resource_class="zulu-class", lessee="zulu-project", **fields),
        service.add_node("zulu-3", resource_class="goldd", traits=("CUSTOM_ZULUU",), **fields),
    ]
    node = {"driver": "fake-hardware", "name": "zulu-4", "uuid": FOREIGN, "owner": "zulu-project"}
    service.baremetal("POST", "/nodes", node)
    service.set_columns(nodes[2], conductor_group="unserved-zulu", maintenance=True)
    hold = {"type": "window", "reason": "zulu-reason"}
    service.http.post_json(f"/scheduling/v1/nodes/{nodes[0]}/holds", hold, headers=ADMINISTRATOR, status=201)
    add_domain(service, FOREIGN_DOMAIN, "zulu-row", "zulu-1")
    service.http.put(f"/scheduling/v1/domains/{OWN_DOMAIN}/nodes/zulu-2", headers=ADMINISTRATOR, status=204)
    provider = {"name": "zulu-card", "uuid": CHILD, "parent_provider_uuid": nodes[1]}
    service.placement("POST", "/resource_providers", provider, headers=PLACEMENT_ADMIN)


def test_every_route_is_asked() -> None:
    for _, route in ROUTES:
        assert paths(route), route
        assert route.method == "GET" or (route.method, route.path) in ASKED, route
    of_sessions = {"/login", "/logout", "/session"}  # they show nobody but the caller
    assert {route.path for route in PUBLIC} <= {"/", "/v1", "/v1/openapi.json", "/static/<name>"} | of_sessions


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    # However long the machine takes, the conductors live.
    with Service(database_url, api={"auth_strategy": "noauth2"}, conductor={"heartbeat_timeout": 3600}) as running:
        add_own_nodes(running)
        yield running


@pytest.mark.ci
@pytest.mark.sqlite_only
def test_tenants_hear_the_same_with_and_without_the_nodes_of_others(service: Service) -> None:
    callers = {**TENANTS, **EVERYONE}
    most = {who: 100 if headers is ANNA else 2 for who, headers in callers.items()}
    before = {
        (who, mount, route.method, route.path): answers(service, mount, route, headers, most[who])
        for who, headers in callers.items()
        for mount, route in ROUTES
    }
    add_foreign_nodes(service)
    for mount, route in ROUTES:
        changed = set()
        for who, headers in callers.items():
            now = answers(service, mount, route, headers, most[who])
            was = before[who, mount, route.method, route.path]
            changed |= {(who, asked) for asked, said in now.items() if said != was[asked]}
        assert not {(who, asked) for who, asked in changed if who in TENANTS}
        # One who sees all is told: of some pages, those of the bare metal API only.
        assert changed or route.path in WITHOUT_NODES, route
