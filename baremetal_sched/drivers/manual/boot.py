"""Booting from a server that somebody else runs."""

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.drivers.interfaces.boot import BootInterface


class NetworkBoot(BootInterface):
    """The machine boots over the network, from a server that somebody else runs and that knows the machine."""

    def validate(self, machine: Machine) -> None:
        pass

    def prepare_ramdisk(self, machine: Machine) -> None:
        pass

    def prepare_instance(self, machine: Machine) -> None:
        pass
