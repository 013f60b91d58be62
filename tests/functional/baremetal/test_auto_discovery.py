"""Unknown machines: an agent on one reports its findings, and the machine is enrolled."""

from typing import Any

import pytest
from oslo_config import cfg

from baremetal_sched.settings import load
from tests.restored import Rows
from tests.service import Service

MAC = "52:54:00:00:00:01"
INVENTORY = {
    "interfaces": [{"name": "eth0", "mac_address": MAC}],
    "cpu": {"architecture": "x86_64"},
    "bmc_address": "192.0.2.7",
}


@pytest.fixture
def discovering(database_url: str) -> Any:
    options = {
        "auto_discovery": {"enabled": True, "driver": "fake-hardware"},
        "DEFAULT": {"default_resource_class": "found", "default_conductor_group": "rack1"},
    }
    with Service(database_url, **options) as service:
        service.add_conductor("c1", "rack1")
        yield service


def report(service: Service, inventory: Any = INVENTORY, *, query: str = "", **options: Any) -> Any:
    options.setdefault("status", 202)
    return service.baremetal("POST", f"/continue_inspection{query}", {"inventory": inventory, "x": 1}, **options).json


def nodes(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.baremetal("GET", "/nodes/detail").json["nodes"]
    return found


def test_a_machine_that_nobody_knows_is_enrolled(discovering: Service) -> None:
    told = report(discovering)
    assert len(told["config"]["agent_token"]) >= 32  # what agents insist on
    discovering.work()
    (node,) = nodes(discovering)
    assert node["uuid"] == told["node"]["uuid"]
    kept = ("provision_state", "driver", "resource_class", "conductor_group", "reservation", "last_error", "name")
    assert {name: node[name] for name in kept} == {
        "provision_state": "enroll",
        "driver": "fake-hardware",
        "resource_class": "found",
        "conductor_group": "rack1",
        "reservation": None,
        "last_error": None,
        "name": None,
    }
    assert node["properties"] == {"cpu_arch": "x86_64"}
    (port,) = discovering.baremetal("GET", f"/nodes/{node['uuid']}/ports").json["ports"]
    assert port["address"] == MAC
    found = discovering.baremetal("GET", f"/nodes/{node['uuid']}/inventory").json
    assert found["inventory"] == INVENTORY
    assert (found["plugin_data"]["auto_discovered"], found["plugin_data"]["x"]) == (True, 1)


def test_rules_tell_such_machines_apart(discovering: Service) -> None:
    rule = {
        "conditions": [{"op": "is-true", "args": ["{plugin_data[auto_discovered]}"]}],
        "actions": [
            {"op": "set-attribute", "args": ["/driver_info/ipmi_address", "{inventory[bmc_address]}"]},
            {"op": "set-attribute", "args": ["/name", "found-{inventory[bmc_address]}"]},
        ],
    }
    discovering.baremetal("POST", "/inspection_rules", rule)
    report(discovering)
    discovering.work()
    (node,) = nodes(discovering)
    assert (node["name"], node["driver_info"]) == ("found-192.0.2.7", {"ipmi_address": "192.0.2.7"})


def test_a_machine_is_enrolled_once(discovering: Service) -> None:
    report(discovering)
    discovering.work()
    report(discovering, status=404)
    assert len(nodes(discovering)) == 1


def test_old_agents_are_told_the_uuid(discovering: Service) -> None:
    told = report(discovering, version="1.1")
    assert told == {"uuid": nodes(discovering)[0]["uuid"]}


def test_what_fails_leaves_the_node_enrolled(discovering: Service) -> None:
    report(discovering, {"interfaces": INVENTORY["interfaces"]})
    discovering.work()
    (node,) = nodes(discovering)
    assert (node["provision_state"], node["reservation"]) == ("enroll", None)
    assert "architecture" in node["last_error"]
    assert discovering.baremetal("GET", f"/nodes/{node['uuid']}/ports").json["ports"] == []
    # It is the same node when the machine boots again.
    report(discovering)
    discovering.work()
    (again,) = nodes(discovering)
    assert (again["uuid"], again["last_error"]) == (node["uuid"], None)
    assert len(discovering.baremetal("GET", f"/nodes/{node['uuid']}/ports").json["ports"]) == 1


def test_a_machine_that_somebody_took_over_is_not_enrolled_again(discovering: Service) -> None:
    report(discovering, {"interfaces": INVENTORY["interfaces"]})
    discovering.work()
    (node,) = nodes(discovering)
    discovering.baremetal("PUT", f"/nodes/{node['uuid']}/states/provision", {"target": "manage"})
    discovering.work()
    report(discovering, status=404)
    assert [node["provision_state"] for node in nodes(discovering)] == ["manageable"]


def test_what_was_reported_twice_is_looked_at_once(discovering: Service) -> None:
    report(discovering)
    report(discovering, status=409)
    discovering.work()
    assert len(nodes(discovering)) == 1


def test_the_machine_is_switched_off_if_it_can_be(database_url: str, row: Rows) -> None:
    for driver, power in [("fake-hardware", "power off"), ("manual-management", None)]:
        with row(driver, power), Service(database_url, auto_discovery={"enabled": True, "driver": driver}) as service:
            service.add_conductor("c1")
            report(service)
            service.work()
            (node,) = nodes(service)
            assert (node["driver"], node["last_error"], node["power_state"]) == (driver, None, power)


def test_machines_that_are_known_are_not_enrolled(discovering: Service, row: Rows) -> None:
    for query, inventory in [
        ("?node_uuid=aaaaaaaa-0000-4000-8000-000000000000", INVENTORY),
        ("", {"interfaces": [{"name": "a", "mac_address": "52:54:00:00:00:02"}]}),  # of a node in another state
        ("", {"interfaces": [{"name": "a", "mac_address": f"52:54:00:00:00:0{number}"} for number in (2, 3)]}),
    ]:
        with row(query, inventory):
            for number in (2, 3):
                body = {"driver": "fake-hardware", "name": f"n{number}", "conductor_group": "rack1"}
                discovering.baremetal("POST", "/nodes", body)
                discovering.baremetal(
                    "POST", "/ports", {"node_ident": f"n{number}", "address": f"52:54:00:00:00:0{number}"}
                )
            report(discovering, inventory, query=query, status=404)
            assert len(nodes(discovering)) == 2


def test_nobody_is_told_why_a_machine_is_not_enrolled(database_url: str) -> None:
    options = {"enabled": True, "driver": "nosuch"}
    with Service(database_url, auto_discovery=options) as service:
        report(service, status=503)
        service.add_conductor("c1")
        report(service, status=503)
        assert nodes(service) == []
    with Service(database_url, auto_discovery={"driver": "fake-hardware"}) as service:
        report(service, status=404)
        assert nodes(service) == []


def test_a_driver_is_needed() -> None:
    with pytest.raises(cfg.Error, match="driver must be set"):
        load(overrides={"auto_discovery": {"enabled": True}})
