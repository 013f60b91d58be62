"""No remote volumes."""

from baremetal_sched.drivers.interfaces.storage import StorageInterface
from baremetal_sched.machines.machine import Machine


class NoopStorage(StorageInterface):
    """There are no remote volumes."""

    def validate(self, machine: Machine) -> None:
        pass

    def attach_volumes(self, machine: Machine) -> None:
        pass

    def detach_volumes(self, machine: Machine) -> None:
        pass
