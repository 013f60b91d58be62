"""Power interfaces: how the power of a machine is switched."""

from datetime import UTC, datetime
from typing import Protocol

from baremetal_sched.baremetal.drivers.machine import Effect, Machine
from baremetal_sched.baremetal.states import POWER_TARGETS, REBOOT, SOFT_REBOOT
from baremetal_sched.errors import InvalidValue


class PowerInterface(Protocol):
    """Switches the power of a machine."""

    #: Is the power state whatever the node says, so that there is nothing to compare it with?
    only_remembers: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError, in words for people, unless the power can be switched."""

    def get_power_state(self, machine: Machine) -> str | None:
        """The state that the machine is in: on, off, or None if nobody knows. Raises a SchedulerError."""

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        """Bring the machine to ``target`` (a key of POWER_TARGETS); returns the state that it is in afterwards.

        ``timeout`` is in seconds. Raises a SchedulerError, in words for ``last_error``, if that does not work.
        """


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


POWER_INTERFACES: dict[str, PowerInterface] = {"fake": FakePower(), "agent": AgentPower()}


def switch(machine: Machine, target: str, timeout: int | None = None) -> Effect:
    """``set_power_state`` of the machine's interface; that its power changed, and when, is noted with the state.

    ``last_power_state_change`` in ``driver_internal_info`` is the time (UTC) when that began. To bring a machine to the
    state that it is in changes nothing; a reboot does.
    """
    began = datetime.now(UTC).replace(tzinfo=None).isoformat()
    state = POWER_INTERFACES[machine.interfaces["power"]].set_power_state(machine, target, timeout)
    changes = target in (REBOOT, SOFT_REBOOT) or state != machine.power_state
    return Effect(fields={"power_state": state}, internal={"last_power_state_change": began} if changes else {})
