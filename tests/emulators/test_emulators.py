"""The emulators do what tests rely on."""

from pathlib import Path

import requests

from tests.certificates import make_certificate
from tests.emulators import Emulator, fake_systems, image_server, libvirt_systems, minimum
from tests.waiting import wait_until


def _reset(emulator: Emulator, kind: str) -> None:
    emulator.request("POST", f"{emulator.path()}/Actions/ComputerSystem.Reset", {"ResetType": kind})


def test_fake_systems_are_switched_and_need_a_password(tmp_path: Path) -> None:
    """Twenty systems, TLS, users; power changes at once; virtual media are downloaded."""
    certificate = make_certificate(tmp_path)
    with fake_systems(20, users={"admin": "emulated-1"}, tls=certificate) as emulator, image_server() as images:
        assert len(emulator.systems) == 20
        assert emulator.get(emulator.path())["PowerState"] == "Off"
        _reset(emulator, "On")
        assert emulator.get(emulator.path())["PowerState"] == "On"
        assert emulator.get(emulator.path(1))["PowerState"] == "Off"

        insert = f"{emulator.path()}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
        emulator.request("POST", insert, {"Image": images.image()})
        assert images.fetched == ["/boot.iso"]

        answer = requests.get(f"{emulator.url}{emulator.path()}", verify=str(certificate.certificate), timeout=10)
        assert answer.status_code == 401
        assert emulator.asked()[-1] == f"GET {emulator.path()} 401"


def test_power_takes_time() -> None:
    """A change of power may show later, as it does with machines."""
    with fake_systems(power_seconds=(2, 2)) as emulator:
        _reset(emulator, "On")
        assert emulator.get(emulator.path())["PowerState"] == "Off"
        wait_until(lambda: emulator.get(emulator.path())["PowerState"] == "On", "power")


def test_minimum_lacks_what_is_asked_for() -> None:
    """No secure boot, no virtual media, no indicator."""
    with minimum() as emulator:
        system = emulator.get(emulator.path())
    assert {"SecureBoot", "VirtualMedia", "IndicatorLED", "Bios"}.isdisjoint(system)


def test_libvirt_has_bios_and_firmware() -> None:
    """BIOS settings and firmware are remembered from one request to the next."""
    with libvirt_systems() as emulator:
        bios = f"{emulator.path()}/BIOS"
        emulator.request("PATCH", f"{bios}/Settings", {"Attributes": {"QuietBoot": "false"}})
        assert emulator.get(bios)["Attributes"]["QuietBoot"] == "false"
        assert emulator.get(emulator.path())["BiosVersion"] == "1.0.0"
        update = {"ImageURI": "http://127.0.0.1/firmware", "Targets": [emulator.path()]}
        emulator.request("POST", "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate", update)
        assert emulator.get(emulator.path())["BiosVersion"] == "1.1.0"
        _reset(emulator, "ForceOff")
        assert emulator.get(emulator.path())["PowerState"] == "Off"
        drive = emulator.get(f"{emulator.path()}/Storage/1/Drives/drive-1")
        assert drive["CapacityBytes"] == 899527000000


def test_libvirt_domains_of_a_file(tmp_path: Path) -> None:
    """Any number of domains, if a file has them."""
    domain = """<domain type='test'><name>{0}</name><uuid>0000000{0}-0000-4000-8000-0000000000aa</uuid>
        <memory>2097152</memory><vcpu>2</vcpu><os><type arch='x86_64'>hvm</type></os></domain>"""
    xml = tmp_path / "domains.xml"
    xml.write_text(f"<node>{domain.format(1)}{domain.format(2)}</node>")
    with libvirt_systems(xml) as emulator:
        assert len(emulator.systems) == 2
        _reset(emulator, "ForceOff")
        assert [emulator.get(emulator.path(number))["PowerState"] for number in (0, 1)] == ["Off", "On"]
