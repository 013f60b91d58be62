"""Boot interfaces: how a machine is brought to boot the agent, or an instance."""

from typing import Protocol

from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine


class BootInterface(Protocol):
    """Prepares what a machine boots. What it does to the node it returns; None means nothing."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be booted."""

    def validate_ramdisk_instance(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can boot the instance that ``instance_info`` describes, and that
        runs from memory: see the deploy interface "ramdisk"."""
        raise InvalidValue(
            message=f"The boot interface '{machine.interfaces['boot']}' cannot boot an instance that runs from memory. "
            "Give the node another one, such as redfish-virtual-media."
        )

    def prepare_ramdisk(self, machine: Machine) -> Effect | None:
        """See to it that the machine boots the agent next."""

    def clean_up_ramdisk(self, machine: Machine) -> Effect | None:
        """Clean up after the agent's boot: it is not needed any more."""

    def prepare_instance(self, machine: Machine) -> Effect | None:
        """See to it that the machine boots its instance from now on. May be done again if a conductor died at it."""

    def clean_up_instance(self, machine: Machine) -> Effect | None:
        """Clean up after the instance's boot: the instance is gone."""
