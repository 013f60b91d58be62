"""Machines behind controllers that others wrote: images are inserted, booted, and ejected."""

from collections.abc import Iterator
from typing import Any

import pytest

from baremetal_sched.drivers import power_waiting
from baremetal_sched.drivers.redfish import virtual_media
from tests.emulators import Emulator, ImageServer, fake_systems, image_server, minimum
from tests.functional.baremetal.provisioning import do, state_of
from tests.leaks import WATCH
from tests.restored import Rows
from tests.service import Service, fault

#: Slow, as emulators are processes.
pytestmark = [pytest.mark.sqlite_only, pytest.mark.slow]

SYSTEMS = 30
MAC = "52:54:00:fa:00:01"
SETTINGS: dict[str, dict[str, Any]] = {
    "DEFAULT": {
        "enabled_hardware_types": ["redfish", "fake-hardware"],
        "enabled_inspect_interfaces": ["redfish", "agent", "fake"],
    },
    "redfish": {"connection_attempts": 1, "vmedia_insert_timeout": 1, "vmedia_insert_poll_interval": 0.1},
}


@pytest.fixture(scope="module")
def images() -> Iterator[ImageServer]:
    with image_server() as images:
        yield images


@pytest.fixture(scope="module")
def systems() -> Iterator[tuple[Emulator, Iterator[int]]]:
    """An emulator, and the numbers of systems that no test has used."""
    with fake_systems(SYSTEMS, users={"admin": "Emulated-Passw0rd"}) as emulator:
        yield emulator, iter(range(SYSTEMS))


@pytest.fixture
def service(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(power_waiting, "PACE", power_waiting.Pace(first=0.05, settle=0.2))
    monkeypatch.setattr(virtual_media, "_PAUSE", 0)
    with Service(database_url, **SETTINGS) as service:
        service.add_conductor("c1")
        yield service


class Machine:
    """A system of an emulator, and what it does."""

    def __init__(self, emulator: Emulator, number: int) -> None:
        self.emulator, self.number = emulator, number

    @property
    def power(self) -> str:
        return str(self.emulator.get(self.emulator.path(self.number))["PowerState"])

    @property
    def boots(self) -> str:
        """Its boot device. (The emulator does not distinguish once from always.)"""
        return str(self.emulator.get(self.emulator.path(self.number))["Boot"]["BootSourceOverrideTarget"])

    @property
    def is_secure(self) -> bool:
        """Whether secure boot is switched on."""
        return bool(self.emulator.get(f"{self.emulator.path(self.number)}/SecureBoot")["SecureBootEnable"])

    @property
    def disc(self) -> Any:
        """The image in the drive, None if there is none."""
        device = self.emulator.get(f"{self.emulator.path(self.number)}/VirtualMedia/Cd")
        return device["Image"] if device["Inserted"] else None


def enrol(service: Service, emulator: Emulator, number: int, **fields: Any) -> Machine:
    """The node n1, manageable, whose machine this is."""
    info = emulator.driver_info(number, redfish_auth_type="basic") | fields.pop("driver_info", {})
    body = {"driver": "redfish", "name": "n1", "driver_info": info, "automated_clean": False, **fields}
    service.baremetal("POST", "/nodes", body)
    assert state_of(do(service, "manage")) == ("manageable", None)
    return Machine(emulator, number)


@pytest.fixture
def machine(service: Service, systems: tuple[Emulator, Iterator[int]]) -> Machine:
    emulator, free = systems
    return enrol(service, emulator, next(free))


def deploy(service: Service, url: str, **more: Any) -> dict[str, Any]:
    service.patch("n1", ("replace", "/instance_info", {"boot_iso": url, **more}))
    return do(service, "active")


def test_an_instance_runs_from_memory(service: Service, machine: Machine, images: ImageServer) -> None:
    do(service, "provide")
    shown = deploy(service, images.image(), capabilities={"boot_mode": "bios"})
    assert (state_of(shown), shown["power_state"], shown["last_error"]) == (("active", None), "power on", None)
    assert (machine.power, machine.disc, machine.boots) == ("On", images.image(), "Cd")
    assert shown["boot_mode"] == "bios"

    shown = do(service, "rebuild")
    assert (state_of(shown), machine.power, machine.disc) == (("active", None), "On", images.image())

    shown = do(service, "deleted")
    assert (state_of(shown), machine.power, machine.disc) == (("available", None), "Off", None)


def test_secure_boot_is_switched_on_and_off_again(service: Service, machine: Machine, images: ImageServer) -> None:
    do(service, "provide")
    shown = deploy(service, images.image(), capabilities={"secure_boot": "true"})
    assert (state_of(shown), shown["boot_mode"], shown["secure_boot"]) == (("active", None), "uefi", True)
    assert machine.is_secure
    shown = do(service, "deleted")
    assert (state_of(shown), shown["secure_boot"], machine.is_secure) == (("available", None), False, False)


def test_automated_cleaning_would_need_an_agent(service: Service, machine: Machine) -> None:
    service.patch("n1", ("replace", "/automated_clean", True))
    shown = do(service, "provide")
    assert state_of(shown) == ("clean failed", "available")
    assert "its deploy interface 'ramdisk' boots none" in shown["last_error"]
    do(service, "manage")
    service.patch("n1", ("replace", "/automated_clean", False))
    assert state_of(do(service, "provide")) == ("available", None)


def test_an_image_that_cannot_be_fetched(service: Service, machine: Machine, images: ImageServer) -> None:
    do(service, "provide")
    shown = deploy(service, images.image("missing.iso"))
    assert state_of(shown) == ("deploy failed", "active")
    assert f"did not insert {images.image('missing.iso')} into 'cdrom'" in shown["last_error"]
    assert "got error 404 from the server" in shown["last_error"]
    assert (shown["reservation"], machine.power, machine.disc) == (None, "Off", None)
    assert state_of(deploy(service, images.image())) == ("active", None)


def test_another_image_is_in_the_drive(service: Service, machine: Machine, images: ImageServer) -> None:
    do(service, "provide")
    device = f"{machine.emulator.path(machine.number)}/VirtualMedia/Cd"
    insert = f"{device}/Actions/VirtualMedia.InsertMedia"
    machine.emulator.request("POST", insert, {"Image": images.image("left.iso")})
    assert state_of(deploy(service, images.image("new.iso"))) == ("active", None)
    assert machine.disc == images.image("new.iso")

    machine.emulator.request("POST", f"{device}/Actions/VirtualMedia.EjectMedia", {})
    shown = do(service, "deleted")  # somebody was faster
    assert (state_of(shown), shown["last_error"]) == (("available", None), None)


def test_a_controller_without_virtual_media(service: Service, images: ImageServer) -> None:
    with minimum() as emulator:
        enrol(service, emulator, 0)
        do(service, "provide")
        shown = deploy(service, images.image())
        assert state_of(shown) == ("deploy failed", "active")
        assert "has no virtual media, so that images cannot be inserted" in shown["last_error"]
        assert "has no virtual media" in fault(service.baremetal("GET", "/nodes/n1/vmedia", status=400))
        assert state_of(do(service, "deleted")) == ("available", None)


def test_media_by_hand(service: Service, machine: Machine, images: ImageServer) -> None:
    WATCH.told({"image": {"password": "Img-Passw0rd"}})
    url = images.image("tools.iso").replace("://", "://ann:Img-Passw0rd@")
    service.baremetal("POST", "/nodes/n1/vmedia", {"device_type": "cdrom", "image_url": url}, status=204)
    service.work()
    assert service.node("n1")["last_error"] is None
    shown = service.baremetal("GET", "/nodes/n1/vmedia").json
    assert shown == [
        {"media_types": ["CD", "DVD"], "inserted": True, "image": images.image("tools.iso")},
        {"media_types": ["Floppy", "USBStick"], "inserted": False, "image": None},
    ]
    service.baremetal("DELETE", "/nodes/n1/vmedia?device_types=cdrom", status=204)
    service.work()
    assert machine.disc is None

    body = {"device_type": "disk", "image_url": images.image("missing.img")}
    service.baremetal("POST", "/nodes/n1/vmedia", body, status=204)
    service.work()
    said = service.node("n1")["last_error"]
    assert said.startswith(f"Could not attach device disk to node {service.node('n1')['uuid']}: ")
    assert "got error 404 from the server" in said


def test_media_are_ejected_by_the_vendors_method(
    service: Service, machine: Machine, images: ImageServer, row: Rows
) -> None:
    for body in [{}, {"boot_device": "cd"}, {"boot_device": "DVD"}]:
        with row(body):
            body_of_image = {"device_type": "cdrom", "image_url": images.image()}
            service.baremetal("POST", "/nodes/n1/vmedia", body_of_image, status=204)
            service.work()
            assert machine.disc
            call = "/nodes/n1/vendor_passthru?method=eject_vmedia"
            for wrong in ({"boot_device": "tape"}, {"boot_device": ["cd"]}, {"device": "cd"}):
                service.baremetal("POST", call, wrong, status=400)
            service.baremetal("POST", call, body, status=202)
            service.work()
            assert machine.disc is None


def test_an_agent_is_booted_to_inspect(service: Service, machine: Machine, images: ImageServer) -> None:
    service.patch("n1", ("add", "/inspect_interface", "agent"))
    service.baremetal("POST", "/ports", {"node_uuid": service.node("n1")["uuid"], "address": MAC})
    shown = do(service, "inspect")
    assert state_of(shown) == ("inspect failed", "manageable")
    assert "driver_info/deploy_iso is missing" in shown["last_error"]
    service.patch("n1", ("add", "/driver_info/deploy_iso", images.image("agent.iso")))
    assert do(service, "inspect")["provision_state"] == "inspect wait"
    assert (machine.power, machine.disc, machine.boots) == ("On", images.image("agent.iso"), "Cd")
    found = {"interfaces": [{"name": "eth0", "mac_address": MAC}], "cpu": {"architecture": "x86_64"}}
    service.baremetal("POST", "/continue_inspection", {"inventory": found}, status=202)
    service.work()
    assert state_of(service.node("n1")) == ("manageable", None)
    assert (machine.power, machine.disc) == ("Off", None)


def test_validate_says_what_is_missing(service: Service, systems: tuple[Emulator, Iterator[int]], row: Rows) -> None:
    for deploy_interface, driver_info, reasons in [
        ("ramdisk", {}, {"boot": "instance_info/boot_iso is missing", "deploy": "instance_info/boot_iso is missing"}),
        ("direct", {}, {"boot": "driver_info/deploy_iso is missing", "deploy": "driver_info/deploy_iso is missing"}),
        ("direct", {"deploy_iso": "file:///a"}, {"boot": "driver_info/deploy_iso must be a URL that the machine's"}),
        ("direct", {"rescue_iso": 7}, {"boot": "driver_info/rescue_iso must be a URL"}),
    ]:
        with row(deploy_interface, driver_info, reasons):
            emulator, _ = systems
            enrol(service, emulator, 0, deploy_interface=deploy_interface, driver_info=driver_info)
            report = service.baremetal("GET", "/nodes/n1/validate").json
            for interface, reason in reasons.items():
                assert reason in report[interface]["reason"]
