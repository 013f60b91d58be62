"""Power interfaces: how the power of a machine is switched. Called by the conductor that owns the node."""

import time
from typing import Protocol

from baremetal_sched.baremetal.states import POWER_TARGETS
from baremetal_sched.errors import InvalidValue
from baremetal_sched.settings import Settings


class PowerInterface(Protocol):
    """Switches the power of one node."""

    def set_power_state(self, target: str, settings: Settings) -> str:
        """Bring the machine to ``target`` (a key of POWER_TARGETS); returns the state that it is in afterwards.

        Raises a SchedulerError, in words for the node's ``last_error``, if that does not work.
        """


class FakePower:
    """Believes whatever it is told, after ``[fake] power_delay`` seconds."""

    def set_power_state(self, target: str, settings: Settings) -> str:
        if settings.fake.power_delay:
            time.sleep(settings.fake.power_delay)
        return POWER_TARGETS[target]


class AgentPower:
    """Only an agent that runs on the machine can switch it, and only while it runs."""

    def set_power_state(self, target: str, settings: Settings) -> str:
        raise InvalidValue(
            message=f"The agent power interface cannot bring the machine to '{target}': no agent is running on it. "
            "Switch it by hand, or give the node another power interface."
        )


POWER_INTERFACES: dict[str, PowerInterface] = {"fake": FakePower(), "agent": AgentPower()}
