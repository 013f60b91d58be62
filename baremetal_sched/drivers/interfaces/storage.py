"""Storage interfaces: remote volumes of an instance."""

from typing import Protocol

from baremetal_sched.machines.machine import Machine


class StorageInterface(Protocol):
    """Attaches the volumes of an instance before it is deployed, and detaches them after."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the volumes can be attached."""

    def attach_volumes(self, machine: Machine) -> None:
        """Attach the volumes."""

    def detach_volumes(self, machine: Machine) -> None:
        """Detach the volumes."""
