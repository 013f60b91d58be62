# tier: first
"""Who may do what to which node: 404 for what a project may not see, 403 for what it may see but not do."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from webtest import TestResponse

from baremetal_sched.baremetal.api.authorization import access, field_rules
from baremetal_sched.baremetal.api.routes import ALTERNATIVES, ROUTES
from tests.built_once import built_once
from tests.restored import Rows
from tests.service import LATEST, Service, fault

MANAGERS = "admin,manager,member,reader"
MEMBERS = "member,reader"

#: Guards of routes that are about a node.
_OF_NODES = (
    access.node,
    access.node_and_list,
    access.removable_node,
    field_rules.patched_node,
    field_rules.provisioned_node,
)


@pytest.fixture
def secured(database_url: str) -> Iterator[Service]:
    """The service with one node each that ``owners`` own, that ``others`` own, and that nobody owns; ``tenants`` lease
    the first."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("host")
        built_once(service, build)
        yield service


def build(service: Service) -> None:
    for name, fields in (("owned", {"owner": "owners", "lessee": "tenants"}), ("foreign", {"owner": "others"})):
        service.add_node(name, **fields)
    service.add_node("ownerless")


def as_project(
    service: Service, project: str, roles: str, method: str, path: str, body: Any = None, status: int | None = None
) -> TestResponse:
    headers = {"X-Auth-Token": f"user:{project}", "X-Roles": roles, "OpenStack-System-Scope": ""}
    return service.baremetal(method, path, body, headers=headers, status=status)


def test_every_route_names_a_policy_or_is_public() -> None:
    assert [route.path for route in (*ROUTES, *ALTERNATIVES) if route.policy is None and not route.public] == []


def test_owner_sees_and_changes_the_node(secured: Service) -> None:
    as_project(secured, "owners", "reader", "GET", "/nodes/owned")
    patch = [{"op": "add", "path": "/extra/rack", "value": "7"}]
    as_project(secured, "owners", MEMBERS, "PATCH", "/nodes/owned", patch)
    as_project(secured, "owners", "reader", "PATCH", "/nodes/owned", patch, status=403)


def test_foreign_node_is_answered_like_an_unknown_one(secured: Service, row: Rows) -> None:
    for path in ["", "/states", "/traits", "/history", "/ports", "/vifs", "/volume/targets"]:
        for node in ["foreign", "ownerless"]:
            with row(path, node):
                foreign = as_project(secured, "owners", MANAGERS, "GET", f"/nodes/{node}{path}", status=404)
                unknown = as_project(secured, "owners", MANAGERS, "GET", f"/nodes/unknown{path}", status=404)
                assert fault(foreign).replace(node, "unknown") == fault(unknown)


def test_a_list_has_no_allocation_that_the_caller_may_not_see(secured: Service) -> None:
    """As with Ironic: a service in a project may list its allocations, but see none of them."""
    as_project(secured, "owners", "service", "GET", "/allocations")
    secured.baremetal("POST", "/allocations", {"resource_class": "gold", "owner": "owners"})
    secured.baremetal("POST", "/allocations", {"resource_class": "gold", "owner": "others"})
    refused = as_project(secured, "owners", "service", "GET", "/allocations", status=403)
    assert "baremetal:allocation:get" in fault(refused)
    assert as_project(secured, "owners", "service", "GET", "/allocations?state=error").json["allocations"] == []
    assert len(as_project(secured, "owners", "reader", "GET", "/allocations").json["allocations"]) == 1


def test_foreign_node_is_at_no_address(secured: Service) -> None:
    """Whatever the route, and wherever it takes the name of the node from: the path, the query string or the body."""
    asked = 0
    for route in (*ROUTES, *ALTERNATIVES):
        if route.guard not in _OF_NODES:
            continue
        path = re.sub("<[a-z]+>", "x", route.path.removeprefix("/v1").replace("<ident>", "foreign"))
        path += "/" if path.endswith("/") else ""  # one at the end is taken off
        query = "?vif_id=x" if "<ident>" in route.path else "?node_ident=foreign"
        body = [] if route.method == "PATCH" and route.guard is field_rules.patched_node else None
        version = f"1.{route.until}" if route.until else LATEST
        headers = {"X-Auth-Token": "user:owners", "X-Roles": MANAGERS, "OpenStack-System-Scope": ""}
        answer = secured.baremetal(route.method, path + query, body, version=version, headers=headers, status=404)
        assert "foreign could not be found" in fault(answer), route
        asked += 1
    assert asked > 100


def test_rule_that_a_route_is_public_can_be_named_by_operators(database_url: str, tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text('"baremetal:driver:ipa_lookup": "rule:public_api"\n"baremetal:node:ipa_heartbeat": "!"\n')
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy={"policy_file": str(rules)}) as service:
        service.http.get("/baremetal/v1/lookup", headers={"X-OpenStack-Ironic-API-Version": LATEST}, status=400)
        service.baremetal("POST", "/heartbeat/x", {"callback_url": "http://agent"}, status=403)


def test_refusal_names_the_rule(secured: Service) -> None:
    answer = as_project(secured, "tenants", "reader", "GET", "/nodes/owned/history", status=403)
    assert fault(answer) == "Access was denied to the following resource: baremetal:node:history:get"


def test_system_reader_sees_every_node_and_changes_none(secured: Service) -> None:
    reader = {"X-Roles": "reader"}
    for node in ("owned", "foreign", "ownerless"):
        secured.baremetal("GET", f"/nodes/{node}", headers=reader)
        secured.baremetal("DELETE", f"/nodes/{node}", headers=reader, status=403)


@pytest.mark.parametrize(
    ("path", "body", "version", "status"),
    [
        ("boot_mode", {"target": "uefi"}, "1.75", 404),
        ("secure_boot", {"target": True}, "1.75", 404),
        ("raid", {}, "1.11", 406),
    ],
)
def test_access_comes_before_the_microversion(
    secured: Service, path: str, body: Any, version: str, status: int
) -> None:
    def ask(roles: str, status: int) -> None:
        headers = {"X-Roles": roles, "X-Auth-Token": "someone"}
        for address in (f"/nodes/owned/states/{path}", f"/nodes/states/{path}/owned"):
            secured.baremetal("PUT", address, body, version=version, headers=headers, status=status)

    ask("reader", 403)
    ask("admin,manager,member,reader", status)


def test_the_wanted_disks_are_not_set_by_their_name(secured: Service) -> None:
    """For each caller: for a node that the caller does not see, or that does not exist, as well."""
    for path in ("owned", "foreign", "nosuch"):
        address = f"/nodes/{path}/states/target_raid_config"
        as_project(secured, "owners", "reader", "PUT", address, {}, status=405)
    for roles in ("reader", "admin,manager,member,reader"):
        headers = {"X-Roles": roles, "X-Auth-Token": "someone"}
        secured.baremetal("PUT", "/nodes/owned/states/target_raid_config", {}, headers=headers, status=405)
