# tier: first
"""Power by Redfish: asked for, waited for, and what controllers do instead."""

from dataclasses import replace
from typing import Any

import pytest

from baremetal_sched.drivers.redfish.boot_settings import REMEMBERED
from baremetal_sched.drivers.redfish.power import RedfishPower
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import ControllerError, MachineUnreachable, PowerNotReached
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, POWER_TARGETS, REBOOT, SOFT_POWER_OFF, SOFT_REBOOT
from tests.redfish import machine, quick
from tests.redfish_service import Fault, RedfishService

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("fast")]

RESET = "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset"


def at(service: RedfishService, **options: Any) -> Machine:
    settings = quick(power_on_conflict_retry_interval=0.01, **options)
    return machine(settings=settings, **service.driver_info())


def resets(service: RedfishService) -> list[str]:
    """The resets that the controller was asked for."""
    journal = service.controller.journal
    return [line.split('"')[3] for line in journal if line.startswith(RESET)]


@pytest.mark.parametrize(
    ("before", "target", "asked"),
    [
        ("Off", POWER_ON, ["On"]),
        ("On", POWER_ON, []),
        ("On", POWER_OFF, ["ForceOff"]),
        ("Off", POWER_OFF, []),
        ("On", SOFT_POWER_OFF, ["GracefulShutdown"]),
        ("On", REBOOT, ["ForceOff", "On"]),
        ("Off", REBOOT, ["On"]),
        ("On", SOFT_REBOOT, ["GracefulRestart"]),
        ("Off", SOFT_REBOOT, ["On"]),
    ],
)
def test_what_is_asked_for(bmc: RedfishService, before: str, target: str, asked: list[str]) -> None:
    bmc.controller.power_state, bmc.controller.power_seconds = before, 0.05
    assert RedfishPower().set_power_state(at(bmc), target) == POWER_TARGETS[target]
    assert resets(bmc) == asked
    assert RedfishPower().get_power_state(at(bmc)) == POWER_TARGETS[target]


def test_a_machine_that_must_not_go_off_is_reset(bmc: RedfishService) -> None:
    bmc.controller.power_state = "On"
    target = replace(at(bmc), disable_power_off=True)
    assert RedfishPower().set_power_state(target, REBOOT) == POWER_ON
    assert resets(bmc) == ["ForceRestart"]
    for refused in (POWER_OFF, SOFT_POWER_OFF):
        with pytest.raises(InvalidValue, match="disable_power_off"):
            RedfishPower().set_power_state(target, refused)


def test_a_controller_that_cannot_restart_a_system(bmc: RedfishService) -> None:
    bmc.controller.power_state = "On"
    bmc.controller.reset_types = ["On", "ForceOff", "GracefulShutdown"]
    assert RedfishPower().set_power_state(at(bmc), SOFT_REBOOT) == POWER_ON
    assert resets(bmc) == ["GracefulShutdown", "On"]


def test_a_controller_with_little_to_offer(bmc: RedfishService) -> None:
    bmc.controller.reset_types = ["ForceOn", "PushPowerButton"]
    assert RedfishPower().set_power_state(at(bmc), POWER_ON) == POWER_ON
    assert resets(bmc) == ["ForceOn"]
    with pytest.raises(ControllerError, match=r"no reset of type ForceOff. It offers: ForceOn, PushPowerButton\."):
        RedfishPower().set_power_state(at(bmc), POWER_OFF)


@pytest.mark.usefixtures("patient")
def test_power_that_never_changes(bmc: RedfishService) -> None:
    bmc.controller.power_sticks = True
    with pytest.raises(PowerNotReached, match="is in power state 'power off', not in 'power on', 1 seconds"):
        RedfishPower().set_power_state(at(bmc), POWER_ON, 1)


def test_a_refusal_while_it_is_so_already_is_none(bmc: RedfishService, subtests: pytest.Subtests) -> None:
    """The machine was faster: it is on when the request arrives."""
    for status in [400, 409]:
        with subtests.test(msg=repr(status)):
            done = Fault(path="ComputerSystem.Reset$", status=status)
            bmc.controller.faults = [done]
            switching = Fault(path="Systems/1$", method="GET", seconds=0.0, times=2)
            bmc.controller.faults.insert(0, switching)

            def takes(method: str, path: str) -> bool:
                if method == "POST" and path.endswith("ComputerSystem.Reset"):
                    bmc.controller.power_state = "On"
                return False

            bmc.controller.faults.insert(0, type("Spy", (Fault,), {"takes": staticmethod(takes)})())
            assert RedfishPower().set_power_state(at(bmc), POWER_ON) == POWER_ON


def test_a_refusal(bmc: RedfishService, subtests: pytest.Subtests) -> None:
    for status in [400, 409]:
        with subtests.test(msg=repr(status)):
            bmc.controller.faults = [Fault(path="ComputerSystem.Reset$", status=status)]
            with pytest.raises(ControllerError, match=rf"refused the request \(HTTP {status}\): The controller is out"):
                RedfishPower().set_power_state(at(bmc), POWER_ON)


CONFLICT = b'{"error": {"code": "Base.1.18.ActionParameterValueConflict", "message": "not yet"}}'


def test_a_controller_that_is_not_ready_yet_is_asked_again(bmc: RedfishService) -> None:
    bmc.controller.faults = [Fault(path="ComputerSystem.Reset$", status=409, body=CONFLICT, times=3)]
    assert RedfishPower().set_power_state(at(bmc), POWER_ON) == POWER_ON
    assert resets(bmc) == ["On"] * 4


def test_a_controller_that_is_never_ready(bmc: RedfishService) -> None:
    bmc.controller.faults = [Fault(path="ComputerSystem.Reset$", status=409, body=CONFLICT)]
    with pytest.raises(ControllerError, match="not yet"):
        RedfishPower().set_power_state(at(bmc, power_on_conflict_retry_attempts=2), POWER_ON)
    assert resets(bmc) == ["On"] * 3


def test_states_of_controllers(bmc: RedfishService, subtests: pytest.Subtests) -> None:
    for answer, state in [
        ("PoweringOn", POWER_ON),
        ("PoweringOff", POWER_OFF),
        ("Paused", None),
        ("Confused", None),
        (None, None),
    ]:
        with subtests.test(msg=repr((answer, state))):
            bmc.controller.system["PowerState"] = answer
            assert RedfishPower().get_power_state(at(bmc)) == state


def test_states_that_are_none(bmc: RedfishService, subtests: pytest.Subtests) -> None:
    for answer in [7, ["On"], {"a": 1}, True]:
        with subtests.test(msg=repr(answer)):
            bmc.controller.system["PowerState"] = answer
            assert power_or_error(at(bmc)) in (None, ControllerError)


def power_or_error(target: Machine) -> str | type[Exception] | None:
    try:
        return RedfishPower().get_power_state(target)
    except ControllerError:
        return ControllerError


def test_the_boot_device_is_restored_before_it_boots(bmc: RedfishService) -> None:
    target = replace(at(bmc), driver_internal_info={REMEMBERED: "disk"})
    for action, before in ((POWER_ON, "Off"), (REBOOT, "On"), (SOFT_REBOOT, "On")):
        bmc.controller.power_state = before
        bmc.controller.boot |= {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}
        RedfishPower().set_power_state(target, action)
        assert bmc.controller.boot["BootSourceOverrideTarget"] == "Hdd", action
        assert bmc.controller.boot["BootSourceOverrideEnabled"] == "Once"


def test_a_boot_device_that_cannot_be_restored_does_not_keep_it_off(bmc: RedfishService) -> None:
    bmc.controller.faults = [Fault(path="Systems/1", method="PATCH", status=500)]
    target = replace(at(bmc), driver_internal_info={REMEMBERED: "disk"})
    assert RedfishPower().set_power_state(target, POWER_ON) == POWER_ON


def test_a_controller_that_fails_while_it_is_waited_for(bmc: RedfishService) -> None:
    bmc.controller.power_seconds = 0.3
    bmc.controller.faults = [Fault(path="Systems/1$", method="GET", status=500, times=0)]
    fault = bmc.controller.faults[0]

    def takes(method: str, path: str) -> bool:
        if method == "POST" and path.endswith("ComputerSystem.Reset"):
            fault.times = 6
        return False

    bmc.controller.faults.insert(0, type("Spy", (Fault,), {"takes": staticmethod(takes)})())
    assert RedfishPower().set_power_state(at(bmc), POWER_ON, 5) == POWER_ON


def test_a_controller_that_is_gone(bmc: RedfishService) -> None:
    bmc.stop()
    with pytest.raises(MachineUnreachable, match="the connection was refused"):
        RedfishPower().set_power_state(at(bmc), POWER_ON, 5)
    bmc.start()
