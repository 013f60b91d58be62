"""BIOS, firmware and inspection on sushy-emulator with libvirt's test driver."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.emulators import Emulator, libvirt_systems, minimum
from tests.functional.redfish.steps import SETTINGS, apply, clean, flash, update
from tests.restored import Rows
from tests.service import Service

pytestmark = [pytest.mark.sqlite_only, pytest.mark.slow]


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with libvirt_systems() as found:
        yield found


@pytest.fixture
def stage(database_url: str) -> Iterator[Service]:
    with Service(database_url, **SETTINGS) as found:
        found.add_conductor("c1")
        yield found


def manage(service: Service, emulator: Emulator) -> dict[str, Any]:
    """The node n1, of the first system of the emulator."""
    body = {"driver": "redfish", "name": "n1", "driver_info": emulator.driver_info()}
    service.baremetal("POST", "/nodes", body)
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "manage"}, status=202)
    service.work()
    return service.node("n1")


def inspect(service: Service) -> dict[str, Any]:
    service.baremetal("PUT", "/nodes/n1/states/provision", {"target": "inspect"}, status=202)
    service.work()
    return service.node("n1")


def bios(service: Service) -> dict[str, dict[str, Any]]:
    found = service.baremetal("GET", "/nodes/n1/bios?detail=True").json["bios"]
    return {each["name"]: each for each in found}


def firmware(service: Service) -> dict[str, tuple[str, str]]:
    found = service.baremetal("GET", "/nodes/n1/firmware").json["firmware"]
    return {each["component"]: (each["initial_version"], each["current_version"]) for each in found}


def test_settings_firmware_and_hardware(stage: Service, emulator: Emulator) -> None:
    """One machine, from being enrolled on: its state is kept by the emulator, so this is one story."""
    assert manage(stage, emulator)["provision_state"] == "manageable"
    assert bios(stage)["BootMode"]["value"] == "Uefi"
    assert bios(stage)["ProcTurboMode"]["allowable_values"] == ["Enabled", "Disabled"]

    after = clean(stage, apply(ProcTurboMode="Disabled", BootMode="Bios"))
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    shown = emulator.get(f"{emulator.path()}/BIOS")["Attributes"]
    assert (shown["ProcTurboMode"], shown["BootMode"]) == ("Disabled", "Bios")
    assert bios(stage)["ProcTurboMode"]["value"] == "Disabled"

    assert clean(stage, {"interface": "bios", "step": "factory_reset"})["last_error"] is None
    assert bios(stage)["ProcTurboMode"]["value"] == "Enabled"

    before = firmware(stage)["bios"][1]
    assert clean(stage, update(flash("bios")))["last_error"] is None
    assert firmware(stage)["bios"] == (before, emulator.get(emulator.path())["BiosVersion"])
    assert firmware(stage)["bios"][1] != before

    after = inspect(stage)
    assert (after["provision_state"], after["last_error"]) == ("manageable", None)
    assert after["properties"]["cpu_arch"] == "x86_64"
    assert after["properties"]["memory_mb"] > 0
    assert after["properties"]["local_gb"] == 836  # drive-1 has 899527000000 bytes
    inventory = stage.baremetal("GET", "/nodes/n1/inventory").json["inventory"]
    assert inventory["system_vendor"]["manufacturer"] == "Sushy Emulator"
    assert inventory["cpu"]["count"] > 0
    assert {disk["model"] for disk in inventory["disks"]} == {"C123"}


def test_boot_mode_and_secure_boot_answer_500(stage: Service, emulator: Emulator, row: Rows) -> None:
    for path, body in [("boot_mode", {"target": "uefi"}), ("secure_boot", {"target": True})]:
        with row(path, body):
            manage(stage, emulator)
            stage.baremetal("PUT", f"/nodes/n1/states/{path}", body, status=202)
            stage.work()
            node = stage.node("n1")
            assert node["reservation"] is None
            assert "HTTP 500" in node["last_error"]


def test_a_controller_without_all_that(stage: Service) -> None:
    """``--feature-set minimum``: the steps say what is missing, and an inspection finds what there is."""
    with minimum() as emulator:
        assert manage(stage, emulator)["provision_state"] == "manageable"
        assert inspect(stage)["last_error"] is None
        failed = clean(stage, apply(BootMode="Bios"))
        assert "does not support bios" in failed["last_error"]
        stage.baremetal("DELETE", "/nodes/n1/maintenance")
        stage.baremetal("PUT", "/nodes/n1/states/provision", {"target": "manage"}, status=202)
        stage.work()
        assert "Step firmware.update failed: " in clean(stage, update(flash("bmc")))["last_error"]
