"""Power that is only remembered."""

from baremetal_sched.drivers.interfaces.power import PowerInterface
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import POWER_TARGETS


class FakePower(PowerInterface):
    """Believes whatever it is told, after ``[fake] power_delay`` seconds. Before that it knows nothing, as Ironic's."""

    only_remembers = True

    def validate(self, machine: Machine) -> None:
        pass

    def get_power_state(self, machine: Machine) -> str | None:
        return machine.power_state

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        machine.pause("power")
        return POWER_TARGETS[target]
