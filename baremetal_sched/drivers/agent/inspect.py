"""Inspections by an agent."""

from baremetal_sched.drivers.agent import booting
from baremetal_sched.drivers.interfaces.inspect import InspectInterface
from baremetal_sched.machines.machine import Effect, Finding, Machine


class AgentInspect(InspectInterface):
    """An agent, booted on the machine, finds out what is in it, and posts that to ``/v1/continue_inspection``."""

    uses_agent = True

    def validate(self, machine: Machine) -> None:
        pass

    def inspect_hardware(self, machine: Machine) -> Finding | Effect:
        return booting.boot(machine)
