"""No remote volumes."""

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.drivers.interfaces.storage import StorageInterface


class NoopStorage(StorageInterface):
    """There are no remote volumes."""

    def validate(self, machine: Machine) -> None:
        pass

    def attach_volumes(self, machine: Machine) -> None:
        pass

    def detach_volumes(self, machine: Machine) -> None:
        pass
