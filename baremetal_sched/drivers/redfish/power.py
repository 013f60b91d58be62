"""Power, by Redfish."""

import sushy

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.baremetal.states import POWER_OFF, POWER_ON
from baremetal_sched.drivers.interfaces.power import PowerInterface
from baremetal_sched.drivers.redfish import connection
from baremetal_sched.drivers.redfish.driver_info import Target

_STATES = {
    sushy.PowerState.ON: POWER_ON,
    sushy.PowerState.POWERING_ON: POWER_ON,
    sushy.PowerState.OFF: POWER_OFF,
    sushy.PowerState.POWERING_OFF: POWER_OFF,
}


class RedfishPower(PowerInterface):
    """Asks the controller for the power state of the machine, and for changes of it."""

    def validate(self, machine: Machine) -> None:
        Target.of(machine)

    def get_power_state(self, machine: Machine) -> str | None:
        with connection.system(machine) as system:
            return _STATES.get(system.power_state)

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        raise machine.unsupported("set_power_state")
