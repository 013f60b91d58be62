"""Deployments by an agent."""

from baremetal_sched.baremetal.machine import Effect, Machine
from baremetal_sched.baremetal.states import POWER_OFF, REBOOT
from baremetal_sched.drivers.agent import booting
from baremetal_sched.drivers.interfaces.deploy import DeployInterface
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.errors import InvalidValue


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
        return booting.boot_unless_there(machine)

    def prepare_cleaning(self, machine: Machine) -> Effect:
        return booting.boot_unless_there(machine)

    def tear_down_cleaning(self, machine: Machine) -> Effect:
        return booting.dismiss(machine, REBOOT if machine.disable_power_off else POWER_OFF)

    def prepare_service(self, machine: Machine) -> Effect:
        return booting.boot(machine)

    def tear_down_service(self, machine: Machine) -> Effect:
        return booting.dismiss(machine, REBOOT)
