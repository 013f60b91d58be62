"""Management by Redfish: with our own controller, and with those of sushy-tools, which are processes, and slow."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from baremetal_sched.drivers.redfish import boot_settings, connection
from baremetal_sched.drivers.redfish.boot_settings import REMEMBERED
from baremetal_sched.drivers.redfish.management import RedfishManagement
from baremetal_sched.drivers.redfish.power import RedfishPower
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable, UnsupportedByDriver
from baremetal_sched.machines.machine import NOTHING, Effect, Machine
from tests.emulators import Emulator, fake_systems, libvirt_systems, minimum
from tests.redfish import machine, quick
from tests.redfish_service import Fault, RedfishService

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("fast")]

MANAGEMENT = RedfishManagement()


@pytest.fixture(scope="module")
def fake() -> Iterator[Emulator]:
    with fake_systems(2, users={"admin": "fake-password-1"}) as emulator:
        yield emulator
        connection.close_all(5)


@pytest.fixture(scope="module")
def small() -> Iterator[Emulator]:
    with minimum() as emulator:
        yield emulator
        connection.close_all(5)


@pytest.fixture(scope="module")
def libvirt() -> Iterator[Emulator]:
    with libvirt_systems() as emulator:
        yield emulator
        connection.close_all(5)


def at(place: Emulator | RedfishService, **options: Any) -> Machine:
    return machine(settings=quick(post_boot_retry_delay=0.01, read_timeout=10, **options), **place.driver_info())


@pytest.mark.slow
def test_boot_devices_of_sushys(fake: Emulator, subtests: pytest.Subtests) -> None:
    for device in ["pxe", "disk", "cdrom"]:
        with subtests.test(msg=repr(device)):
            assert MANAGEMENT.set_boot_device(at(fake), device, persistent=True) == NOTHING
            assert MANAGEMENT.get_boot_device(at(fake)) == {"boot_device": device, "persistent": True}


def test_boot_devices(bmc: RedfishService, subtests: pytest.Subtests) -> None:
    for device in ["pxe", "disk", "cdrom"]:
        with subtests.test(msg=repr(device)):
            for persistent in (False, True):
                assert MANAGEMENT.set_boot_device(at(bmc), device, persistent=persistent) == NOTHING
                assert MANAGEMENT.get_boot_device(at(bmc)) == {"boot_device": device, "persistent": persistent}


def test_boot_devices_that_are_none(bmc: RedfishService) -> None:
    supported = MANAGEMENT.get_supported_boot_devices(at(bmc))
    of_the_api = ("pxe", "disk", "cdrom", "bios", "safe", "wanboot", "iscsiboot", "floppy", "uefihttp")
    assert set(supported) < set(of_the_api)
    with pytest.raises(InvalidValue, match=r"Invalid boot device wanboot specified"):
        MANAGEMENT.set_boot_device(at(bmc), "wanboot", persistent=False)
    bmc.controller.boot["BootSourceOverrideTarget@Redfish.AllowableValues"] = ["None", "Pxe"]  # type: ignore[assignment]
    with pytest.raises(ControllerError, match=r"cannot boot the machine from disk, but from: pxe\."):
        MANAGEMENT.set_boot_device(at(bmc), "disk", persistent=False)


class Once(Fault):
    """A controller that takes a boot device for one boot only."""

    def takes(self, method: str, path: str) -> bool:
        return method == "PATCH" and self.service.controller.journal[-1].count("Continuous") > 0

    service: RedfishService


def test_a_controller_that_forgets_its_boot_device(bmc: RedfishService) -> None:
    fault = Once(status=400)
    fault.service = bmc
    bmc.controller.faults = [fault]
    target = at(bmc)
    assert MANAGEMENT.set_boot_device(target, "disk", persistent=True) == Effect(internal={REMEMBERED: "disk"})
    assert bmc.controller.boot["BootSourceOverrideEnabled"] == "Once"
    bmc.controller.boot |= {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}
    target = replace(target, driver_internal_info={REMEMBERED: "disk"})
    RedfishPower().set_power_state(target, "power on")
    assert bmc.controller.boot["BootSourceOverrideTarget"] == "Hdd"
    assert MANAGEMENT.set_boot_device(target, "pxe", persistent=False) == Effect(internal={REMEMBERED: None})


POST = b'{"error": {"code": "iLO.2.14.UnableToModifyDuringSystemPOST", "message": "POST"}}'


def test_a_machine_that_is_starting(bmc: RedfishService) -> None:
    bmc.controller.faults = [Fault(method="PATCH", status=400, body=POST, times=3)]
    assert MANAGEMENT.set_boot_device(at(bmc), "pxe", persistent=False) == NOTHING
    bmc.controller.faults = [Fault(method="PATCH", status=400, body=POST)]
    with pytest.raises(ControllerError, match="POST"):
        MANAGEMENT.set_boot_device(at(bmc, post_boot_retry_attempts=2), "disk", persistent=False)


@pytest.mark.parametrize(("vendor", "sent"), [("Ami", {"mode", "enabled"}), ("Supermicro", {"enabled"}), (None, set())])
def test_what_some_manufacturers_want_to_be_told(bmc: RedfishService, vendor: str | None, sent: set[str]) -> None:
    bmc.controller.boot["BootSourceOverrideEnabled"] = "Once"
    target = replace(at(bmc), properties={"vendor": vendor} if vendor else {})
    MANAGEMENT.set_boot_device(target, "pxe", persistent=False)
    told = next(line for line in bmc.controller.journal if line.startswith("PATCH"))
    assert {name for name in ("mode", "enabled") if f"BootSourceOverride{name.title()}" in told} == sent


def test_a_controller_that_does_not_say_what_it_boots_from(bmc: RedfishService, subtests: pytest.Subtests) -> None:
    for boot in [{}, {"BootSourceOverrideTarget": 7}, {"BootSourceOverrideTarget": "Moon"}]:
        with subtests.test(msg=repr(boot)):
            bmc.controller.boot = boot
            assert MANAGEMENT.get_boot_device(at(bmc)) == {"boot_device": None, "persistent": None}
            assert MANAGEMENT.get_boot_settings(at(bmc))["boot_mode"] is None


@pytest.mark.slow
def test_boot_mode_and_secure_boot(fake: Emulator) -> None:
    target = at(fake)
    found = MANAGEMENT.get_boot_settings(target)
    assert found["boot_mode"] in ("bios", "uefi")
    for mode in ("bios", "uefi"):
        assert MANAGEMENT.set_boot_mode(target, mode).fields == {"boot_mode": mode}
        assert MANAGEMENT.get_boot_settings(target)["boot_mode"] == mode
    for enabled in (True, False):
        assert MANAGEMENT.set_secure_boot(target, enabled).fields == {"secure_boot": enabled}
        assert MANAGEMENT.get_boot_settings(target) == {"boot_mode": "uefi", "secure_boot": enabled}


@pytest.mark.slow
def test_secure_boot_needs_uefi(fake: Emulator) -> None:
    MANAGEMENT.set_boot_mode(at(fake), "bios")
    with pytest.raises(InvalidValue, match="Secure boot needs boot mode 'uefi'"):
        MANAGEMENT.set_secure_boot(at(fake), True)
    MANAGEMENT.set_boot_mode(at(fake), "uefi")


class AfterReboot(Fault):
    """A machine that changes its boot mode when it is switched on, and is asked to at once."""

    service: RedfishService
    wanted = ""

    def takes(self, method: str, path: str) -> bool:
        controller = self.service.controller
        if method == "PATCH":
            controller.boot["BootSourceOverrideMode"] = "UEFI"
            self.wanted = "Legacy"
            return True
        if method == "POST" and '"On"' in controller.journal[-1] and self.wanted:
            controller.boot["BootSourceOverrideMode"] = self.wanted
        return False


@pytest.mark.parametrize(("before", "changes"), [("On", ["ForceOff", "On"]), ("Off", ["On", "ForceOff"])])
def test_a_machine_that_has_to_be_rebooted_for_its_boot_mode(
    bmc: RedfishService, before: str, changes: list[str]
) -> None:
    bmc.controller.power_state = before
    fault = AfterReboot(body=b"{}")
    fault.service = bmc
    bmc.controller.faults = [fault]
    state = {"On": "power on", "Off": "power off"}[before]
    effect = MANAGEMENT.set_boot_mode(replace(at(bmc), power_state=state), "bios")
    assert effect.fields == {"boot_mode": "bios", "power_state": state}
    assert bmc.controller.power_state == before
    resets = [line.split('"')[3] for line in bmc.controller.journal if "ComputerSystem.Reset" in line]
    assert resets == changes


def test_a_boot_mode_that_never_changes(bmc: RedfishService) -> None:
    bmc.controller.faults = [Fault(method="PATCH", body=b"{}")]
    with pytest.raises(ControllerError, match=r"took boot mode 'bios', but the machine still has another 0\.1 seconds"):
        MANAGEMENT.set_boot_mode(at(bmc, boot_mode_config_timeout=0.1), "bios")


def test_a_controller_that_neither_says_nor_takes_a_boot_mode(bmc: RedfishService) -> None:
    del bmc.controller.boot["BootSourceOverrideMode"]
    bmc.controller.faults = [Fault(method="PATCH", status=400)]
    with pytest.raises(UnsupportedByDriver, match="set_boot_mode"):
        MANAGEMENT.set_boot_mode(at(bmc), "bios")


def test_a_controller_that_fails_when_it_is_asked_for_secure_boot(bmc: RedfishService) -> None:
    bmc.controller.faults = [Fault(path="SecureBoot", status=500)]
    assert MANAGEMENT.get_boot_settings(at(bmc)) == {"boot_mode": "uefi", "secure_boot": None}


@pytest.mark.slow
def test_libvirt(libvirt: Emulator) -> None:
    """Its boot mode and secure boot answer 500."""
    target = at(libvirt)
    assert MANAGEMENT.get_boot_device(target)["boot_device"] is not None
    MANAGEMENT.set_boot_device(target, "pxe", persistent=True)
    assert MANAGEMENT.get_boot_device(target)["boot_device"] == "pxe"
    assert set(MANAGEMENT.get_boot_settings(target)) == {"boot_mode", "secure_boot"}
    with pytest.raises(SchedulerError):
        MANAGEMENT.set_boot_mode(target, "uefi")
    with pytest.raises(SchedulerError):
        MANAGEMENT.set_secure_boot(target, True)
    assert MANAGEMENT.get_mac_addresses(target)


@pytest.mark.slow
def test_a_controller_with_little(small: Emulator) -> None:
    target = at(small)
    assert RedfishPower().get_power_state(target) == "power off"
    assert MANAGEMENT.get_supported_indicators(target) == {}
    assert MANAGEMENT.get_mac_addresses(target) == []
    assert MANAGEMENT.get_boot_settings(target)["secure_boot"] is None
    with pytest.raises(UnsupportedByDriver):
        MANAGEMENT.set_secure_boot(target, True)
    assert RedfishPower().set_power_state(target, "power on") == "power on"


@pytest.mark.slow
def test_lamps(fake: Emulator) -> None:
    target = at(fake)
    found = MANAGEMENT.get_supported_indicators(target)
    (name,) = found["system"]
    assert found["system"][name] == {"readonly": False, "states": ["blinking", "off", "on"]}
    for state in ("on", "blinking", "off"):
        MANAGEMENT.set_indicator_state(target, "system", name, state)
        assert MANAGEMENT.get_indicator_state(target, "system", name) == state
    with pytest.raises(InvalidValue, match="no indicator moon"):
        MANAGEMENT.get_indicator_state(target, "system", "moon")
    with pytest.raises(InvalidValue, match="Invalid indicator state purple"):
        MANAGEMENT.set_indicator_state(target, "system", name, "purple")


@pytest.mark.slow
def test_addresses_of_network_interfaces_of_sushys(fake: Emulator) -> None:
    assert MANAGEMENT.get_mac_addresses(at(fake)) == ["52:54:00:fa:00:01"]


def test_addresses_of_network_interfaces(bmc: RedfishService) -> None:
    assert MANAGEMENT.get_mac_addresses(at(bmc)) == ["52:54:00:aa:00:01"]


def test_interrupts(bmc: RedfishService) -> None:
    MANAGEMENT.inject_nmi(at(bmc))
    assert bmc.controller.asked("POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset") == 1
    bmc.controller.reset_types = ["On"]
    with pytest.raises(ControllerError, match=r"offers no reset of type Nmi\. It offers: On\."):
        MANAGEMENT.inject_nmi(at(bmc))


@pytest.mark.slow
def test_a_wrong_password(fake: Emulator) -> None:
    target = machine(settings=quick(), **fake.driver_info(redfish_password="wrong-password-1"))
    for ask in (MANAGEMENT.get_boot_device, MANAGEMENT.get_supported_indicators, boot_settings.known):
        with pytest.raises(MachineUnreachable, match="refused the credentials"):
            ask(target)
