"""Booting the agent on a machine, and dismissing it."""

from dataclasses import replace
from datetime import datetime, timedelta

from baremetal_sched.db.clock import utcnow
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.drivers.power import switch
from baremetal_sched.machines.agent_info import KEPT, LAST_HEARTBEAT, PREFIX, is_on_fast_track
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, together
from baremetal_sched.machines.states import POWER_ON, REBOOT


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
