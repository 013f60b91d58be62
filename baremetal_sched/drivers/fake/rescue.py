"""Rescuing that only takes time."""

from baremetal_sched.drivers.interfaces.rescue import RescueInterface
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class FakeRescue(RescueInterface):
    """Takes its time, ``[fake] rescue_delay`` seconds."""

    def validate(self, machine: Machine) -> None:
        pass

    def rescue(self, machine: Machine) -> Effect:
        machine.pause("rescue")
        return NOTHING

    def unrescue(self, machine: Machine) -> Effect:
        machine.pause("rescue")
        return NOTHING
