"""Interfaces whose work an agent on the machine does, and how that agent is booted and dismissed."""

from dataclasses import replace
from datetime import datetime, timedelta

from baremetal_sched.db.clock import utcnow
from baremetal_sched.drivers.driver import Driver, switch
from baremetal_sched.drivers.interfaces.hardware import PowerInterface
from baremetal_sched.drivers.interfaces.provisioning import DeployInterface, InspectInterface
from baremetal_sched.drivers.logical_disks import CommonRaid
from baremetal_sched.drivers.steps import deploy_step
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.agent_info import KEPT, LAST_HEARTBEAT, PREFIX, is_on_fast_track
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, MachineFinding, together
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, REBOOT


def boot(machine: Machine) -> Effect:
    """Boot the agent, which will report; one that ran there before is gone."""
    booted = together(Driver(machine).boot.prepare_ramdisk(machine), switch(machine, REBOOT))
    known = [key for key in machine.driver_internal_info if key.startswith(PREFIX)]
    return replace(booted, internal={**booted.internal, **dict.fromkeys(known)}, waits=True)


def boot_unless_there(machine: Machine) -> Effect:
    """Boot the agent, or do nothing if one waits there on fast track."""
    return NOTHING if _waits_there(machine) else boot(machine)


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
    """An agent, booted on the machine, finds out what is in it, and posts that to ``/v1/continue_inspection``."""

    uses_agent = True

    def validate(self, machine: Machine) -> None:
        pass

    def inspect_hardware(self, machine: Machine) -> MachineFinding | Effect:
        return boot(machine)


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
        return boot_unless_there(machine)

    def prepare_cleaning(self, machine: Machine) -> Effect:
        _require_commands(machine, "clean")
        return boot_unless_there(machine)

    def tear_down_cleaning(self, machine: Machine) -> Effect:
        return dismiss(machine, REBOOT if machine.disable_power_off else POWER_OFF)

    def prepare_service(self, machine: Machine) -> Effect:
        _require_commands(machine, "service")
        return boot(machine)

    def tear_down_service(self, machine: Machine) -> Effect:
        return dismiss(machine, REBOOT)


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
