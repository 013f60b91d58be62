"""Booting from virtual media, by Redfish."""

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.drivers.interfaces.boot import BootInterface


class RedfishVirtualMedia(BootInterface):
    """The machine cannot be booted."""

    def validate(self, machine: Machine) -> None:
        raise machine.unsupported("boot")

    def prepare_ramdisk(self, machine: Machine) -> None:
        raise machine.unsupported("boot")

    def prepare_instance(self, machine: Machine) -> None:
        raise machine.unsupported("boot")
