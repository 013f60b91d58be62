"""Inspections out of band, on a controller of our own."""

from typing import Any

import pytest

from tests.redfish_service import Controller, Fault, RedfishService
from tests.service import Service

pytestmark = pytest.mark.sqlite_only


def inspect(service: Service) -> dict[str, Any]:
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"}, status=202)
    service.work()
    return service.node("n1")


def ports(service: Service) -> list[str]:
    return sorted(port["address"] for port in service.baremetal("GET", "/nodes/n1/ports").json["ports"])


def test_what_is_found(service: Service, node: str) -> None:
    after = inspect(service)
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert after["properties"] == {
        "capabilities": "boot_mode:uefi",
        "cpu_arch": "x86_64",
        "local_gb": 479,
        "memory_mb": 98304,
    }
    assert ports(service) == ["52:54:00:aa:00:01"]
    found = service.baremetal("GET", "/nodes/n1/inventory").json["inventory"]
    assert found["cpu"] == {"count": 32, "architecture": "x86_64", "model_name": "Test CPU", "frequency": 3700}
    assert found["interfaces"] == [{"name": "NIC1", "mac_address": "52:54:00:aa:00:01", "speed_mbps": 10000}]
    assert [(disk["serial"], disk["size"], disk["rotational"]) for disk in found["disks"]] == [
        ("S1", 480 * 2**30, False),
        ("S2", 4000 * 2**30, True),
    ]
    assert found["memory"] == {"physical_mb": 98304}
    assert found["system_vendor"]["serial_number"] == "SN-1"
    assert found["boot"] == {"current_boot_mode": "uefi"}


def test_settings_and_firmware_are_known_when_a_node_is_manageable(service: Service, node: str) -> None:
    settings = service.baremetal("GET", "/nodes/n1/bios").json["bios"]
    assert {each["name"]: each["value"] for each in settings}["BootMode"] == "Uefi"
    components = service.baremetal("GET", "/nodes/n1/firmware").json["firmware"]
    assert [(each["component"], each["current_version"], each["last_version_flashed"]) for each in components] == [
        ("bios", "1.0.0", None),
        ("bmc", "1.0.0", None),
        ("nic:NIC1", "1.0.0", None),
    ]


def test_new_versions_are_noticed(service: Service, node: str, controller: Controller) -> None:
    controller.updates.versions["bmc"] = "1.5.0"
    inspect(service)
    bmc = service.baremetal("GET", "/nodes/n1/firmware").json["firmware"][1]
    assert [bmc[key] for key in ("initial_version", "current_version", "last_version_flashed", "model")] == [
        "1.0.0",
        "1.5.0",
        "1.5.0",
        "BMC 1",
    ]


def test_what_a_node_says_of_how_it_boots_is_left(service: Service, node: str) -> None:
    service.patch("n1", ("add", "/properties/capabilities", "boot_mode:bios,x:1"))
    assert inspect(service)["properties"]["capabilities"] == "boot_mode:bios,x:1"


def test_a_machine_of_which_little_is_said(service: Service, node: str, controller: Controller) -> None:
    service.patch("n1", ("add", "/properties/cpu_arch", "aarch64"))
    gone = dict.fromkeys(("EthernetInterfaces", "Processors", "Storage", "MemorySummary", "Boot", "UUID", "Model"))
    controller.system.update({**gone, "SerialNumber": 5, "Manufacturer": ""})
    after = inspect(service)
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert after["properties"] == {"cpu_arch": "aarch64", "local_gb": 0}
    assert ports(service) == []
    assert service.baremetal("GET", "/nodes/n1/inventory").json["inventory"] == {
        "cpu": {"count": 0, "architecture": ""},
        "interfaces": [],
        "disks": [],
    }


def test_a_controller_that_fails_at_storage(service: Service, node: str, controller: Controller) -> None:
    """The rest is found, and nothing is said of disks."""
    controller.faults = [Fault(path="Storage$", status=500)]
    after = inspect(service)
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert after["properties"] == {"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64", "memory_mb": 98304}
    assert service.baremetal("GET", "/nodes/n1/inventory").json["inventory"]["disks"] == []


def test_disks_of_simple_storage(service: Service, node: str, controller: Controller) -> None:
    controller.system.update({"Storage": None, "SimpleStorage": {"@odata.id": "/redfish/v1/Systems/1/SimpleStorage"}})
    device = b'{"Name": "sda", "CapacityBytes": 107374182400, "Status": {"State": "Enabled"}}'
    controller.faults = [
        Fault(path="SimpleStorage$", body=b'{"Members": [{"@odata.id": "/redfish/v1/Systems/1/SimpleStorage/1"}]}'),
        Fault(path="SimpleStorage/1$", body=b'{"Devices": [5, %s, {"CapacityBytes": 1}]}' % device),
    ]
    assert inspect(service)["properties"]["local_gb"] == 99


@pytest.mark.parametrize("path", ["EthernetInterfaces", "Processors", "Storage", "Drives", "Systems/1$"])
@pytest.mark.parametrize(
    "body",
    [
        b"nonsense",
        b'{"Members": {"a": 1}, "Drives": 5, "MACAddress": [], "Id": {}, "InstructionSet": {}, "TotalThreads": -1}',
        b'{"Members": [{"@odata.id": "//192.0.2.1/x"}, {"@odata.id": "http://[/"}, 7], "CapacityBytes": 1e400, '
        b'"MemorySummary": {"TotalSystemMemoryGiB": 1e300}, "Boot": {"BootSourceOverrideMode": ["UEFI"]}, '
        b'"Model": "a\\u0000\\ud800b", "Id": "1", "Name": "x", "PowerState": "On"}',
    ],
)
def test_nonsense(service: Service, node: str, controller: Controller, path: str, body: bytes) -> None:
    """The inspection ends, well or not, and says nothing unexpected."""
    controller.faults = [Fault(path=path, method="GET", body=body)]
    after = inspect(service)
    assert after["provision_state"] in ("manageable", "inspect failed")
    assert after["reservation"] is None
    assert "nexpected" not in (after["last_error"] or "")


def test_a_controller_that_is_gone(service: Service, node: str, running: RedfishService) -> None:
    running.stop()
    try:
        after = inspect(service)
    finally:
        running.start()
    assert after["provision_state"] == "inspect failed"
    assert "cannot be reached" in after["last_error"]
