"""The role ``admin`` of a project: it writes nothing about nodes and claims of others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from webtest import TestResponse

from tests.service import ADMINISTRATOR, LATEST, Service
from tests.unchanged import unchanged

UUID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
CLAIM = {"query": "resources=CUSTOM_GOLD:1", "consumer": {"uuid": UUID}}
#: With the roles that it implies, as Keystone lists them.
ADMIN = {"X-Auth-Token": "eve:strangers", "X-Roles": "admin,manager,member,reader"}
ADMIN_OF_OWNER = {"X-Auth-Token": "olga:owners", "X-Roles": "admin,manager,member,reader"}
SERVICE = {"X-Auth-Token": "nova:services", "X-Roles": "service"}
SYSTEM_MEMBER = {"X-Auth-Token": "max", "X-Roles": "member,reader", "OpenStack-System-Scope": "all"}
ANNA = {"X-Auth-Token": "anna:tenants", "X-Roles": "member,reader"}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners")
        yield service


def ask(service: Service, by: Any, method: str, path: str, body: Any = None, *, status: int) -> TestResponse:
    call = getattr(service.http, method.lower() if body is None else f"{method.lower()}_json")
    return call(f"/scheduling/v1{path}", *(() if body is None else (body,)), headers=by, status=status)


def see(service: Service, by: Any, method: str = "GET", path: str = "", *, status: int) -> None:
    """A request of the bare metal API about the node."""
    headers = {"X-OpenStack-Ironic-API-Version": LATEST, **by}
    service.http.request(f"/baremetal/v1/nodes/n1{path}", method=method, headers=headers, status=status)


def test_holds_follow_the_visibility_of_the_bare_metal_api(service: Service, subtests: pytest.Subtests) -> None:
    """ "Only who sees the node in the bare metal API writes its holds; for all others it is answered with 404." """
    held = ask(service, ADMINISTRATOR, "POST", "/nodes/n1/holds", {"type": "operator_hold"}, status=201).json
    one = {"type": "lockout"}
    many = {**one, "filter": {"resource_class": "gold"}}
    for by, sees, several in ((ADMIN, 404, 403), (SERVICE, 404, 403), (ADMIN_OF_OWNER, 403, 403)):
        see(service, by, status=404 if sees == 404 else 200)
        with unchanged(service):
            for method, path, body, status in (
                ("POST", "/nodes/n1/holds", one, sees),
                ("POST", "/holds", many, several),
                ("POST", "/holds", {**many, "dry_run": True}, several),
            ):
                with subtests.test(msg=f"{by} {method} {path}"):
                    ask(service, by, method, path, body, status=status)
            for path in ("/nodes/n1/holds", f"/nodes/n1/holds/{held['uuid']}"):
                with subtests.test(msg=f"{by} DELETE {path}"):
                    # The owner may release, but not what the operator asserts.
                    ask(service, by, "DELETE", path, status=sees)
    made = ask(service, SYSTEM_MEMBER, "POST", "/holds", many, status=201).json["maintenance"]
    assert [each["scope"] for each in made] == ["system"]
    ask(service, SYSTEM_MEMBER, "DELETE", "/nodes/n1/holds", status=204)


def test_the_flag_of_the_bare_metal_api_is_set_by_an_owner_as_the_owner(service: Service) -> None:
    """An ``admin`` of the owner is not the operator."""
    see(service, ADMIN_OF_OWNER, "PUT", "/maintenance", status=202)
    (hold,) = ask(service, ADMINISTRATOR, "GET", "/nodes/n1/holds", status=200).json["maintenance"]
    assert (hold["scope"], hold["asserted_by"]) == ("owner", "olga")
    ask(service, ADMINISTRATOR, "POST", "/nodes/n1/holds", {"type": "lockout"}, status=201)
    see(service, ADMIN_OF_OWNER, "DELETE", "/maintenance", status=403)


def test_who_widens_the_visibility_of_nodes_widens_it_here(service: Service, tmp_path: Path) -> None:
    rules = tmp_path / "policy.yaml"
    names = ("node:get", "node:maintenance:get", "node:maintenance:add")
    rules.write_text("".join(f'"baremetal:{name}": "role:admin"\n' for name in names))
    with Service(
        service.database_url, api={"auth_strategy": "noauth2"}, oslo_policy={"policy_file": str(rules)}
    ) as open_service:
        # It is nothing to the node, so there is no scope in which it could assert one.
        ask(open_service, ADMIN, "POST", "/nodes/n1/holds", {"type": "window"}, status=403)
        ask(open_service, ADMIN_OF_OWNER, "POST", "/nodes/n1/holds", {"type": "window"}, status=201)


def test_claims_of_others_are_changed_by_the_system_and_by_services(
    service: Service, subtests: pytest.Subtests
) -> None:
    service.add_node("n2")
    ask(service, ANNA, "POST", "/claims", CLAIM, status=201)
    for by, status in ((ADMIN, 204), (ADMIN_OF_OWNER, 204), (SYSTEM_MEMBER, 403)):
        with unchanged(service), subtests.test(msg=str(by)):
            # As if it were not there.
            ask(service, by, "DELETE", f"/claims/{UUID}", status=status)
            ask(service, by, "POST", "/claims", {**CLAIM, "consumer": {"project_id": "tenants"}}, status=403)
    for by in (SERVICE, ADMINISTRATOR):
        ask(service, by, "DELETE", f"/claims/{UUID}", status=204)
        ask(service, by, "GET", f"/claims/{UUID}", status=404)
        ask(service, by, "POST", "/claims", {**CLAIM, "consumer": {"uuid": UUID, "project_id": "tenants"}}, status=201)


def test_an_admin_of_a_project_claims_what_its_project_may_use(service: Service) -> None:
    ask(service, ADMIN, "POST", "/claims", CLAIM, status=409)
    node = service.add_node("n2", owner="strangers")
    claimed = ask(service, ADMIN, "POST", "/claims", CLAIM, status=201).json
    assert (list(claimed["allocations"]), claimed["consumer"]["project_id"]) == ([node], "strangers")
    ask(service, ADMIN, "DELETE", f"/claims/{UUID}", status=204)
