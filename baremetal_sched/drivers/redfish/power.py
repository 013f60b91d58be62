"""Power, by Redfish."""

import time
from collections.abc import Collection
from functools import partial

from sushy import PowerState, ResetType
from sushy.exceptions import HTTPError
from sushy.resources.system.system import System

from baremetal_sched.drivers import progress
from baremetal_sched.drivers.interfaces.hardware import PowerInterface
from baremetal_sched.drivers.power_waiting import ensure_power
from baremetal_sched.drivers.redfish import boot_settings, connection, failures
from baremetal_sched.drivers.redfish.driver_info import RedfishInterface, RedfishTarget
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, REBOOT, SOFT_POWER_OFF, SOFT_REBOOT

#: A machine that is changing its power counts as being in the new state, so that it is not switched back.
_STATES = {
    PowerState.ON: POWER_ON,
    PowerState.POWERING_ON: POWER_ON,
    PowerState.OFF: POWER_OFF,
    PowerState.POWERING_OFF: POWER_OFF,
}
_REACHED = {PowerState.ON: POWER_ON, PowerState.OFF: POWER_OFF}

#: The possible requests. The first that the controller offers is sent.
_RESETS = {
    POWER_ON: (ResetType.ON, ResetType.FORCE_ON),
    POWER_OFF: (ResetType.FORCE_OFF,),
    SOFT_POWER_OFF: (ResetType.GRACEFUL_SHUTDOWN,),
    REBOOT: (ResetType.FORCE_RESTART,),
    SOFT_REBOOT: (ResetType.GRACEFUL_RESTART,),
}

#: The answer of a controller that does not switch a machine on yet, as it has just switched it off.
_NOT_YET = (409, "ActionParameterValueConflict")


class RedfishPower(RedfishInterface, PowerInterface):
    """Reads the power state of the machine from its controller, and requests changes and waits for them."""

    def get_power_state(self, machine: Machine) -> str | None:
        with connection.system(machine) as system:
            return _STATES.get(system.power_state)

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        restore = partial(boot_settings.restore, machine)
        return ensure_power(machine, _Switch(machine), target, timeout, restore_boot_device=restore)

    def close(self, seconds: float) -> None:
        connection.close_all(seconds)


class _Switch:
    """See ``drivers.power_waiting``."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._restarts: Collection[str] | None = None

    @property
    def restarts(self) -> Collection[str]:
        if self._restarts is None:
            with connection.system(self._machine) as system:
                offered = system.get_allowed_reset_system_values()
            self._restarts = [how for how in (REBOOT, SOFT_REBOOT) if _RESETS[how][0] in offered]
        return self._restarts

    def read(self) -> str | None:
        with connection.system(self._machine) as system:
            return _REACHED.get(system.power_state)

    def request(self, target: str) -> None:
        options = self._machine.settings.redfish
        attempts = options.power_on_conflict_retry_attempts if target == POWER_ON else 0
        while not self._reset(target, may_wait=attempts > 0):
            attempts -= 1
            time.sleep(options.power_on_conflict_retry_interval)
            progress.note()

    def _reset(self, target: str, *, may_wait: bool) -> bool:
        """Request the reset; return False if the controller is not ready for it yet, and there is time to wait."""
        with connection.system(self._machine) as system:
            kind = offered_reset(self._machine, system, *_RESETS[target])
            try:
                system.reset_system(kind)
            except HTTPError as error:
                status, said = _NOT_YET
                if not may_wait or error.status_code != status or said not in str(error):
                    raise
                return False
        return True


def offered_reset(machine: Machine, system: System, *kinds: ResetType) -> ResetType:
    """Return the first of these resets that the controller offers. Raises ControllerError if it offers none of them."""
    offered = system.get_allowed_reset_system_values()
    for kind in kinds:
        if kind in offered:
            return kind
    names = ", ".join(sorted(kind.value for kind in offered)) or "none"
    raise failures.refused(RedfishTarget.of(machine), f"offers no reset of type {kinds[0].value}. It offers: {names}.")
