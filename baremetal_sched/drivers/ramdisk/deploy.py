"""Deployments of systems that run from memory."""

from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.drivers.interfaces.deploy import DeployInterface


class RamdiskDeploy(DeployInterface):
    """The machine cannot be deployed."""

    def validate(self, machine: Machine) -> None:
        raise machine.unsupported("deploy")
