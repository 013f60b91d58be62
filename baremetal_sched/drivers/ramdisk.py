"""Deployments of systems that run from memory: nothing is written to a disk."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baremetal_sched.drivers.boot_settings import ImageUrl
from baremetal_sched.drivers.driver import Driver, switch
from baremetal_sched.drivers.interfaces.provisioning import DeployInterface
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, together
from baremetal_sched.machines.states import POWER_OFF, REBOOT

BOOT_ISO = "boot_iso"
_KERNEL, _RAMDISK = "kernel", "ramdisk"

#: The next stage is remembered, so that another conductor can continue: see ``poll``.
_NEXT, _PREPARE, _BOOT = "next", "prepare", "boot"


def boot_iso(machine: Machine) -> ImageUrl | None:
    """Return the ISO image to boot, or None. Raises InvalidValue if it is not valid."""
    info = machine.instance_info
    value = info.get(BOOT_ISO)
    if value is None or value == "":
        return None
    if info.get("image_source"):
        raise InvalidValue(
            message="instance_info has an image_source and a boot_iso. Remove one of them: an image is written "
            "to a disk (deploy interface direct), an ISO is booted (deploy interface ramdisk)."
        )
    return ImageUrl.parse(f"instance_info/{BOOT_ISO}", value)


def require_boot_iso(machine: Machine) -> ImageUrl:
    """Return the ISO image to boot. Raises InvalidValue if it is missing or not valid."""
    found = boot_iso(machine)
    if found is not None:
        return found
    instead = (
        f" Of {_KERNEL} and {_RAMDISK} no ISO is built here; build one."
        if machine.instance_info.get(_KERNEL) or machine.instance_info.get(_RAMDISK)
        else ""
    )
    raise InvalidValue(
        message=f"instance_info/{BOOT_ISO} is missing: the URL (http or https) of the ISO image that the machine is to "
        f"boot.{instead}"
    )


def require_no_boot_iso(machine: Machine) -> None:
    """Raise InvalidValue if there is an ISO image to boot, which the boot interface cannot do."""
    if boot_iso(machine) is not None:
        raise InvalidValue(
            message=f"The boot interface '{machine.interfaces['boot']}' cannot boot instance_info/{BOOT_ISO}: it has "
            f"no virtual media. Leave {BOOT_ISO} out, and have the network's boot server serve the machine, or give "
            "the node the boot interface redfish-virtual-media."
        )


class RamdiskDeploy(DeployInterface):
    """The machine boots an ISO image, or the system that its boot server offers, and runs it from memory.

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
        """Switch the machine off, prepare its boot, and switch it on."""
        return _then(_PREPARE, _off(machine))

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        if remembered.get(_NEXT) == _PREPARE:
            return _then(_BOOT, Driver(machine).boot.prepare_instance(machine))
        # A machine that is off is switched on. One that others have switched on is rebooted.
        return switch(machine, REBOOT)

    def tear_down(self, machine: Machine) -> Effect:
        return stop_instance(machine)


def stop_instance(machine: Machine) -> Effect:
    """Switch the machine off, and clean up after the instance's boot; where the power stays on, reset it after that."""
    stopped = _off(machine)
    cleaned = Driver(machine).boot.clean_up_instance(machine)
    left = switch(machine, REBOOT) if machine.disable_power_off else NOTHING
    return together(stopped, cleaned, left)


def _off(machine: Machine) -> Effect:
    """Switch the machine off, unless its node forbids that."""
    return NOTHING if machine.disable_power_off else switch(machine, POWER_OFF)


def _then(stage: str, effect: Effect | None) -> Effect:
    """Return ``effect`` so that the step continues with ``stage`` at once."""
    return replace(effect or NOTHING, poll_after=0.0, remember={_NEXT: stage})
