"""Boot interfaces: how a machine is brought to boot the agent, or an instance."""

from typing import Protocol

from baremetal_sched.baremetal.drivers.machine import Machine


class BootInterface(Protocol):
    """Prepares what a machine boots."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be booted."""

    def prepare_ramdisk(self, machine: Machine) -> None:
        """See to it that the machine boots the agent next."""

    def prepare_instance(self, machine: Machine) -> None:
        """See to it that the machine boots its instance from now on."""


class FakeBoot(BootInterface):
    """Takes its time, ``[fake] boot_delay`` seconds."""

    def validate(self, machine: Machine) -> None:
        pass

    def prepare_ramdisk(self, machine: Machine) -> None:
        machine.pause("boot")

    def prepare_instance(self, machine: Machine) -> None:
        machine.pause("boot")


class NetworkBoot(BootInterface):
    """The machine boots over the network, from a server that somebody else runs and that knows the machine."""

    def validate(self, machine: Machine) -> None:
        pass

    def prepare_ramdisk(self, machine: Machine) -> None:
        pass

    def prepare_instance(self, machine: Machine) -> None:
        pass


BOOT_INTERFACES: dict[str, BootInterface] = {"fake": FakeBoot(), "ipxe": NetworkBoot(), "pxe": NetworkBoot()}
