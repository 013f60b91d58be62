"""Switching real machines, whatever the protocol: a driver asks the controller for a change, and waits for the machine.

An interface has a ``Switch``, which talks to its controllers, and calls ``ensure_power``. The request decides how long
to wait for the machine, or else ``[conductor] power_state_change_timeout`` and ``soft_power_off_timeout``. The Switch
limits the time of a single answer: its ``read`` and ``request`` must return.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from baremetal_sched.drivers import progress
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.errors.baremetal import CallGivenUp, PowerNotReached
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, POWER_TARGETS, REBOOT, SOFT_POWER_OFF, SOFT_REBOOT
from baremetal_sched.masking import mask_text


class Switch(Protocol):
    """The way to ask the controller of one machine."""

    @property
    def restarts(self) -> Collection[str]:
        """The reboots that the controller does in one go: REBOOT (a reset), SOFT_REBOOT (the system restarts), or
        both."""

    def read(self) -> str | None:
        """Return the power state of the machine: on, off, or None if it is unknown. Raises a SchedulerError."""

    def request(self, target: str) -> None:
        """Ask for POWER_ON, POWER_OFF, SOFT_POWER_OFF, or one of ``restarts``, without waiting for the result.

        Raises a SchedulerError if the controller refuses, or cannot be reached.
        """


@dataclass(frozen=True)
class Pace:
    """How often machines are looked at: the first pause between two looks, and the longest, in seconds.

    A machine that restarts is on, may go off, and is on again; ``settle`` is how long it may be on at first.
    """

    first: float = 0.5
    longest: float = 5.0
    growth: float = 1.5
    settle: float = 15.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


#: The default pace.
PACE = Pace()


def wait_for(
    read: Callable[[], str | None],
    target: str,
    seconds: float,
    *,
    request: str | None = None,
    settle: float = 0.0,
    pace: Pace | None = None,
) -> str:
    """Look at the machine until it is in power state ``target``; returns that state.

    ``request`` is the request that was sent to the controller, if it differs from ``target``. A state that the machine
    had before counts after ``settle`` seconds, or once it has been in another. Until then a controller may be silent or
    fail.

    Raises PowerNotReached after ``seconds`` seconds; CallGivenUp.
    """
    pace = pace or PACE
    began = pace.clock()
    settled, pause = settle <= 0, pace.first
    while True:
        state, trouble = _read_state(read)
        progress.note()
        waited = pace.clock() - began
        if state == target and (settled or waited >= min(settle, seconds)):
            return target
        settled = settled or (state is not None and state != target)
        if waited >= seconds:
            found = f"in power state '{state}'" if state else "in an unknown power state"
            trouble = trouble and f" {trouble}"
            raise PowerNotReached(found=found, wanted=target, seconds=seconds, asked=request or target, trouble=trouble)
        pace.sleep(min(pause, seconds - waited))
        pause = min(pause * pace.growth, pace.longest)


def _read_state(read: Callable[[], str | None]) -> tuple[str | None, str]:
    """The state, or None and what was wrong."""
    try:
        return read(), ""
    except CallGivenUp:
        raise
    except (OSError, SchedulerError) as error:
        return None, mask_text(str(error))


def ensure_power(
    machine: Machine,
    switch: Switch,
    target: str,
    timeout: float | None = None,
    *,
    restore_boot_device: Callable[[], None] = lambda: None,
    pace: Pace | None = None,
) -> str:
    """Bring the machine to ``target``, a key of POWER_TARGETS; returns the state that it is in afterwards.

    A machine that is there already is left alone. A reboot switches off and on again; a machine that is off is switched
    on. Where the node forbids power off (``disable_power_off``) a reboot is a reset. A soft reboot is left to the
    controller if that can do it; else it is a soft power off, and on again. ``restore_boot_device`` is called right
    before the machine boots, for controllers that forget the boot device; its errors are raised.

    ``timeout`` is in seconds, for each of these changes. Raises InvalidValue for a forbidden change, PowerNotReached,
    CallGivenUp, and the errors of the Switch.
    """
    _require_allowed(machine, switch, target)
    action = _Action(machine, switch, timeout, restore_boot_device, pace or PACE)
    before = switch.read()
    if target in (POWER_ON, POWER_OFF, SOFT_POWER_OFF):
        return before if before == POWER_TARGETS[target] else action.change(target)
    if before == POWER_OFF:
        return action.change(POWER_ON)
    if target == SOFT_REBOOT and SOFT_REBOOT in switch.restarts:
        return action.restart(SOFT_REBOOT)
    if machine.disable_power_off:
        return action.restart(REBOOT)
    action.change(SOFT_POWER_OFF if target == SOFT_REBOOT else POWER_OFF)
    return action.change(POWER_ON)


def _require_allowed(machine: Machine, switch: Switch, target: str) -> None:
    """Raise InvalidValue if the request needs the power to go off and the node forbids that."""
    if not machine.disable_power_off or target == POWER_ON or target in switch.restarts:
        return
    raise InvalidValue(
        message=f"'{target}' is refused: the node forbids to switch its power off (disable_power_off)."
        if POWER_TARGETS[target] == POWER_OFF
        else f"'{target}' is refused: it needs the power to go off, which the node forbids (disable_power_off)."
    )


@dataclass(frozen=True)
class _Action:
    machine: Machine
    switch: Switch
    timeout: float | None
    restore_boot_device: Callable[[], None]
    pace: Pace

    def change(self, target: str) -> str:
        """Switch on or off."""
        state = POWER_TARGETS[target]
        if state == POWER_ON:
            self.restore_boot_device()
        progress.note()
        try:
            self.switch.request(target)
        except SchedulerError:
            # The request may have been carried out, or the machine was faster.
            if _read_state(self.switch.read)[0] != state:
                raise
        return self._wait(target)

    def restart(self, how: str) -> str:
        """Let the controller restart the machine."""
        self.restore_boot_device()
        progress.note()
        self.switch.request(how)
        return self._wait(how, self.pace.settle if how == REBOOT else 0.0)

    def _wait(self, target: str, settle: float = 0.0) -> str:
        options = self.machine.settings.conductor
        is_soft = target in (SOFT_POWER_OFF, SOFT_REBOOT)
        seconds = self.timeout or (options.soft_power_off_timeout if is_soft else options.power_state_change_timeout)
        state = POWER_TARGETS[target]
        return wait_for(self.switch.read, state, seconds, request=target, settle=settle, pace=self.pace)
