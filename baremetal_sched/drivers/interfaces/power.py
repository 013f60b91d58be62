"""Power interfaces: how the power of a machine is switched."""

from collections.abc import Sequence
from typing import Protocol

from baremetal_sched.drivers.interfaces.polled import PolledInterface
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import POWER_TARGETS


class PowerInterface(PolledInterface, Protocol):
    """Switches the power of a machine."""

    #: Whether the power state is only stored in the node, so that there is nothing to compare it with.
    only_remembers: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError, in words for people, unless the power can be switched."""

    def get_supported_power_states(self, machine: Machine) -> Sequence[str]:
        """The keys of POWER_TARGETS to which the machine can be brought."""
        return tuple(POWER_TARGETS)

    def get_power_state(self, machine: Machine) -> str | None:
        """Return the power state of the machine: on, off, or None if it is unknown. Raises a SchedulerError."""

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str | Effect:
        """Bring the machine to ``target`` (a key of POWER_TARGETS); returns the state that it is in afterwards, or an
        Effect whose ``fields`` have it as ``power_state``.

        ``timeout`` is in seconds. It returns when the machine is in that state: ``drivers.power_waiting`` has what that
        takes. Raises a SchedulerError, in words for ``last_error``, if that does not work.
        """

    def close(self, seconds: float) -> None:
        """The conductor stops: end all sessions, within ``seconds``."""
