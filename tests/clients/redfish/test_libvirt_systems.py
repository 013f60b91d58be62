"""BIOS settings and firmware of a machine, with the ``openstack`` command only: libvirt's test driver has both."""

import json
from collections.abc import Iterator

import pytest

from tests.clients.redfish.site import WAIT, Site, site
from tests.emulators import Emulator, libvirt_systems

NAME = "libvirt"


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with libvirt_systems() as running:
        yield running


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, emulator: Emulator) -> Iterator[Site]:
    """A machine that is manageable."""
    with site(tmp_path_factory.mktemp("site"), emulator) as running:
        running.enrol(emulator, NAME)
        running.openstack(f"baremetal node manage {NAME} {WAIT}")
        yield running


def _setting(here: Site, name: str) -> str:
    value: str = here.openstack(f"baremetal node bios setting show {NAME} {name} -f json")["value"]
    return value


def test_bios_settings(here: Site, emulator: Emulator) -> None:
    """A step changes a setting; another one puts all back."""
    here.clean(NAME, "bios", "apply_configuration", settings=[{"name": "QuietBoot", "value": "false"}])
    assert _setting(here, "QuietBoot") == "false"
    assert emulator.get(f"{emulator.path()}/BIOS")["Attributes"]["QuietBoot"] == "false"
    here.clean(NAME, "bios", "factory_reset")
    assert _setting(here, "QuietBoot") == "true"
    listed = here.openstack(f"baremetal node bios setting list {NAME} -f json")
    assert {row["name"] for row in listed} >= {"QuietBoot", "NumCores", "ProcTurboMode"}


def test_firmware(here: Site, emulator: Emulator) -> None:
    """A step updates the BIOS, and its version is known afterwards."""
    component = {"component": "bios", "url": "http://127.0.0.1/bios.bin"}
    here.clean(NAME, "firmware", "update", settings=[component])
    assert emulator.get(emulator.path())["BiosVersion"] == "1.1.0"
    listed = here.openstack(f"baremetal node firmware list {NAME} -f json")
    assert {row["component"]: row["current_version"] for row in listed}["bios"] == "1.1.0"


def test_inspection(here: Site) -> None:
    """Processors, memory and ports are found without an agent."""
    here.openstack(f"baremetal node inspect {NAME} {WAIT}")
    here.openstack(f"baremetal node inventory save {NAME} --file {here.home / 'inventory.json'}")
    inventory = json.loads((here.home / "inventory.json").read_text())["inventory"]
    assert inventory["cpu"]["count"] > 0
    assert inventory["memory"]["physical_mb"] > 0
    assert here.node(NAME)["properties"]["cpu_arch"]
