"""Agents have no credentials: what they may ask and say without any when everyone else needs some."""

import io
import json
from typing import Any

import pytest

from baremetal_sched.app import create_app
from baremetal_sched.settings import load
from tests.restored import Rows
from tests.service import Service, fault

MAC = "52:54:00:00:00:01"
URL = "http://192.0.2.1:9999"
SECRET = "hunter2"
VERSION = {"X-OpenStack-Ironic-API-Version": "1.115"}
#: Callers whose token is no better than none for an agent: it is not looked at.
TENANT = {"X-Auth-Token": "eve:tenant", "X-Roles": "reader"}

pytestmark = pytest.mark.usefixtures("agent")


@pytest.fixture
def node(secured: Service) -> str:
    """An available node of a tenant with a port, which an agent deploys and inspects."""
    uuid = secured.add_node("n1", power=False, owner="tenant", deploy_interface="direct", inspect_interface="agent")
    secured.patch(
        "n1", ("add", "/instance_info", {"image_source": "http://images.example.org/x", "image_checksum": "0" * 64})
    )
    secured.patch("n1", ("add", "/instance_info/image_password", SECRET), ("add", "/driver_info/ipmi_password", SECRET))
    secured.baremetal("POST", "/ports", {"node_uuid": uuid, "address": MAC})
    return uuid


def do(service: Service, verb: str) -> None:
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb})
    service.work()


def ask(service: Service, method: str, path: str, body: Any = None, *, status: int, **headers: str) -> Any:
    """A request without credentials."""
    sent = {**VERSION, **headers}
    if body is None:
        return service.http.request(f"/baremetal/v1{path}", method=method, headers=sent, status=status)
    return service.http.post_json(f"/baremetal/v1{path}", body, headers=sent, status=status)


def look_up(service: Service, *, status: int = 200, **headers: str) -> Any:
    return ask(service, "GET", f"/lookup?addresses={MAC}", status=status, **headers)


def beat(service: Service, token: str | None, *, status: int = 202, **headers: str) -> Any:
    body = {"callback_url": URL, "agent_version": "11.0", **({} if token is None else {"agent_token": token})}
    answer = ask(service, "POST", "/heartbeat/n1", body, status=status, **headers)
    service.work()
    return answer


def report(service: Service, *, status: int = 202, **more: Any) -> Any:
    inventory = {"interfaces": [{"name": "eth0", "mac_address": MAC}], "cpu": {"architecture": "x86_64"}}
    answer = ask(service, "POST", "/continue_inspection", {"inventory": inventory, **more}, status=status)
    service.work()
    return answer


def state(service: Service) -> str:
    return str(service.node("n1")["provision_state"])


def test_a_heartbeat_without_the_node_in_its_path_needs_credentials(secured: Service, node: str) -> None:
    """As with Ironic, for whom it is no heartbeat of an agent: agents have the node in the path."""
    body = {"callback_url": URL, "agent_version": "11.0", "node_ident": node}
    for version in ("1.115", "1.21"):
        sent = {"X-OpenStack-Ironic-API-Version": version}
        ask(secured, "POST", "/heartbeat", body, status=401, **sent)
        ask(secured, "POST", f"/heartbeat?node_ident={node}", body, status=401, **sent)
    ask(secured, "GET", "/heartbeat", status=401)
    assert "token" in fault(ask(secured, "POST", "/heartbeat", body, status=400, **TENANT))


def test_an_agent_deploys_without_credentials(secured: Service, node: str) -> None:
    do(secured, "active")
    token = look_up(secured).json["config"]["agent_token"]
    for _ in range(3):
        beat(secured, token)
    assert state(secured) == "active"


def test_a_lookup_tells_its_fields_and_no_secret(secured: Service, node: str) -> None:
    do(secured, "active")
    answer = look_up(secured)
    assert set(answer.json["node"]) == {"uuid", "properties", "instance_info", "driver_internal_info", "links"}
    assert answer.json["node"]["instance_info"]["image_source"] == "http://images.example.org/x"
    assert answer.json["node"]["instance_info"]["image_password"] == "******"
    # Agents need it: nothing but secrets is withheld from them.
    assert "deploy_steps" in answer.json["node"]["driver_internal_info"]
    assert SECRET not in answer.text
    for header in ("X-Auth-Token", "Authorization"):
        assert header not in answer.headers


def test_a_lookup_elsewhere_finds_nothing(secured: Service, node: str, row: Rows) -> None:
    for given in ["available", "manageable", "enroll", "active", "error", "deploy failed"]:
        with row(given):
            secured.set_columns(node, provision_state=given)
            assert node not in look_up(secured, status=404).text
            # To a tenant who owns it, and to an administrator, it is the same: who asks is not looked at.
            look_up(secured, status=404, **TENANT)
            look_up(secured, status=404, **{"X-Auth-Token": "admin", "X-Roles": "admin"})


def test_the_token_is_given_once(secured: Service, node: str) -> None:
    do(secured, "active")
    token = look_up(secured).json["config"]["agent_token"]
    assert len(token) >= 32
    for headers in ({}, TENANT, {"X-Auth-Token": "admin", "X-Roles": "admin"}):
        again = look_up(secured, **headers)
        assert again.json["config"]["agent_token"] == "******"
        assert token not in again.text
    assert token not in secured.baremetal("GET", "/nodes/n1").text


def test_a_heartbeat_needs_the_token_and_nothing_else_will_do(secured: Service, node: str) -> None:
    do(secured, "active")
    token = look_up(secured).json["config"]["agent_token"]
    for wrong in (None, "", "******", token[:-1], token + "x", "admin"):
        answer = beat(secured, wrong, status=400, **{"X-Auth-Token": "admin", "X-Roles": "admin"})
        assert "oken" in fault(answer)
        assert token not in answer.text
    assert state(secured) == "wait call-back"
    beat(secured, token)


def test_a_report_comes_before_the_token(secured: Service, node: str) -> None:
    """As agents do it: they report, and are given their token with the answer."""
    do(secured, "manage")
    do(secured, "inspect")
    assert len(report(secured).json["config"]["agent_token"]) >= 32
    assert state(secured) == "manageable"


def test_a_report_after_the_token_was_given_needs_it(secured: Service, node: str) -> None:
    do(secured, "manage")
    do(secured, "inspect")
    token = look_up(secured).json["config"]["agent_token"]
    for wrong in ({}, {"agent_token": "x"}, {"agent_token": 1}, {"agent_token": None}, {"agent_token": "******"}):
        assert "Invalid or missing agent token" in fault(report(secured, status=400, **wrong))
    assert state(secured) == "inspect wait"
    report(secured, agent_token=token)
    assert state(secured) == "manageable"
    assert token not in secured.baremetal("GET", "/nodes/n1/inventory").text


def test_agents_can_be_shut_out(database_url: str) -> None:
    """Tenants' API hosts do so; the answer is Ironic's."""
    with Service(database_url, api={"auth_strategy": "noauth2", "enable_ramdisk_endpoints": False}) as service:
        look_up(service, status=403)
        beat(service, "x", status=403)
        report(service, status=403)


def test_nothing_else_of_a_node_is_public(secured: Service, node: str) -> None:
    for path in ("/nodes/n1", "/nodes", f"/ports?address={MAC}", "/nodes/n1/inventory", "/lookup/x"):
        ask(secured, "GET", path, status=401)
    ask(secured, "POST", "/events", {"events": []}, status=401)


def test_what_tenants_could_make_of_it_is_warned_of(
    lines: io.StringIO, tmp_path: Any, subtests: pytest.Subtests
) -> None:
    for strategy, options, warnings in [
        ("noauth2", {}, []),
        ("noauth2", {"auto_discovery": {"enabled": True, "driver": "fake-hardware"}}, ["auto_discovery"]),
        ("noauth2", {"api": {"restrict_lookup": False}}, ["restrict_lookup"]),
        ("noauth2", {"api": {"restrict_lookup": False, "enable_ramdisk_endpoints": False}}, []),
        ("noauth2", {"oslo_policy": {"enforce_scope": False}}, ["enforce_scope"]),
        ("none", {"oslo_policy": {"enforce_scope": False}}, []),
        ("none", {"auto_discovery": {"enabled": True, "driver": "fake-hardware"}}, []),
    ]:
        with subtests.test(msg=repr((strategy, options, warnings))):
            lines.seek(0)
            lines.truncate()
            api = {"auth_strategy": strategy, **options.get("api", {})}
            database = {"connection": f"sqlite:///{tmp_path}/unused.sqlite"}
            create_app(load(overrides={**options, "api": api, "database": database})).database.dispose()
            logged = [json.loads(line) for line in lines.getvalue().splitlines()]
            found = [line["event"] for line in logged if line["logger"] == "baremetal_sched.start_warnings"]
            assert len(found) == len(warnings)
            assert all(word in line for word, line in zip(warnings, found, strict=True))
