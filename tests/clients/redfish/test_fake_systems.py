"""Twenty machines with controllers that speak Redfish, from enrolment to the end of an instance, with the ``openstack``
command only. The API runs where it can connect to no controller."""

from collections.abc import Iterator

import pytest

from tests.clients.redfish.site import USERS, WAIT, Site, site
from tests.emulators import Emulator, ImageServer, fake_systems, image_server

FLEET = tuple(f"machine-{number}" for number in range(1, 21))


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """Twenty systems for the fleet, and two for what changes a machine's life."""
    with fake_systems(22, users=USERS) as running:
        yield running


@pytest.fixture(scope="module")
def images() -> Iterator[ImageServer]:
    with image_server() as running:
        yield running


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, emulator: Emulator) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), emulator) as running:
        yield running


def test_twenty_machines(here: Site, emulator: Emulator) -> None:
    """Managed, inspected and provided all at once: placement offers every one, and claims go to machines."""
    here.enrol(emulator, *FLEET)
    names = " ".join(FLEET)
    here.openstack(f"baremetal node manage {names} {WAIT}")
    here.openstack(f"baremetal node inspect {names} {WAIT}")
    ports = here.openstack("baremetal port list -f json")
    assert {port["address"] for port in ports} == {f"52:54:00:fa:00:{number:02x}" for number in range(1, 21)}

    here.openstack(f"baremetal node provide {names} {WAIT}")
    nodes = here.openstack("baremetal node list -f json")
    assert {(node["provision_state"], node["power_state"]) for node in nodes} == {("available", "power off")}
    offered = here.openstack("allocation candidate list --resource CUSTOM_GOLD=1 -f json")
    assert len(offered) == len(FLEET)


def test_power(here: Site, emulator: Emulator) -> None:
    """On, off, reboot, soft and hard: what the node says is what the controller says."""
    name, path = "powered", emulator.path(20)
    here.enrol(emulator, name, first=20)
    here.openstack(f"baremetal node manage {name} {WAIT}")
    for command, state, machine in (
        ("power on", "power on", "On"),
        ("reboot", "power on", "On"),
        ("power off --soft", "power off", "Off"),
        ("reboot", "power on", "On"),
        ("power off", "power off", "Off"),
    ):
        here.power(command, name, state)
        assert emulator.get(path)["PowerState"] == machine, command
    here.openstack(f"baremetal node delete {name}")


def test_boot_device_boot_mode_and_secure_boot(here: Site, emulator: Emulator) -> None:
    """The boot device of a machine, and its boot mode."""
    name, path = "booted", emulator.path(20)
    here.enrol(emulator, name, first=20)
    here.openstack(f"baremetal node manage {name} {WAIT}")
    show = f"baremetal node boot device show {name} -f json"
    supported = here.openstack(f"{show} --supported")["supported_boot_devices"]
    assert {"pxe", "disk", "cdrom"} <= set(supported.split(", "))
    here.openstack(f"baremetal node boot device set {name} pxe")
    assert here.openstack(show)["boot_device"] == "pxe"
    assert emulator.get(path)["Boot"]["BootSourceOverrideTarget"] == "Pxe"

    for mode, word in (("bios", "Legacy"), ("uefi", "UEFI")):
        here.openstack(f"baremetal node boot mode set {name} {mode}")
        here.wait_for(name, boot_mode=mode, reservation=None, last_error=None)
        assert emulator.get(path)["Boot"]["BootSourceOverrideMode"] == word
    for word, wanted in (("on", True), ("off", False)):
        here.openstack(f"baremetal node secure boot {word} {name}")
        here.wait_for(name, secure_boot=wanted, reservation=None, last_error=None)
        assert emulator.get(f"{path}/SecureBoot")["SecureBootEnable"] is wanted
    here.openstack(f"baremetal node delete {name}")


def test_ramdisk(here: Site, emulator: Emulator, images: ImageServer) -> None:
    """An image is booted from virtual media, without a disk; undeploy takes it out again. ``eject_vmedia`` does so
    at once."""
    name, cd = "deployed", f"{emulator.path(21)}/VirtualMedia/Cd"
    here.enrol(emulator, name, first=21, resource_class="ramdisk")
    here.openstack(f"baremetal node manage {name} {WAIT}")
    here.openstack(f"baremetal node provide {name} {WAIT}")
    here.openstack(f"baremetal node set {name} --instance-info boot_iso={images.image()}")
    shown = here.openstack(f"baremetal node validate {name} -f json")
    assert {each["Interface"]: each["Result"] for each in shown}["deploy"] is True

    here.openstack(f"baremetal node deploy {name} {WAIT}")
    node = here.node(name)
    assert (node["provision_state"], node["power_state"]) == ("active", "power on")
    assert emulator.get(cd)["Inserted"] is True
    assert emulator.get(emulator.path(21))["PowerState"] == "On"
    assert images.fetched

    here.openstack(f"baremetal node undeploy {name} {WAIT}")
    node = here.node(name)
    assert (node["provision_state"], node["power_state"]) == ("available", "power off")
    assert emulator.get(cd)["Inserted"] is False

    here.openstack(f"baremetal node set {name} --instance-info boot_iso={images.image()}")
    here.openstack(f"baremetal node deploy {name} {WAIT}")
    here.openstack(f"baremetal node passthru call {name} eject_vmedia --http-method POST")
    here.wait_for(name, reservation=None, last_error=None)
    assert emulator.get(cd)["Inserted"] is False
    here.openstack(f"baremetal node undeploy {name} {WAIT}")


def test_cleaning_needs_an_agent(here: Site, emulator: Emulator) -> None:
    """No request waits for an agent that does not come: the answer says at once what to do."""
    name = "cleaned"
    here.enrol(emulator, name, first=20, automated_clean=True)
    here.openstack(f"baremetal node manage {name} {WAIT}")
    done = here.openstack.run(f"baremetal node provide {name} {WAIT}".split())
    assert done.returncode != 0
    node = here.wait_for(name, reservation=None)
    assert "automated_clean" in (node["last_error"] or done.stderr)
