"""The agent: a small system, booted on a machine, that works there for a conductor and reports.

What is known of it stands in ``driver_internal_info``, under keys of which all begin with ``agent_``.
"""

from dataclasses import replace

from baremetal_sched.baremetal.drivers.boot import BOOT_INTERFACES
from baremetal_sched.baremetal.drivers.machine import Effect, Machine
from baremetal_sched.baremetal.drivers.power import switch
from baremetal_sched.baremetal.states import REBOOT
from baremetal_sched.db.models import Node

_PREFIX = "agent_"


def boot(machine: Machine) -> Effect:
    """Boot the agent, which will report; one that ran there before is gone."""
    BOOT_INTERFACES[machine.interfaces["boot"]].prepare_ramdisk(machine)
    booted = switch(machine, REBOOT)
    known = [key for key in machine.driver_internal_info if key.startswith(_PREFIX)]
    return replace(booted, internal={**booted.internal, **dict.fromkeys(known)}, waits=True)


def forget(node: Node) -> None:
    """There is no agent on the machine any more, or nobody waits for it."""
    known = node.driver_internal_info or {}
    kept = {key: value for key, value in known.items() if not key.startswith(_PREFIX)}
    if kept != known:
        node.driver_internal_info = kept
