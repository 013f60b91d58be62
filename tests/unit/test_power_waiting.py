"""Switching real machines: what their controllers are asked, how long they are waited for, and what is said then."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.power_waiting import Pace, ensure_power, wait_for
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import CallGivenUp, MachineUnreachable, PowerNotReached
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, POWER_TARGETS, REBOOT, SOFT_POWER_OFF, SOFT_REBOOT


class Controller:
    """A machine that takes ``takes`` seconds to switch, by a clock of its own; ``log`` has what happened."""

    def __init__(self, state: str | None = POWER_OFF, *, takes: float = 3, restarts: tuple[str, ...] = ()) -> None:
        self.now = 0.0
        self.restarts = restarts
        self.takes = takes
        self.log: list[str] = []
        self.silent_until = -1.0
        self.refuses: Exception | None = None
        self.ignores: set[str] = set()
        self._coming = [(0.0, state)]

    def pace(self) -> Pace:
        return Pace(sleep=self._sleep, clock=lambda: self.now)

    def _sleep(self, seconds: float) -> None:
        assert 0 < seconds <= Pace.longest
        self.now += seconds

    def read(self) -> str | None:
        if self.now < self.silent_until:
            raise MachineUnreachable(address="10.0.0.1", reason="no answer")
        return [state for since, state in self._coming if since <= self.now][-1]

    def request(self, target: str) -> None:
        self.log.append(target)
        if target not in self.ignores:
            if target in (REBOOT, SOFT_REBOOT):
                self._coming.append((self.now + self.takes, POWER_OFF))
                self._coming.append((self.now + 2 * self.takes, POWER_ON))
            else:
                self._coming.append((self.now + self.takes, POWER_TARGETS[target]))
        if self.refuses is not None:
            raise self.refuses

    def bring(self, target: str, timeout: float | None = None, **node: Any) -> str:
        options = SimpleNamespace(power_state_change_timeout=60, soft_power_off_timeout=600)
        machine: Any = SimpleNamespace(disable_power_off=False, settings=SimpleNamespace(conductor=options))
        machine.__dict__.update(node)
        restore: Callable[[], None] = lambda: self.log.append("boot device")  # noqa: E731
        return ensure_power(machine, self, target, timeout, restore_boot_device=restore, pace=self.pace())


def test_what_is_asked_of_a_controller(subtests: pytest.Subtests) -> None:
    for state, target, restarts, node, asked in [
        (POWER_OFF, POWER_ON, (), {}, ["boot device", POWER_ON]),
        (POWER_ON, POWER_ON, (), {}, []),
        (None, POWER_ON, (), {}, ["boot device", POWER_ON]),
        (POWER_ON, POWER_OFF, (), {}, [POWER_OFF]),
        (POWER_OFF, POWER_OFF, (), {}, []),
        (POWER_ON, SOFT_POWER_OFF, (), {}, [SOFT_POWER_OFF]),
        (POWER_OFF, SOFT_POWER_OFF, (), {}, []),
        (POWER_ON, REBOOT, (REBOOT,), {}, [POWER_OFF, "boot device", POWER_ON]),
        (POWER_OFF, REBOOT, (REBOOT,), {}, ["boot device", POWER_ON]),
        (None, REBOOT, (), {}, [POWER_OFF, "boot device", POWER_ON]),
        (POWER_ON, REBOOT, (REBOOT,), {"disable_power_off": True}, ["boot device", REBOOT]),
        (POWER_OFF, REBOOT, (REBOOT,), {"disable_power_off": True}, ["boot device", POWER_ON]),
        (POWER_ON, SOFT_REBOOT, (SOFT_REBOOT,), {}, ["boot device", SOFT_REBOOT]),
        (POWER_ON, SOFT_REBOOT, (SOFT_REBOOT,), {"disable_power_off": True}, ["boot device", SOFT_REBOOT]),
        (POWER_ON, SOFT_REBOOT, (REBOOT,), {}, [SOFT_POWER_OFF, "boot device", POWER_ON]),
        (POWER_OFF, SOFT_REBOOT, (), {}, ["boot device", POWER_ON]),
    ]:
        with subtests.test(state=state, target=target, restarts=restarts, node=node):
            controller = Controller(state, restarts=restarts)
            assert controller.bring(target, **node) == POWER_TARGETS[target]
            assert controller.log == asked
            assert controller.read() == POWER_TARGETS[target] or target == SOFT_REBOOT


def test_a_machine_that_must_not_go_off_is_never_asked_to(subtests: pytest.Subtests) -> None:
    for target, restarts, said in [
        (POWER_OFF, (REBOOT,), "'power off' is refused: the node forbids to switch its power off"),
        (SOFT_POWER_OFF, (), "'soft power off' is refused: the node forbids to switch its power off"),
        (REBOOT, (), "'rebooting' is refused: it needs the power to go off, which the node forbids"),
        (SOFT_REBOOT, (REBOOT,), "'soft rebooting' is refused: it needs the power to go off"),
    ]:
        with subtests.test(target=target):
            controller = Controller(POWER_ON, restarts=restarts)
            with pytest.raises(InvalidValue, match=said):
                controller.bring(target, disable_power_off=True)
            assert controller.log == []


def test_a_reset_is_over_when_the_machine_is_on_again() -> None:
    slow, quick = Controller(POWER_ON, takes=4, restarts=(REBOOT,)), Controller(POWER_ON, takes=0, restarts=(REBOOT,))
    slow.bring(REBOOT, disable_power_off=True)
    assert 8 <= slow.now < 13  # it was seen off, and then on
    quick.bring(REBOOT, disable_power_off=True)
    assert 15 <= quick.now < 20  # it was never seen off


def test_what_does_not_come_to_pass(subtests: pytest.Subtests) -> None:
    for target, timeout, seconds in [
        (POWER_OFF, None, 60),
        (POWER_OFF, 7, 7),
        (SOFT_POWER_OFF, None, 600),
        (SOFT_POWER_OFF, 20, 20),
        (REBOOT, 9, 9),
    ]:
        with subtests.test(target=target, timeout=timeout):
            controller = Controller(POWER_ON)
            controller.ignores = {POWER_OFF, SOFT_POWER_OFF}
            asked = POWER_OFF if target == REBOOT else target
            with pytest.raises(PowerNotReached) as error:
                controller.bring(target, timeout)
            assert str(error.value) == (
                f"The machine is in power state 'power on', not in 'power off', {seconds} seconds after its "
                f"controller was asked for '{asked}'."
            )
            assert controller.now == seconds
            assert controller.log == [asked]


def test_a_controller_that_is_silent_meanwhile_is_waited_for() -> None:
    controller = Controller(POWER_OFF)
    controller._coming.append((-1.0, POWER_OFF))
    request = controller.request

    def cut(target: str) -> None:
        request(target)
        controller.silent_until = 40

    controller.request = cut  # type: ignore[method-assign]
    assert controller.bring(POWER_ON) == POWER_ON
    controller = Controller(POWER_OFF)
    controller.silent_until = 1000
    with pytest.raises(PowerNotReached, match=r"unknown power state.*cannot be reached at 10.0.0.1: no ans"):
        wait_for(controller.read, POWER_ON, 60, pace=controller.pace())


def test_what_a_controller_says_meanwhile_is_masked() -> None:
    def read() -> None:
        raise OSError("https://admin:S3cret@bmc/redfish: password=hunter2")

    with pytest.raises(PowerNotReached) as error:
        wait_for(read, POWER_ON, 0.01)
    assert "S3cret" not in str(error.value)
    assert "hunter2" not in str(error.value)


def test_a_controller_that_is_silent_from_the_start_is_not_waited_for() -> None:
    controller = Controller(POWER_OFF)
    controller.silent_until = 1000
    with pytest.raises(MachineUnreachable):
        controller.bring(POWER_ON)
    assert controller.now == 0


def test_a_refusal_does_not_count_if_the_machine_is_there() -> None:
    controller = Controller(POWER_OFF, takes=0)
    controller.refuses = InvalidValue(message="The host is powered on already.")
    assert controller.bring(POWER_ON) == POWER_ON
    controller = Controller(POWER_OFF)
    controller.refuses = InvalidValue(message="No.")
    with pytest.raises(InvalidValue, match="No"):
        controller.bring(POWER_ON)


def test_a_call_that_was_given_up_does_nothing_more() -> None:
    controller = Controller(POWER_ON)
    looks = 0

    def listen() -> None:
        nonlocal looks
        looks += 1
        if looks > 2:
            raise CallGivenUp

    with progress.noted_by(listen), pytest.raises(CallGivenUp):
        controller.bring(REBOOT)
    assert controller.log == [POWER_OFF]
    progress.note()  # nobody listens any more
