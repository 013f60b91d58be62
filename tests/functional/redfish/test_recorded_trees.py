"""Trees of real controllers, reduced to the part that is unusual."""

import json
from typing import Any

import pytest

from baremetal_sched.drivers.boot_settings import ImageUrl
from baremetal_sched.drivers.redfish import virtual_media
from baremetal_sched.drivers.redfish.management import RedfishManagement
from baremetal_sched.errors.baremetal import ControllerError
from tests.functional.redfish.steps import apply, clean, manageable
from tests.redfish import machine, quick
from tests.redfish_service import Controller, Fault, RedfishService
from tests.service import Service

pytestmark = pytest.mark.sqlite_only

STORAGE = "/redfish/v1/Systems/1/Storage"
MEDIA = "/redfish/v1/Systems/1/VirtualMedia"
PATCH = "PATCH /redfish/v1/Systems/1/Bios/Settings"


def _says(bmc: RedfishService, path: str, **document: Any) -> None:
    body = json.dumps({"@odata.id": path, "Id": path.rpartition("/")[2], "Name": "N", **document}).encode()
    bmc.controller.faults.append(Fault(path=f"{path}$", method="GET", body=body))


def test_indicators_of_a_machine_with_a_storage_collection_of_another_form(
    bmc: RedfishService, subtests: pytest.Subtests
) -> None:
    """The others are shown (DGX H100, BlueField-3); a broken member of the collection does not hide the next one."""
    bmc.controller.system["IndicatorLED"] = "Off"
    target = machine(settings=quick(), **bmc.driver_info())
    expected = {"system": {bmc.controller.system["UUID"]: {"readonly": False, "states": ["blinking", "off", "on"]}}}
    for members in ({}, {"Members": None}, {"Members": 7}):
        with subtests.test(members=members):
            bmc.controller.faults.clear()
            _says(bmc, STORAGE, **members)
            assert RedfishManagement().get_supported_indicators(target) == expected
    bmc.controller.faults.clear()
    bmc.controller.collections["Drives"][0]["IndicatorLED"] = "Off"
    _says(bmc, STORAGE, Members=[{"@odata.id": f"{STORAGE}/0"}, {"@odata.id": f"{STORAGE}/1"}])
    _says(bmc, f"{STORAGE}/0", Drives=None)
    assert list(RedfishManagement().get_supported_indicators(target)["disk"]) == ["1:Drive1"]


def test_network_interfaces_and_virtual_media_without_members(bmc: RedfishService) -> None:
    target = machine(settings=quick(), **bmc.driver_info())
    _says(bmc, "/redfish/v1/Systems/1/EthernetInterfaces", Members=None)
    assert RedfishManagement().get_mac_addresses(target) == []
    bmc.controller.system["VirtualMedia"] = {"@odata.id": MEDIA}
    _says(bmc, MEDIA, Members=None)
    with pytest.raises(ControllerError, match="has no virtual media"):
        virtual_media.show(target)


def _slot(name: str, *types: str) -> dict[str, Any]:
    actions = {"#VirtualMedia.InsertMedia": {"target": f"{MEDIA}/{name}/Actions/VirtualMedia.InsertMedia"}}
    listed = {"MediaTypes": list(types)} if types else {}
    return {"Id": name, "Name": f"Virtual {name}", "Inserted": False, "Actions": actions, **listed}


@pytest.mark.parametrize(
    ("slots", "kind", "chosen"),
    [
        ((_slot("Slot1"), _slot("CD1")), "cdrom", "CD1"),
        ((_slot("USB1"), _slot("Slot2")), "cdrom", "Slot2"),
        ((_slot("CD1"), _slot("Slot2", "DVD")), "cdrom", "Slot2"),
        ((_slot("USB1"), _slot("Floppy1")), "cdrom", None),
        ((_slot("CD1"), _slot("USB1")), "disk", "USB1"),
        ((_slot("Slot1"),), "floppy", None),
    ],
)
def test_virtual_media_without_media_types(
    bmc: RedfishService, slots: tuple[dict[str, Any], ...], kind: str, chosen: str | None
) -> None:
    """By id or name, or a device that says nothing (Gigabyte H262)."""
    bmc.controller.system["VirtualMedia"] = {"@odata.id": MEDIA}
    _says(bmc, MEDIA, Members=[{"@odata.id": f"{MEDIA}/{slot['Id']}"} for slot in slots])
    for slot in slots:
        _says(bmc, f"{MEDIA}/{slot['Id']}", **slot)
        target = f"{MEDIA}/{slot['Id']}/Actions/"
        bmc.controller.faults.append(Fault(path=target, method="POST", status=400, body=b"{}"))
    with pytest.raises(ControllerError) as refused:
        virtual_media.insert(
            machine(settings=quick(), **bmc.driver_info()),
            kind,
            ImageUrl.parse("image", "https://images.example.com/a"),
        )
    asked = [line.split()[1].split("/")[6] for line in bmc.controller.journal if "InsertMedia" in line]
    assert asked == ([] if chosen is None else [chosen])
    assert ("no virtual media device of the type" in str(refused.value)) == (chosen is None)


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        ({"InstructionSet": "ARM-A64", "ProcessorArchitecture": "ARM"}, "aarch64"),
        ({"ProcessorArchitecture": "x86"}, "x86_64"),
        ({"ProcessorArchitecture": "ARM", "InstructionSet": None}, "aarch64"),
        ({"ProcessorArchitecture": "OEM", "ProcessorId": {"VendorId": "AuthenticAMD"}}, "x86_64"),
        ({"ProcessorId": {"VendorId": "GenuineIntel "}}, "x86_64"),
        ({"ProcessorId": {"VendorId": 7}}, None),
    ],
)
def test_the_architecture_without_an_instruction_set(
    service: Service, running: RedfishService, processor: dict[str, Any], expected: str | None
) -> None:
    running.controller.collections["Processors"] = [{"Id": "CPU1", "ProcessorType": "CPU", **processor}]
    manageable(service, running)
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"}, status=202)
    service.work()
    node = service.node("n1")
    assert (node["provision_state"], node["last_error"]) == ("manageable", None)
    assert node["properties"].get("cpu_arch") == expected


def test_an_inspection_that_does_not_know_where_the_machine_booted_from(
    service: Service, running: RedfishService
) -> None:
    """``pxe_enabled`` stays as it is, and is true of new ports."""
    manageable(service, running)
    for address, enabled in (("52:54:00:aa:00:09", True), ("52:54:00:aa:00:0a", False)):
        body = {"node_ident": "n1", "address": address, "pxe_enabled": enabled}
        service.baremetal("POST", "/ports", body)
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"}, status=202)
    service.work()
    found = service.baremetal("GET", "/nodes/n1/ports/detail").json["ports"]
    assert {port["address"]: port["pxe_enabled"] for port in found} == {
        "52:54:00:aa:00:01": True,
        "52:54:00:aa:00:09": True,
        "52:54:00:aa:00:0a": False,
    }


@pytest.mark.parametrize(
    ("stale", "tells", "requests"), [(None, True, 2), ('"old"', True, 3), (None, False, 2), ('"old"', False, 3)]
)
def test_a_change_of_the_bios_that_has_to_name_its_version(
    service: Service, running: RedfishService, controller: Controller, stale: str | None, tells: bool, requests: int
) -> None:
    """428, or 412 with an old one: once more with that of the settings resource, else with any."""
    manageable(service, running)
    controller.bios.version, controller.bios.stale_version, controller.bios.tells_version = '"new"', stale, tells
    after = clean(service, apply(NumaGroup=2))
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert controller.bios.attributes["NumaGroup"] == 2
    # sushy repeats a change without a version if an old one is refused.
    assert controller.asked(PATCH) == requests


@pytest.mark.parametrize("status", [412, 428])
def test_a_change_of_the_bios_that_is_refused_in_any_case(
    service: Service, running: RedfishService, controller: Controller, status: int
) -> None:
    manageable(service, running)
    controller.faults.append(Fault(path="Bios/Settings$", method="PATCH", status=status, body=b"{}"))
    after = clean(service, apply(NumaGroup=2))
    assert after["provision_state"] == "clean failed"
    assert f"refuses the settings (HTTP {status})" in after["last_error"]
    assert controller.asked(PATCH) == 2
