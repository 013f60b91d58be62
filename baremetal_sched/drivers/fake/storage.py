"""Volumes that are attached to nothing."""

from baremetal_sched.drivers.interfaces.storage import StorageInterface
from baremetal_sched.machines.machine import Machine


class FakeStorage(StorageInterface):
    """Takes its time, ``[fake] storage_delay`` seconds."""

    def validate(self, machine: Machine) -> None:
        pass

    def attach_volumes(self, machine: Machine) -> None:
        machine.pause("storage")

    def detach_volumes(self, machine: Machine) -> None:
        machine.pause("storage")
