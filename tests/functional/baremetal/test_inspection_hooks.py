"""A node and its ports after an agent has reported an inspection."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.restored import Rows
from tests.service import Service, fault

BOOTED, ACTIVE, DARK = "52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03"
OLD, TAKEN = "52:54:00:00:00:99", "52:54:00:00:00:98"
#: Of the machine: booted from, with an address, with nothing, and its loopback.
INTERFACES = [
    {"name": "eth0", "mac_address": BOOTED.upper(), "ipv4_address": "192.0.2.1"},
    {"name": "eth1", "mac_address": ACTIVE, "ipv6_address": "fe80::1%eth1", "client_id": "c2"},
    {"name": "eth2", "mac_address": DARK, "ipv4_address": None},
    {"name": "lo", "mac_address": "00:00:00:00:00:00", "ipv4_address": "127.0.0.1"},
]
INVENTORY = {
    "interfaces": INTERFACES,
    "boot": {"pxe_interface": "01-" + BOOTED.replace(":", "-")},
    "cpu": {"architecture": "aarch64", "count": 4, "flags": ["aes", "svm"]},
    "memory": {"physical_mb": 2048},
}


@contextmanager
def inspecting(database_url: str, **inspector: Any) -> Iterator[Service]:
    """The service with these options, and node n1 that waits for its agent; it has a port with OLD."""
    with Service(database_url, inspector=inspector) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", power=False, inspect_interface="agent")
        service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": OLD, "extra": {"a": 1}})
        begin(service)
        yield service


def begin(service: Service) -> None:
    for verb in ("manage", "inspect"):
        service.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb})
        service.work()
    assert service.node("n1")["provision_state"] == "inspect wait"


def report(service: Service, inventory: Any = INVENTORY, *, state: str = "manageable", **plugin_data: Any) -> None:
    uuid = service.node("n1")["uuid"]
    body = {"inventory": inventory, **plugin_data}
    service.baremetal("POST", f"/continue_inspection?node_uuid={uuid}", body, status=202)
    service.work()
    assert service.node("n1")["provision_state"] == state, service.node("n1")["last_error"]


def ports(service: Service) -> dict[str, Any]:
    found = service.baremetal("GET", "/nodes/n1/ports/detail").json["ports"]
    return {port["address"]: port for port in found}


def test_the_interface_that_the_machine_booted_from_becomes_a_port(database_url: str) -> None:
    with inspecting(database_url) as service:
        report(service, logs="abc")
        shown = ports(service)
        assert set(shown) == {OLD, BOOTED}
        assert (shown[BOOTED]["pxe_enabled"], shown[BOOTED]["extra"]) == (True, {})
        assert (shown[OLD]["pxe_enabled"], shown[OLD]["extra"]) == (False, {"a": 1})
        assert service.node("n1")["properties"] == {"cpu_arch": "aarch64"}
        kept = service.baremetal("GET", "/nodes/n1/inventory").json
        assert kept["inventory"] == INVENTORY
        assert set(kept["plugin_data"]) == {"all_interfaces", "valid_interfaces", "macs"}
        assert kept["plugin_data"]["macs"] == [BOOTED.upper()]
        assert kept["plugin_data"]["valid_interfaces"] == {
            "eth0": {**INTERFACES[0], "pxe_enabled": True, "ipv6_address": None}
        }
        assert kept["plugin_data"]["all_interfaces"]["eth1"]["ipv6_address"] == "fe80::1"


def test_which_ports_are_added_and_kept(database_url: str, row: Rows) -> None:
    """The node has a port for DARK, too, that was there before; without ``add_ports`` all but the loopback count."""
    for add, keep, expected in [
        ("all", "all", {OLD, BOOTED, ACTIVE, DARK}),
        ("active", "all", {OLD, BOOTED, ACTIVE}),
        ("pxe", "all", {OLD, BOOTED}),
        ("disabled", "all", {OLD}),
        ("active", "present", {BOOTED, ACTIVE, DARK}),
        ("active", "added", {BOOTED, ACTIVE}),
        ("disabled", "added", {BOOTED, DARK}),
    ]:
        with row(add, keep, expected), inspecting(database_url, add_ports=add, keep_ports=keep) as service:
            before = {BOOTED, DARK} if add == "disabled" and keep == "added" else {DARK} & expected
            for address in before:
                body = {"node_ident": "n1", "address": address, "pxe_enabled": address != BOOTED}
                service.baremetal("POST", "/ports", body)
            report(service)
            shown = ports(service)
            assert set(shown) == expected
            assert {address: port["pxe_enabled"] for address, port in shown.items()} == {
                address: address == BOOTED for address in expected
            }
            if ACTIVE in shown:
                assert shown[ACTIVE]["extra"] == {"client-id": "c2"}


def test_an_agent_that_does_not_say_where_it_booted_from(database_url: str) -> None:
    """Ports keep what they have; new ones have the default."""
    with inspecting(database_url) as service:
        service.patch_at(f"/ports/{ports(service)[OLD]['uuid']}", ("replace", "/pxe_enabled", False))
        report(service, {**INVENTORY, "boot": None})
        assert {address: port["pxe_enabled"] for address, port in ports(service).items()} == {
            OLD: False,
            **dict.fromkeys((BOOTED, ACTIVE, DARK), True),
        }


def test_pxe_enabled_may_be_left_alone(database_url: str) -> None:
    with inspecting(database_url, update_pxe_enabled=False) as service:
        report(service)
        assert {address: port["pxe_enabled"] for address, port in ports(service).items()} == {OLD: True, BOOTED: True}


def test_an_address_of_another_node_stays_there(database_url: str) -> None:
    """It became that node's after the agent had found its own."""
    with inspecting(database_url, add_ports="all") as service:
        rule = {"actions": [{"op": "set-port-attribute", "args": [ACTIVE, "/physical_network", "net1"]}]}
        service.baremetal("POST", "/inspection_rules", rule)
        other = service.add_node("n2", power=False)
        uuid = service.node("n1")["uuid"]
        service.baremetal("POST", f"/continue_inspection?node_uuid={uuid}", {"inventory": INVENTORY}, status=202)
        body = {"node_uuid": other, "address": ACTIVE, "pxe_enabled": True}
        port = service.baremetal("POST", "/ports", body).json
        service.work()
        assert (service.node("n1")["provision_state"], service.node("n1")["last_error"]) == ("manageable", None)
        assert set(ports(service)) == {OLD, BOOTED, DARK}
        assert service.baremetal("GET", f"/ports/{port['uuid']}").json == port


def test_rules_see_and_change_new_ports(database_url: str) -> None:
    with inspecting(database_url) as service:
        actions = [
            {"op": "set-port-attribute", "args": [BOOTED, "/extra/rack", "r1"]},
            {"op": "set-attribute", "args": ["/extra/arch", "{node[properties][cpu_arch]}"]},
        ]
        service.baremetal("POST", "/inspection_rules", {"actions": actions})
        report(service)
        assert ports(service)[BOOTED]["extra"] == {"rack": "r1"}
        assert service.node("n1")["extra"] == {"arch": "aarch64"}


def test_a_second_inspection_changes_nothing(database_url: str) -> None:
    with inspecting(database_url, add_ports="all") as service:
        report(service)
        before = ports(service)
        service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"})
        service.work()
        report(service)
        assert ports(service) == before


def test_inspections_that_fail(database_url: str, row: Rows) -> None:
    """Then nothing changes; and what was found is kept, with the logs."""
    for inventory, plugin_data, text in [
        ({}, {"error": "no disk"}, "Ramdisk reported error: no disk (inspection hook ramdisk-error)"),
        ({"cpu": {}}, {}, "architecture of the CPU. (inspection hook architecture)"),
        ({"cpu": {"architecture": 1}}, {}, "architecture"),
        ({"interfaces": [{"mac_address": BOOTED}]}, {}, "no valid network interfaces"),
        ({"interfaces": [{"mac_address": "x", "name": "eth0"}]}, {}, "no valid network interfaces"),
        ({"interfaces": [{"mac_address": BOOTED, "name": ["x"]}]}, {}, "no valid network interfaces"),
        ({"interfaces": INTERFACES[3:]}, {}, 'match the configuration (add_ports is "pxe")'),
        ({"interfaces": INTERFACES[1:]}, {"error": "x"}, "hook ramdisk-error); No network"),
    ]:
        with row(inventory, plugin_data, text), inspecting(database_url) as service:
            before = ports(service)
            report(service, {**INVENTORY, **inventory}, state="inspect failed", logs="abc", **plugin_data)
            assert text in service.node("n1")["last_error"]
            assert ports(service) == before
            assert service.node("n1")["properties"] == {}
            kept = service.baremetal("GET", "/nodes/n1/inventory").json
            assert kept == {"inventory": {**INVENTORY, **inventory}, "plugin_data": {"logs": "abc", **plugin_data}}


def test_a_rule_that_fails_leaves_no_ports(database_url: str) -> None:
    with inspecting(database_url) as service:
        service.baremetal("POST", "/inspection_rules", {"actions": [{"op": "fail", "args": ["never"]}]})
        report(service, state="inspect failed")
        assert set(ports(service)) == {OLD}


def test_more_hooks(database_url: str) -> None:
    hooks = "validate-interfaces,ports, cpus,memory,boot-mode,cpu-capabilities,pci-devices,physical-network"
    alias = '{"vendor_id": "10de", "product_id": "1eb8", "name": "t4"}'
    networks = ["192.0.2.0/24:net1", "fe80::/64:net2"]
    options = {"hooks": hooks, "pci_device_alias": [alias], "physical_network_cidr_map": networks, "add_ports": "all"}
    with inspecting(database_url, **options) as service:
        service.patch("n1", ("add", "/properties/capabilities", "boot_mode:bios,kept:1"))
        inventory = {**INVENTORY, "boot": {"current_boot_mode": "uefi", "pxe_interface": BOOTED}}
        devices = [{"vendor_id": "10de", "product_id": "1eb8"}] * 2 + [{"vendor_id": "8086", "product_id": "1"}, {}, 1]
        report(service, inventory, pci_devices=devices)
        properties = service.node("n1")["properties"]
        assert properties.pop("capabilities") == "kept:1,boot_mode:uefi,cpu_vt:true,cpu_aes:true,t4:2"
        assert properties == {"cpus": 4, "memory_mb": 2048}
        found = {address: port["physical_network"] for address, port in ports(service).items()}
        assert found == {OLD: None, BOOTED: "net1", ACTIVE: "net2", DARK: None}


def test_the_machine_is_switched_off(database_url: str, row: Rows) -> None:
    """Whether the inspection fails or not; one that must not be off is only rid of its agent."""
    for power_off, disabled, expected in [
        (True, False, "power off"),
        (True, True, "power on"),
        (False, False, "power on"),
    ]:
        with row(power_off, disabled, expected), inspecting(database_url, power_off=power_off) as service:
            service.patch("n1", ("add", "/disable_power_off", disabled))
            assert service.node("n1")["power_state"] == "power on"
            report(service)
            assert service.node("n1")["power_state"] == expected
            service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"})
            service.work()
            report(service, state="inspect failed", error="x")
            assert service.node("n1")["power_state"] == expected


SWITCH, PORT, SYSTEM = [1, "04112233aabbcc"], [2, "05657468312f31"], [5, "737731"]


def test_links_to_switches(database_url: str, row: Rows) -> None:
    for said, expected in [
        ([SWITCH, PORT, SYSTEM], {"switch_id": "11:22:33:aa:bb:cc", "port_id": "eth1/1", "switch_info": "sw1"}),
        (
            [SWITCH, [2, "03aabbccddeeff"], [8, "00"]],
            {"switch_id": "11:22:33:aa:bb:cc", "port_id": "aa:bb:cc:dd:ee:ff"},
        ),
        ([SWITCH, [2, "0401c0000209"]], {"switch_id": "11:22:33:aa:bb:cc", "port_id": "192.0.2.9"}),
        ([PORT, SYSTEM], {"port_id": "eth1/1", "switch_info": "sw1"}),  # half of a link
        ([[1, "05746578"], PORT], {"port_id": "eth1/1"}),  # a switch that is no MAC address
        ([SWITCH, PORT, [5, "zz"]], {}),
        ([SWITCH, PORT, [5, "ff"]], {}),
        ([SWITCH, PORT, [5, "00"]], {}),
        ([[1, "0411"], PORT], {}),
        ([SWITCH, [2, ""]], {"switch_id": "11:22:33:aa:bb:cc"}),
        ([SWITCH, [2, "0401c0"]], {}),
        ([SWITCH, PORT, "x"], {}),
        ([SWITCH, PORT, [5, 5]], {}),
        ("x", {}),
        (None, {}),
    ]:
        with (
            row(said, expected),
            inspecting(database_url, hooks="validate-interfaces,ports,local-link-connection") as service,
        ):
            interfaces = [{**INTERFACES[0], "lldp": said}, *INTERFACES[1:]]
            report(service, {**INVENTORY, "interfaces": interfaces})
            assert ports(service)[BOOTED]["local_link_connection"] == expected


def test_links_that_are_known_stay(database_url: str) -> None:
    with inspecting(database_url, hooks="validate-interfaces,ports,local-link-connection") as service:
        known = {"switch_id": "00:00:00:00:00:01", "port_id": "p1"}
        service.baremetal("POST", "/ports", {"node_ident": "n1", "address": BOOTED, "local_link_connection": known})
        report(service, lldp_raw={"eth0": [SWITCH, PORT, SYSTEM]})
        assert ports(service)[BOOTED]["local_link_connection"] == {**known, "switch_info": "sw1"}


def test_no_hooks(database_url: str) -> None:
    with inspecting(database_url, hooks="") as service:
        report(service, {"interfaces": [{"mac_address": BOOTED}]}, error="x")
        assert set(ports(service)) == {OLD}
        assert service.baremetal("GET", "/nodes/n1/inventory").json["plugin_data"] == {"error": "x"}


def test_a_fake_inspection_has_no_hooks(service: Service) -> None:
    service.add_node("n1", power=False)
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "manage"})
    service.work()
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"})
    service.work()
    assert service.node("n1")["provision_state"] == "manageable"
    assert ports(service) == {}
    assert fault(service.baremetal("GET", "/ports/x", status=404))


def test_ports_by_which_an_agent_finds_its_node(database_url: str, row: Rows) -> None:
    """Of interfaces that the management controller knows; a port of another node stays there."""
    for wanted, interface, expected in [
        (True, "agent", {OLD, BOOTED, DARK}),
        (False, "agent", {OLD}),
        (True, "fake", {OLD}),
    ]:
        with row(wanted, interface, expected), Service(database_url, inspector={"pre_create_ports": wanted}) as service:
            service.add_conductor("c1")
            for name, address in (("n1", OLD), ("n2", TAKEN)):
                service.add_node(name, power=False, inspect_interface=interface)
                service.baremetal("POST", "/ports", {"node_ident": name, "address": address})
            known = [{"mac_address": address} for address in (BOOTED.upper(), DARK, DARK, OLD, TAKEN, "x", None)]
            service.patch("n1", ("add", "/driver_info/fake_inventory", {"interfaces": [*known, {}, "y"]}))
            for verb in ("manage", "inspect"):
                service.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb})
                service.work()
            assert set(ports(service)) == expected
            assert {port["pxe_enabled"] for port in ports(service).values()} == {True}
            if interface == "agent" and wanted:
                service.baremetal("POST", "/continue_inspection", {"inventory": INVENTORY}, status=202)
                service.work()
                assert service.node("n1")["provision_state"] == "manageable"


def test_rules_that_give_two_ports_one_name(database_url: str) -> None:
    with inspecting(database_url) as service:
        actions = [{"op": "set-port-attribute", "args": [address, "/name", "p1"]} for address in (OLD, BOOTED)]
        service.baremetal("POST", "/inspection_rules", {"actions": actions})
        report(service, state="inspect failed")
        assert "p1" in service.node("n1")["last_error"]
        assert set(ports(service)) == {OLD}


def test_without_addresses_there_are_no_ports(service: Service, row: Rows) -> None:
    for driver in ["fake-hardware", "manual-management"]:
        with row(driver):
            interfaces = {"inspect_interface": "agent", "power_interface": "fake"}
            service.baremetal("POST", "/nodes", {"driver": driver, "name": "n1", **interfaces})
            begin(service)
            assert ports(service) == {}


def test_an_agent_with_much_to_say_about_its_failure(database_url: str) -> None:
    with inspecting(database_url) as service:
        report(service, state="inspect failed", error="ä" * 100_000)
        error = service.node("n1")["last_error"]
        assert (error[:26], len(error)) == ("Ramdisk reported error: ää", 16_000)
