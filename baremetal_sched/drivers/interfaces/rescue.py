"""Rescue interfaces: a system to repair an instance with."""

from typing import Protocol

from baremetal_sched.machines.machine import Effect, Machine


class RescueInterface(Protocol):
    """Boots a machine into a rescue system, and back."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be rescued."""
        raise machine.unsupported("rescue")

    def rescue(self, machine: Machine) -> Effect:
        """Boot the rescue system; its password is in ``instance_info``."""
        raise machine.unsupported("rescue")

    def unrescue(self, machine: Machine) -> Effect:
        """Boot the instance again."""
        raise machine.unsupported("unrescue")
