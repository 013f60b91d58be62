"""Power that an agent switches."""

from baremetal_sched.drivers.interfaces.power import PowerInterface
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Machine


class AgentPower(PowerInterface):
    """Only an agent that runs on the machine can switch it, and only while it runs."""

    only_remembers = True

    def validate(self, machine: Machine) -> None:
        raise InvalidValue(
            message="The agent power interface cannot switch the machine: no agent is running on it. "
            "Switch it by hand, or give the node another power interface."
        )

    def get_power_state(self, machine: Machine) -> str | None:
        return machine.power_state

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        raise InvalidValue(
            message=f"The agent power interface cannot bring the machine to '{target}': no agent is running on it. "
            "Switch it by hand, or give the node another power interface."
        )
