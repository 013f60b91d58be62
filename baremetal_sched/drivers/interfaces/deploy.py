"""Deploy interfaces: how a machine gets an instance, and is made ready for steps that need an agent."""

from typing import Protocol

from baremetal_sched.drivers.interfaces.polled import PolledInterface
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class DeployInterface(PolledInterface, Protocol):
    """Puts an instance on a machine, by steps of deploying, and takes it away."""

    #: Whether an agent never runs on the machine: then steps of cleaning and servicing that need one are refused.
    lacks_agent: bool = False
    #: Whether a step of deploying prepares booting the instance. Otherwise that is done after the last step.
    prepares_instance: bool = False

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the machine, with its ``instance_info``, can be deployed."""

    def prepare_cleaning(self, machine: Machine) -> Effect:
        """Make the machine ready for steps of cleaning."""
        return NOTHING

    def tear_down_cleaning(self, machine: Machine) -> Effect:
        """The machine has been cleaned."""
        return NOTHING

    def prepare_service(self, machine: Machine) -> Effect:
        """Make the machine ready for steps of servicing."""
        return NOTHING

    def tear_down_service(self, machine: Machine) -> Effect:
        """The machine has been serviced, and is the instance's again."""
        return NOTHING

    def tear_down(self, machine: Machine) -> Effect:
        """Take the instance away."""
        return NOTHING
