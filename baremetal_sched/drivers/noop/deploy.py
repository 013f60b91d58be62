"""Deployments that are done outside of this service."""

from baremetal_sched.drivers.interfaces.deploy import DeployInterface
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class NoopDeploy(DeployInterface):
    """The instance is deployed outside of this service."""

    def validate(self, machine: Machine) -> None:
        pass

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Nothing is to be done."""
        return NOTHING
