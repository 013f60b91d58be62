"""Deployments by an agent."""

from baremetal_sched.drivers.agent import booting
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.drivers.interfaces.deploy import DeployInterface
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import POWER_OFF, REBOOT


class DirectDeploy(DeployInterface):
    """An agent, booted on the machine, writes an image to its disk; it reports when it has booted and when it is done.

    All operations of the agent wait for its reports.

    This release does not send commands to agents. Only machines without power control can be deployed and cleaned like
    this, for trials; a real machine would appear to be deployed although no image was written.
    """

    def validate(self, machine: Machine) -> None:
        _require_commands(machine, "deploy")
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
        _require_commands(machine, "clean")
        return booting.boot_unless_there(machine)

    def tear_down_cleaning(self, machine: Machine) -> Effect:
        return booting.dismiss(machine, REBOOT if machine.disable_power_off else POWER_OFF)

    def prepare_service(self, machine: Machine) -> Effect:
        _require_commands(machine, "service")
        return booting.boot(machine)

    def tear_down_service(self, machine: Machine) -> Effect:
        return booting.dismiss(machine, REBOOT)


def _require_commands(machine: Machine, what: str) -> None:
    """Raise InvalidValue if an agent on the machine would have to be told what to do."""
    if Driver(machine).power.only_remembers:
        return
    instead = {
        "deploy": "Give the node the deploy interface 'ramdisk', which boots instance_info/boot_iso.",
        "clean": "Set the node's automated_clean to false (openstack baremetal node set --no-automated-clean) to make "
        "it available without being cleaned (manage and provide it then), or name steps that need no agent.",
        "service": "Name steps that need no agent.",
    }[what]
    raise InvalidValue(
        message=f"The deploy interface 'direct' cannot {what} node {machine.uuid}: it needs an agent on the machine to "
        f"be told what to do, and this release has no client for agents. {instead}"
    )
