"""Booting without any effect."""

from baremetal_sched.drivers.interfaces.boot import BootInterface
from baremetal_sched.drivers.ramdisk import instance
from baremetal_sched.machines.machine import Machine


class FakeBoot(BootInterface):
    """Takes its time, ``[fake] boot_delay`` seconds."""

    def validate(self, machine: Machine) -> None:
        pass

    def validate_ramdisk_instance(self, machine: Machine) -> None:
        instance.require_boot_iso(machine)

    def prepare_ramdisk(self, machine: Machine) -> None:
        machine.pause("boot")

    def prepare_instance(self, machine: Machine) -> None:
        machine.pause("boot")

    def clean_up_instance(self, machine: Machine) -> None:
        machine.pause("boot")
