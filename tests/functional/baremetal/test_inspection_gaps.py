"""Agents, switches and operators leave out data, or write it in another form: the rest of an inspection is kept."""

from typing import Any

import pytest

from tests.functional.baremetal.test_inspection_hooks import BOOTED, INVENTORY, inspecting, ports, report
from tests.service import Service


@pytest.mark.parametrize(
    ("part", "missing"),
    [({"memory": {"physical_mb": None, "total": 2**31}}, "memory_mb"), ({"cpu": {"architecture": None}}, "cpu_arch")],
)
def test_what_an_agent_does_not_know(database_url: str, part: dict[str, Any], missing: str) -> None:
    """As an agent reports it that has no dmidecode."""
    with inspecting(database_url, hooks="validate-interfaces,ports,boot-mode,memory,architecture") as service:
        report(service, {**INVENTORY, "boot": {"current_boot_mode": "uefi"}, **part})
        properties = service.node("n1")["properties"]
        assert missing not in properties
        assert properties["capabilities"] == "boot_mode:uefi"
        assert ("memory_mb" in properties) == (missing != "memory_mb")


@pytest.mark.parametrize("part", [{"memory": {}}, {"memory": None}, {"memory": {"physical_mb": "much"}}])
def test_what_an_agent_leaves_out_is_still_an_error(database_url: str, part: dict[str, Any]) -> None:
    with inspecting(database_url, hooks="validate-interfaces,memory") as service:
        report(service, {**INVENTORY, **part}, state="inspect failed")
        assert "how much memory" in service.node("n1")["last_error"]


def test_capabilities_that_are_an_object_are_merged(service: Service) -> None:
    """By an inspection out of band, and by a rule."""
    rule = {"actions": [{"op": "set-capability", "args": ["a", "new"]}, {"op": "unset-capability", "args": ["b"]}]}
    service.baremetal("POST", "/inspection_rules", rule)
    service.add_conductor("c1")
    service.add_node("n1", power=False, properties={"capabilities": {"a": "1", "b": True, "boot_mode": "bios"}})
    for verb in ("manage", "inspect"):
        service.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb})
        service.work()
    node = service.node("n1")
    assert node["last_error"] is None
    assert sorted(node["properties"]["capabilities"].split(",")) == ["a:new", "boot_mode:bios"]


@pytest.mark.parametrize(
    ("said", "link"),
    [
        ([[2, "0545746831"]], {"port_id": "Eth1"}),
        ([[5, "737731"]], {"switch_info": "sw1"}),
        ([[1, "04885a92ec5459"]], {"switch_id": "88:5a:92:ec:54:59"}),
        ([[2, "0545746831"], [5, "737731"]], {"port_id": "Eth1", "switch_info": "sw1"}),
        ([[7, "00140014"]], {}),
    ],
)
def test_a_switch_that_says_little(database_url: str, said: list[Any], link: dict[str, str]) -> None:
    """Its data is kept, as in Ironic; the port can still be changed."""
    with inspecting(database_url, hooks="validate-interfaces,ports,local-link-connection") as service:
        report(service, lldp_raw={"eth0": said})
        port = ports(service)[BOOTED]
        assert port["local_link_connection"] == link
        changed = service.patch_at(f"/ports/{port['uuid']}", ("add", "/extra/rack", "r1")).json
        assert changed["local_link_connection"] == link


@pytest.mark.parametrize(
    ("regex", "vendor", "holds"),
    [
        ("Dell|HPE", "Dell Inc.", True),
        ("Dell|HPE", "HPE", True),
        ("Dell|HPE", "HPE Inc.", False),
        ("(Dell|HPE)", "Dell Inc.", False),
        ("Dell", "Dell Inc.", False),
        ("Dell.*", "Dell Inc.", True),
        ("ell.*", "Dell Inc.", False),
        ("Dell$|HPE", "Dell Inc.", False),
        ("Dell Inc.$", "Dell Inc.", True),
    ],
)
def test_matches_is_anchored_as_in_ironic(database_url: str, regex: str, vendor: str, holds: bool) -> None:
    with inspecting(database_url) as service:
        condition = {"op": "matches", "args": {"value": "{inventory[system_vendor][manufacturer]}", "regex": regex}}
        rule = {"conditions": [condition], "actions": [{"op": "set-attribute", "args": ["/extra/held", True]}]}
        service.baremetal("POST", "/inspection_rules", rule)
        report(service, {**INVENTORY, "system_vendor": {"manufacturer": vendor}})
        assert ("held" in service.node("n1")["extra"]) is holds
