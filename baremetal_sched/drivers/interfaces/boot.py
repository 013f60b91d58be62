"""Boot interfaces: how a machine is brought to boot the agent, or an instance."""

from typing import Protocol

from baremetal_sched.baremetal.machine import Machine


class BootInterface(Protocol):
    """Prepares what a machine boots."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be booted."""

    def prepare_ramdisk(self, machine: Machine) -> None:
        """See to it that the machine boots the agent next."""

    def prepare_instance(self, machine: Machine) -> None:
        """See to it that the machine boots its instance from now on."""
