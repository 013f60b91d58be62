"""Storage interfaces: remote volumes of an instance."""

from typing import Protocol

from baremetal_sched.baremetal.drivers.machine import Machine


class StorageInterface(Protocol):
    """Attaches the volumes of an instance before it is deployed, and detaches them after."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the volumes can be attached."""

    def attach_volumes(self, machine: Machine) -> None:
        """Attach the volumes."""

    def detach_volumes(self, machine: Machine) -> None:
        """Detach the volumes."""


class FakeStorage(StorageInterface):
    """Takes its time, ``[fake] storage_delay`` seconds."""

    def validate(self, machine: Machine) -> None:
        pass

    def attach_volumes(self, machine: Machine) -> None:
        machine.pause("storage")

    def detach_volumes(self, machine: Machine) -> None:
        machine.pause("storage")


class NoopStorage(StorageInterface):
    """There are no remote volumes."""

    def validate(self, machine: Machine) -> None:
        pass

    def attach_volumes(self, machine: Machine) -> None:
        pass

    def detach_volumes(self, machine: Machine) -> None:
        pass


STORAGE_INTERFACES: dict[str, StorageInterface] = {"fake": FakeStorage(), "noop": NoopStorage()}
