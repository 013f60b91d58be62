"""Inspect interfaces: what is in a machine."""

from typing import Protocol

from baremetal_sched.machines.machine import Effect, Finding, Machine


class InspectInterface(Protocol):
    """Finds out what is in a machine."""

    #: Whether an agent inspects the machine, for which the node must be known by its ports.
    uses_agent: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine can be inspected."""
        raise machine.unsupported("inspect")

    def inspect_hardware(self, machine: Machine) -> Finding | Effect:
        """Return the inventory of the machine; or, if an agent on it will report that, the effect so far."""
        raise machine.unsupported("inspect")
