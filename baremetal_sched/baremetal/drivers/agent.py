"""The agent: a small system, booted on a machine, that works there for a conductor and reports.

What is known of it stands in ``driver_internal_info``, under keys of which all begin with ``agent_``.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from baremetal_sched.baremetal import states
from baremetal_sched.baremetal.drivers.boot import BOOT_INTERFACES
from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine
from baremetal_sched.baremetal.drivers.power import switch
from baremetal_sched.baremetal.states import POWER_ON, REBOOT
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node
from baremetal_sched.documents.schema import parse_flag
from baremetal_sched.settings import Settings

_PREFIX = "agent_"
#: Where the agent can be reached, when it was heard of last (ISO 8601, UTC), and whether it is on fast track.
URL, LAST_HEARTBEAT, FAST = "agent_url", "agent_last_heartbeat", "agent_fast_track"

#: Where an agent that is on fast track may wait for work.
FAST_TRACK = frozenset({states.ENROLL, states.MANAGEABLE, states.AVAILABLE})
#: Where it is not left behind by what comes next.
_KEPT = FAST_TRACK | {states.VERIFYING, states.CLEANING, states.INSPECTING}


def boot(machine: Machine) -> Effect:
    """Boot the agent, which will report; one that ran there before is gone."""
    BOOT_INTERFACES[machine.interfaces["boot"]].prepare_ramdisk(machine)
    booted = switch(machine, REBOOT)
    known = [key for key in machine.driver_internal_info if key.startswith(_PREFIX)]
    return replace(booted, internal={**booted.internal, **dict.fromkeys(known)}, waits=True)


def boot_unless_there(machine: Machine) -> Effect:
    """Boot the agent, or do nothing if one waits there on fast track."""
    return NOTHING if _waits_there(machine) else boot(machine)


def dismiss(machine: Machine, target: str) -> Effect:
    """The agent is needed no longer: bring the machine to ``target``, unless none was heard of or it may wait there."""
    heard_of = machine.driver_internal_info.get(LAST_HEARTBEAT)
    if not heard_of or (machine.provision_state in _KEPT and is_on_fast_track(machine.driver_info, machine.settings)):
        return NOTHING
    return switch(machine, target)


def is_on_fast_track(driver_info: Mapping[str, Any], settings: Settings) -> bool:
    """May agents wait on such a machine while nothing is to be done? ``fast_track`` in its ``driver_info`` says so, or
    ``[deploy] fast_track``. Raises InvalidValue."""
    own = driver_info.get("fast_track")
    return bool(settings.deploy.fast_track) if own is None else parse_flag("fast_track", own)


def _waits_there(machine: Machine) -> bool:
    known = machine.driver_internal_info
    if machine.power_state != POWER_ON or not known.get(LAST_HEARTBEAT):
        return False
    age = utcnow() - datetime.fromisoformat(known[LAST_HEARTBEAT])
    fresh = age <= timedelta(seconds=machine.settings.deploy.fast_track_timeout)
    return fresh and is_on_fast_track(machine.driver_info, machine.settings)


def leave(node: Node) -> None:
    """Nobody waits for the agent on the machine any more. It is forgotten, unless it is on fast track and may be needed
    again."""
    if not (node.driver_internal_info or {}).get(FAST) or node.provision_state not in _KEPT:
        forget(node)


def forget(node: Node) -> None:
    """There is no agent on the machine any more."""
    known = node.driver_internal_info or {}
    kept = {key: value for key, value in known.items() if not key.startswith(_PREFIX)}
    if kept != known:
        node.driver_internal_info = kept
