"""Deployments that only take time."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.fake.busy import busy
from baremetal_sched.drivers.interfaces.deploy import DeployInterface
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class FakeDeploy(DeployInterface):
    """Takes its time, ``[fake] deploy_delay`` seconds, and leaves the power as it is."""

    def validate(self, machine: Machine) -> None:
        pass

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Pretend to deploy an instance on the machine."""
        return busy(self, machine, "deploy", "deploy")

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        return NOTHING

    def tear_down(self, machine: Machine) -> Effect:
        machine.pause("deploy")
        return NOTHING
