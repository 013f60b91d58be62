"""Power by ipmitool."""

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.drivers.interfaces.power import PowerInterface


class IpmitoolPower(PowerInterface):
    """The machine cannot be switched."""

    def validate(self, machine: Machine) -> None:
        raise machine.unsupported("power")

    def get_power_state(self, machine: Machine) -> str | None:
        raise machine.unsupported("get_power_state")

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        raise machine.unsupported("set_power_state")
