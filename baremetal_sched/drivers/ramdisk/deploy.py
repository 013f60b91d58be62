"""Deployments of systems that run from memory."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baremetal_sched.drivers.driver import Driver
from baremetal_sched.drivers.interfaces.deploy import DeployInterface
from baremetal_sched.drivers.power import switch
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, together
from baremetal_sched.machines.states import POWER_OFF, REBOOT

#: What comes next is remembered, so that another conductor can go on: see ``poll``.
_NEXT, _PREPARE, _BOOT = "next", "prepare", "boot"


class RamdiskDeploy(DeployInterface):
    """The machine boots an ISO image, or what its boot server has for it, and runs that from memory.

    There is no agent: nothing is written to a disk, and nothing is erased.
    """

    lacks_agent = True
    prepares_instance = True

    def validate(self, machine: Machine) -> None:
        boot = Driver(machine).boot
        boot.validate(machine)
        boot.validate_ramdisk_instance(machine)

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Switch the machine off, prepare what it boots, and switch it on."""
        return _then(_PREPARE, _off(machine))

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        if remembered.get(_NEXT) == _PREPARE:
            return _then(_BOOT, Driver(machine).boot.prepare_instance(machine))
        # A machine that is off is switched on. One that was switched on meanwhile is rebooted.
        return switch(machine, REBOOT)

    def tear_down(self, machine: Machine) -> Effect:
        stopped = _off(machine)
        cleaned = Driver(machine).boot.clean_up_instance(machine)
        # The instance runs from memory: where the power stays on, it is gone only after a reset.
        left = switch(machine, REBOOT) if machine.disable_power_off else NOTHING
        return together(stopped, cleaned, left)


def _off(machine: Machine) -> Effect:
    """Switch the machine off, unless its node forbids that."""
    return NOTHING if machine.disable_power_off else switch(machine, POWER_OFF)


def _then(stage: str, effect: Effect | None) -> Effect:
    """``effect``, after which the step goes on with ``stage`` at once."""
    return replace(effect or NOTHING, poll_after=0.0, remember={_NEXT: stage})
