"""The rules for tenants about servers, flavors, quotas and key pairs, and the machines that their servers get."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bcrypt
import orjson
import pytest
from sqlalchemy import select

from baremetal_sched.db.models import Node, Server
from tests.functional.compute.test_servers import add_image
from tests.functional.compute.world import ZEROS
from tests.service import Service

ADMIN = {"X-Auth-Token": "admin:operators", "X-Roles": "admin,member,reader"}
ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "member,reader"}
BERT = {"X-Auth-Token": "bert:b", "X-Roles": "member,reader"}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        add_flavor(service, "f")
        yield service


@pytest.fixture
def image(service: Service) -> str:
    return add_image(service)


def add_flavor(service: Service, name: str, **fields: Any) -> None:
    body = {"flavor": {"name": name, "id": name, "ram": 1024, "vcpus": 1, "disk": 10, **fields}}
    service.compute("POST", "/flavors", body, headers=ADMIN)
    specs = {"extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS}}
    service.compute("POST", f"/flavors/{name}/os-extra_specs", specs, headers=ADMIN)


def create(
    service: Service, image: str, headers: dict[str, str] = ANNA, *, status: int = 202, **more: Any
) -> dict[str, Any]:
    """POST /servers; the server, or the error."""
    body = {"server": {"name": "s", "flavorRef": "f", "imageRef": image, "networks": "none", **more}}
    answer = service.compute("POST", "/servers", body, headers=headers, status=status).json
    service.work()
    if status != 202:
        (found,) = answer.values()
        return dict(found)
    return show(service, answer["server"]["id"], headers)


def show(service: Service, uuid: str, headers: dict[str, str] = ADMIN, version: str = "2.100") -> dict[str, Any]:
    document: dict[str, Any] = service.compute("GET", f"/servers/{uuid}", headers=headers, version=version).json
    return dict(document["server"])


def node_of(service: Service, server: dict[str, Any]) -> str | None:
    node: str | None = show(service, server["id"])["OS-EXT-SRV-ATTR:hypervisor_hostname"]
    return node


# -- which machine ----------------------------------------------------------------------------------------------------


def test_a_server_gets_no_node_of_another_project(service: Service, image: str) -> None:
    service.add_node("of-bert", owner="b")
    service.add_node("leased-to-bert", owner="a", lessee="b")
    fault = create(service, image)["fault"]["message"]
    assert fault == "No valid host was found. There are no nodes that the project may use."
    leased = service.add_node("leased-to-anna", owner="b", lessee="a")
    assert node_of(service, create(service, image)) == leased
    own = service.add_node("of-anna", owner="a")
    assert node_of(service, create(service, image)) == own
    of_nobody = service.add_node("of-nobody")
    assert node_of(service, create(service, image)) == of_nobody
    fault = create(service, image)["fault"]["message"]
    assert fault == ("No valid host was found. No node that matches is free. Of 3 nodes, 3 are in use by instances.")
    for _ in range(2):
        assert create(service, image, BERT)["status"] == "ACTIVE"


def test_administrators_name_any_node(service: Service, image: str) -> None:
    node = service.add_node("of-bert", owner="b")
    for more in ({"hypervisor_hostname": "of-bert"}, {"availability_zone": f"nova::{node}"}):
        assert "servers:create:" in create(service, image, status=403, **more)["message"]
    service.compute("GET", "/servers?node=x", headers=ANNA, status=403)
    assert node_of(service, create(service, image, ADMIN, hypervisor_hostname="of-bert")) == node


def test_without_authentication_every_node_is_for_every_server(database_url: str) -> None:
    with Service(database_url) as service:
        service.add_conductor("c1")
        add_flavor(service, "f")
        node = service.add_node("n1", owner="somebody", lessee="other")
        assert node_of(service, create(service, add_image(service))) == node


# -- visibility -------------------------------------------------------------------------------------------------------


def test_what_a_tenant_sees_of_a_server(service: Service, image: str) -> None:
    service.add_node("n1")
    server = create(service, image)
    of_administrators = {"host_status", "OS-EXT-SRV-ATTR:host", "OS-EXT-SRV-ATTR:hypervisor_hostname"}
    whole = show(service, server["id"])
    assert of_administrators <= whole.keys()
    assert {name for name in whole if name not in server} >= of_administrators
    assert "OS-EXT-SRV-ATTR:hostname" in server
    assert server["flavor"]["extra_specs"] == whole["flavor"]["extra_specs"]
    (listed,) = service.compute("GET", "/servers/detail", headers=ANNA).json["servers"]
    assert listed.keys() == server.keys() - {"server_groups"}
    path = f"/servers/{server['id']}/os-instance-actions"
    (action,) = service.compute("GET", path, headers=ANNA).json["instanceActions"]
    path = f"{path}/{action['request_id']}"
    (event,) = service.compute("GET", path, headers=ANNA).json["instanceAction"]["events"]
    assert event.keys() == {"event", "start_time", "finish_time", "result", "hostId"}
    (event,) = service.compute("GET", path, headers=ADMIN).json["instanceAction"]["events"]
    assert {"host", "traceback", "details"} <= event.keys()
    assert "events" not in service.compute("GET", path, headers=ANNA, version="2.50").json["instanceAction"]


def test_details_of_a_fault_are_for_administrators(service: Service, image: str) -> None:
    server = create(service, image)
    assert server["fault"].keys() == {"code", "created", "message"}
    assert show(service, server["id"])["fault"].keys() >= {"code", "created", "message"}


def test_without_the_role_of_a_reader_extra_specs_are_not_shown(service: Service) -> None:
    nobody = {"X-Auth-Token": "n:a", "X-Roles": "other"}
    assert "extra_specs" in service.compute("GET", "/flavors/f", headers=ANNA).json["flavor"]
    shown = [service.compute("GET", "/flavors/f", headers=nobody).json["flavor"]]
    shown += service.compute("GET", "/flavors/detail", headers=nobody).json["flavors"]
    assert [flavor["name"] for flavor in shown] == ["f", "f"]
    assert not any("extra_specs" in flavor for flavor in shown)
    service.compute("GET", "/flavors/f/os-extra_specs", headers=nobody, status=403)


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_quotas_of_other_projects(service: Service) -> None:
    for path in ("", "/detail"):
        service.compute("GET", f"/os-quota-sets/a{path}", headers=ANNA)
        service.compute("GET", f"/os-quota-sets/b{path}", headers=ANNA, status=403)
        service.compute("GET", f"/os-quota-sets/b{path}", headers=ADMIN)
    service.compute("GET", "/os-quota-sets/b/defaults", headers=ANNA)
    service.compute("DELETE", "/os-quota-sets/a", headers=ANNA, status=403)


def test_flavors_without_a_disk(service: Service, image: str) -> None:
    add_flavor(service, "diskless", disk=0)
    service.add_node("n1")
    error = create(service, image, status=403, flavorRef="diskless")
    assert error["message"] == "Servers of flavors with a disk of 0 are for administrators."
    assert create(service, image, ADMIN, flavorRef="diskless")["status"] == "ACTIVE"


def test_a_lock_of_an_administrator_is_not_for_the_tenant_to_open(service: Service, image: str) -> None:
    service.add_node("n1")
    path = f"/servers/{create(service, image)['id']}"
    act = f"{path}/action"
    service.compute("POST", act, {"lock": {"locked_reason": "audit"}}, headers=ADMIN, status=202)
    error = service.compute("POST", act, {"unlock": None}, headers=ANNA, status=403).json["forbidden"]
    assert "os-lock-server:unlock:unlock_override" in error["message"]
    # To lock it once more changes nothing, as with Nova.
    service.compute("POST", act, {"lock": None}, headers=ANNA, status=202)
    assert show(service, path.removeprefix("/servers/"))["locked_reason"] == "audit"
    service.compute("POST", act, {"os-stop": None}, headers=ANNA, status=409)
    service.compute("POST", act, {"unlock": None}, headers=ADMIN, status=202)
    service.compute("POST", act, {"lock": {"locked_reason": "mine"}}, headers=ANNA, status=202)
    assert show(service, path.removeprefix("/servers/"))["locked_reason"] == "mine"
    service.compute("POST", act, {"unlock": None}, headers=ANNA, status=202)
    service.compute("POST", act, {"unlock": None}, headers=ANNA, status=202)


def test_readers_change_nothing(service: Service, image: str) -> None:
    reader = {"X-Auth-Token": "r:a", "X-Roles": "reader"}
    service.add_node("n1")
    path = f"/servers/{create(service, image)['id']}"
    for below in ("", "/metadata", "/tags", "/os-instance-actions", "/ips"):
        service.compute("GET", path + below, headers=reader)
    for method, below, body in (
        ("DELETE", "", None), ("PUT", "", {"server": {"name": "x"}}), ("POST", "/action", {"os-stop": None}),
        ("POST", "/action", {"lock": None}), ("POST", "/metadata", {"metadata": {"a": "b"}}), ("PUT", "/tags/t", None),
        ("DELETE", "/tags", None),
    ):  # fmt: skip
        service.compute(method, path + below, body, headers=reader, status=403)
    create(service, image, reader, status=403)


def test_callers_without_a_project_have_nothing(service: Service, image: str) -> None:
    system = {"X-Auth-Token": "s", "X-Roles": "admin,member,reader", "OpenStack-System-Scope": "all"}
    for path in ("/servers", "/limits", "/os-quota-sets/a", "/flavors/f/os-extra_specs", "/os-keypairs"):
        service.compute("GET", path, headers=system, status=403)
    assert len(service.compute("GET", "/flavors", headers=system).json["flavors"]) == 1


def test_all_tenants_has_a_rule_for_each_list(database_url: str, rules_file: Path) -> None:
    rules_file.write_text('"os_compute_api:servers:index:get_all_tenants": "role:auditor"\n')
    policy = {"policy_file": str(rules_file)}
    auditor = {"X-Auth-Token": "x:c", "X-Roles": "auditor,reader"}
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy=policy) as service:
        service.compute("GET", "/servers?all_tenants=1", headers=auditor)
        service.compute("GET", "/servers/detail?all_tenants=1", headers=auditor, status=403)
        service.compute("GET", "/servers?all_tenants=1", headers=ADMIN, status=403)


def test_rules_are_asked_about_the_project_of_the_server(database_url: str, rules_file: Path) -> None:
    rules = {"os_compute_api:servers:stop": "project_id:%(project_id)s", "os_compute_api:servers:show": "role:member"}
    rules_file.write_text(orjson.dumps(rules).decode())
    policy = {"policy_file": str(rules_file)}
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy=policy) as service:
        service.add_conductor("c1")
        add_flavor(service, "f")
        service.add_node("n1")
        uuid = create(service, add_image(service))["id"]
        # The administrator sees it, and may not do actions that are for its project alone.
        service.compute("POST", f"/servers/{uuid}/action", {"os-stop": None}, headers=ADMIN, status=403)
        service.compute("GET", f"/servers/{uuid}", headers=ADMIN)
        service.compute("POST", f"/servers/{uuid}/action", {"os-stop": None}, headers=ANNA, status=202)


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    return tmp_path / "policy.yaml"


def test_markers_of_others_are_not_known(service: Service, image: str) -> None:
    service.add_node("n1")
    server = create(service, image)["id"]
    body = {"name": "mine", "id": "private", "ram": 1, "vcpus": 1, "disk": 1, "os-flavor-access:is_public": False}
    service.compute("POST", "/flavors", {"flavor": body}, headers=ADMIN)
    for path in (f"/servers?marker={server}", "/flavors?marker=private"):
        service.compute("GET", path, headers=BERT, status=400)
    service.compute("GET", f"/servers?marker={server}", headers=ANNA)


def test_requests_for_servers_of_others_wait_for_no_lock(service: Service, image: str) -> None:
    if service.database.engine.dialect.name == "sqlite":
        pytest.skip("one transaction at a time writes there")
    service.add_node("n1")
    uuid = create(service, image)["id"]
    with service.database.engine.begin() as connection:
        connection.execute(select(Node.id).where(Node.instance_uuid == uuid).with_for_update())
        connection.execute(select(Server.id).where(Server.uuid == uuid).with_for_update())
        for method, path, body in (
            ("POST", "/action", {"os-stop": None}),
            ("DELETE", "", None),
            ("DELETE", "/tags", None),
        ):
            service.compute(method, f"/servers/{uuid}{path}", body, headers=BERT, status=404)


def test_a_list_of_servers_takes_no_more_statements_for_a_tenant(service: Service, image: str) -> None:
    for number in range(3):
        service.add_node(f"n{number}")
        create(service, image)
    counts = []
    for headers in (ANNA, {**ADMIN, "X-Auth-Token": "admin:a"}):
        with service.statements() as seen:
            assert len(service.compute("GET", "/servers/detail", headers=headers).json["servers"]) == 3
        counts.append(len(seen))
    assert counts[0] == counts[1] <= 2


def test_who_has_no_project_has_nothing_of_the_project_of_the_settings(database_url: str, tmp_path: Path) -> None:
    """That project is for administrators: its servers are from before there was authentication."""
    with Service(database_url) as service:
        service.add_conductor("c1")
        add_flavor(service, "f")
        service.add_node("n1")
        create(service, add_image(service))
    users, roles = tmp_path / "users", tmp_path / "roles.yaml"
    users.write_text(
        "".join(f"{name}:{bcrypt.hashpw(b'word', bcrypt.gensalt(4)).decode()}\n" for name in ("ann", "root"))
    )
    roles.write_text("ann: {roles: [member, reader]}\nroot: {roles: [admin]}\n")
    options = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(roles)}
    ann, root = ({"Authorization": f"Basic {base64.b64encode(name + b':word').decode()}"} for name in (b"ann", b"root"))
    with Service(database_url, DEFAULT=options, api={"auth_strategy": "http_basic"}) as service:
        service.compute("GET", "/servers/detail", headers=ann, status=403)
        assert instances_used(service, ann) == 0
        service.http.post_json("/scheduling/v1/requests", {"flavor": {}}, headers=ann, status=403)
        service.http.get("/image/v2/images", headers=ann, status=403)
        assert len(service.compute("GET", "/servers", headers=root).json["servers"]) == 1
        assert instances_used(service, root) == 1


def instances_used(service: Service, headers: dict[str, str]) -> int:
    limits = service.compute("GET", "/limits", headers=headers).json["limits"]["absolute"]
    return int(limits["totalInstancesUsed"])
