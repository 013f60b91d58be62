"""Interfaces whose work an agent on the machine does, and how that agent is booted and dismissed."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from baremetal_sched.db.clock import utcnow
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.drivers import boot_settings
from baremetal_sched.drivers.agent import images
from baremetal_sched.drivers.agent.config_drive import config_drive
from baremetal_sched.drivers.driver import Driver, switch
from baremetal_sched.drivers.interfaces.hardware import PowerInterface
from baremetal_sched.drivers.interfaces.provisioning import DeployInterface, InspectInterface
from baremetal_sched.drivers.logical_disks import CommonRaid
from baremetal_sched.drivers.ramdisk import stop_instance
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.agent_info import (
    BOOTED_FOR_SERVICE,
    IMAGE,
    KEPT,
    LAST_HEARTBEAT,
    NOT_BEGUN,
    PARTLY_WRITTEN,
    PREFIX,
    URL,
    WRITTEN,
    is_on_fast_track,
)
from baremetal_sched.machines.machine import NOTHING, AgentCommand, Effect, Machine, MachineFinding, together
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, REBOOT


def boot(machine: Machine) -> Effect:
    """Boot the agent, which will report; one that ran there before is gone."""
    booted = together(Driver(machine).boot.prepare_ramdisk(machine), switch(machine, REBOOT))
    known = [key for key in machine.driver_internal_info if key.startswith(PREFIX)]
    return replace(booted, internal={**booted.internal, **dict.fromkeys(known)}, waits=True)


def boot_unless_there(machine: Machine) -> Effect:
    """Boot the agent, or do nothing if one waits there on fast track; if it has not sent its URL yet, wait for that."""
    if not _waits_there(machine):
        return boot(machine)
    return NOTHING if machine.driver_internal_info.get(URL) else Effect(waits=True)


def dismiss(machine: Machine, target: str) -> Effect:
    """The agent is needed no longer: bring the machine to ``target``, unless none was heard of or it may wait there."""
    heard_of = machine.driver_internal_info.get(LAST_HEARTBEAT)
    if not heard_of or (machine.provision_state in KEPT and is_on_fast_track(machine.driver_info, machine.settings)):
        return NOTHING
    return together(switch(machine, target), Driver(machine).boot.clean_up_ramdisk(machine))


def _waits_there(machine: Machine) -> bool:
    known = machine.driver_internal_info
    if machine.power_state != POWER_ON or not known.get(LAST_HEARTBEAT):
        return False
    age = utcnow() - datetime.fromisoformat(known[LAST_HEARTBEAT])
    fresh = age <= timedelta(seconds=machine.settings.deploy.fast_track_timeout)
    return fresh and is_on_fast_track(machine.driver_info, machine.settings)


class AgentPower(PowerInterface):
    """Only an agent that runs on the machine can switch it, and only while it runs."""

    only_remembers = True

    def validate(self, machine: Machine) -> None:
        raise InvalidValue(
            message="The agent power interface cannot switch the machine: no agent is running on it. "
            "Switch it by hand, or give the node another power interface."
        )

    def get_power_state(self, machine: Machine) -> str | None:
        return machine.power_state

    def set_power_state(self, machine: Machine, target: str, timeout: int | None = None) -> str:
        raise InvalidValue(
            message=f"The agent power interface cannot bring the machine to '{target}': no agent is running on it. "
            "Switch it by hand, or give the node another power interface."
        )


class AgentRaid(CommonRaid):
    """The agent on the machine makes the disks, while it cleans."""


class AgentInspect(InspectInterface):
    """An agent, booted on the machine, examines its hardware, and posts the result to ``/v1/continue_inspection``."""

    uses_agent = True

    def validate(self, machine: Machine) -> None:
        pass

    def inspect_hardware(self, machine: Machine) -> MachineFinding | Effect:
        return boot(machine)


class CustomAgentDeploy(DeployInterface):
    """An agent, booted on the machine, does what a client's steps say; then the machine boots its instance.

    The agent's own steps are known when it has reported for the first time. Steps, names and priorities are those of
    Ironic's interface ``custom-agent``.
    """

    commands_agent = True
    prepares_instance = True

    def validate(self, machine: Machine) -> None:
        Driver(machine).boot.validate(machine)
        images.check_root_device(machine)

    def boot_agent(self, machine: Machine) -> Effect:
        return boot(machine)

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Boot the agent, unless one waits there."""
        return boot_unless_there(machine)

    @deploy_step(60)
    def prepare_instance_boot(self, machine: Machine) -> Effect:
        """See to it that the machine boots its instance from now on."""
        return Driver(machine).boot.prepare_instance(machine) or NOTHING

    @deploy_step(40)
    def tear_down_agent(self, machine: Machine) -> Effect:
        """Have the agent shut the machine down; if the machine must not be off, have the agent do nothing more."""
        if machine.disable_power_off:
            # A locked agent does not flush its memory to the disk.
            return Effect(command=AgentCommand("standby.sync", repeatable=True), remember={_NEXT: _LOCK})
        if Driver(machine).power.only_remembers or parse_flag(_FORCES, machine.driver_info.get(_FORCES, False)):
            return Effect(command=AgentCommand("standby.sync", repeatable=True), remember={_NEXT: _SWITCH})
        shut_down = AgentCommand("standby.power_off", repeatable=True, awaited=False)
        return Effect(
            command=shut_down,
            remember={_NEXT: _IS_OFF, _LEFT: int(machine.settings.agent.post_deploy_get_power_state_retries)},
        )

    @deploy_step(30)
    def switch_to_tenant_network(self, machine: Machine) -> Effect:
        """Nothing is to be done: networks are set up elsewhere."""
        return NOTHING

    @deploy_step(20)
    def boot_instance(self, machine: Machine) -> Effect:
        """Switch the machine on, or reboot it if it must not be off."""
        return switch(machine, REBOOT if machine.disable_power_off else POWER_ON)

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        if step != "tear_down_agent" or remembered[_NEXT] == _DONE:
            return NOTHING
        if remembered[_NEXT] == _LOCK:
            return Effect(command=AgentCommand("system.lockdown"), remember={_NEXT: _DONE})
        if remembered[_NEXT] == _IS_OFF:
            if Driver(machine).power.get_power_state(machine) == POWER_OFF:
                return Effect(fields={"power_state": POWER_OFF})
            left = remembered[_LEFT] - 1
            if left >= 0:
                pause = machine.settings.agent.post_deploy_get_power_state_retry_interval
                return Effect(poll_after=float(pause), remember={_NEXT: _IS_OFF, _LEFT: left})
        return switch(machine, POWER_OFF)

    def tear_down(self, machine: Machine) -> Effect:
        return stop_instance(machine)

    def prepare_cleaning(self, machine: Machine) -> Effect:
        return boot_unless_there(machine)

    def tear_down_cleaning(self, machine: Machine) -> Effect:
        return dismiss(machine, REBOOT if machine.disable_power_off else POWER_OFF)

    def prepare_service(self, machine: Machine) -> Effect:
        return boot(machine)

    def tear_down_service(self, machine: Machine) -> Effect:
        if machine.driver_internal_info.get(BOOTED_FOR_SERVICE):
            booted = together(switch(machine, REBOOT), Driver(machine).boot.clean_up_ramdisk(machine))
            return replace(booted, internal={**booted.internal, BOOTED_FOR_SERVICE: None})
        return dismiss(machine, REBOOT)


#: The notes of a step that continues after a command: the next action, and how often the power was read.
_NEXT, _LEFT = "next", "left"
_DONE, _LOCK, _SWITCH, _IS_OFF = "done", "lock", "switch off", "is it off"


class DirectDeploy(CustomAgentDeploy):
    """An agent, booted on the machine, writes an image to its disk, and then the machine boots from that."""

    def validate(self, machine: Machine) -> None:
        Driver(machine).boot.validate(machine)
        images.validate(machine)

    @deploy_step(100)
    def deploy(self, machine: Machine) -> Effect:
        """Boot the agent, unless one waits there."""
        return together(Effect(internal={IMAGE: NOT_BEGUN}), super().deploy(machine))

    @deploy_step(80)
    def write_image(self, machine: Machine) -> Effect:
        """Have the agent write the image and the config drive."""
        images.validate(machine)
        arguments = {
            "image_info": images.image_info(machine, images.source(machine)),
            "configdrive": config_drive(machine, machine.name),
        }
        step = {"interface": "deploy", "step": "write_image", "args": arguments}
        return Effect(command=AgentCommand("deploy.execute_deploy_step", {"step": step}, image=PARTLY_WRITTEN))

    @deploy_step(60)
    def prepare_instance_boot(self, machine: Machine) -> Effect:
        """Install the boot loader if the image needs one, and have the machine boot from its disk."""
        command = AgentCommand("standby.get_partition_uuids", repeatable=True)
        return Effect(command=command, remember={_NEXT: _BOOTLOADER})

    def poll(self, machine: Machine, step: str, remembered: Mapping[str, Any]) -> Effect:
        if step == "write_image":
            return Effect(internal={IMAGE: WRITTEN})
        if step != "prepare_instance_boot":
            return super().poll(machine, step, remembered)
        if remembered[_NEXT] == _BOOTLOADER:
            partitions = remembered["result"] or {}
            if not isinstance(partitions, Mapping):
                raise InvalidValue(message="the agent did not say which partitions there are.")
            command = _bootloader(machine, partitions)
            if command is not None:
                return Effect(command=command, remember={_NEXT: _DONE})
        return super().prepare_instance_boot(machine)


class AutodetectDeploy(DeployInterface):
    """Stands for another deploy interface: see ``machines.machine``. None of its methods is ever called."""

    def validate(self, machine: Machine) -> None:
        raise machine.unsupported("deploy")


_BOOTLOADER = "boot loader"
_FORCES = "deploy_forces_oob_reboot"


def _bootloader(machine: Machine, partitions: Mapping[str, Any]) -> AgentCommand | None:
    """Return the command that installs a boot loader; None if the image has one that is found without."""
    mode = boot_settings.required_mode(machine) or machine.boot_mode or "uefi"
    is_partition = images.is_partition(machine)
    root = partitions.get("root uuid") if is_partition else None
    if root is None and (is_partition or mode != "uefi"):
        return None
    params = {
        "root_uuid": root,
        "efi_system_part_uuid": partitions.get("efi system partition uuid")
        if is_partition and mode == "uefi"
        else None,
        "prep_boot_part_uuid": partitions.get("PReP Boot partition uuid") if is_partition else None,
        "target_boot_mode": mode,
    }
    return AgentCommand("image.install_bootloader", params)
