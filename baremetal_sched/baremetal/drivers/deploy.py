"""Deploy interfaces: how a machine gets an instance, and is made ready for steps that need an agent."""

from typing import Protocol

from baremetal_sched.baremetal.drivers import agent
from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine
from baremetal_sched.baremetal.drivers.steps import deploy_step
from baremetal_sched.baremetal.states import POWER_OFF, REBOOT
from baremetal_sched.errors import InvalidValue


class DeployInterface(Protocol):
    """Puts an instance on a machine, by steps of deploying, and takes it away."""

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


class FakeDeploy(DeployInterface):
    """Takes its time, ``[fake] deploy_delay`` seconds, and leaves the power as it is."""

    def validate(self, machine: Machine) -> None:
        pass

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Do as if an instance were put on the machine."""
        machine.pause("deploy")
        return NOTHING

    def tear_down(self, machine: Machine) -> Effect:
        machine.pause("deploy")
        return NOTHING


class DirectDeploy(DeployInterface):
    """An agent, booted on the machine, writes an image to its disk; it reports when it has booted and when it is done.

    Everything that the agent is needed for waits for it.
    """

    def validate(self, machine: Machine) -> None:
        if not machine.instance_info.get("image_source"):
            raise InvalidValue(
                message=f"Cannot validate image information for node {machine.uuid} because one or more parameters are "
                "missing from its instance_info. Missing are: ['image_source']"
            )

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Boot the agent, which gets the image and reports."""
        return agent.boot_unless_there(machine)

    def prepare_cleaning(self, machine: Machine) -> Effect:
        return agent.boot_unless_there(machine)

    def tear_down_cleaning(self, machine: Machine) -> Effect:
        return agent.dismiss(machine, REBOOT if machine.disable_power_off else POWER_OFF)

    def prepare_service(self, machine: Machine) -> Effect:
        return agent.boot(machine)

    def tear_down_service(self, machine: Machine) -> Effect:
        return agent.dismiss(machine, REBOOT)


class NoopDeploy(DeployInterface):
    """Somebody else puts the instance on the machine."""

    def validate(self, machine: Machine) -> None:
        pass

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Nothing is to be done."""
        return NOTHING


DEPLOY_INTERFACES: dict[str, DeployInterface] = {
    "direct": DirectDeploy(),
    "fake": FakeDeploy(),
    "noop": NoopDeploy(),
}
