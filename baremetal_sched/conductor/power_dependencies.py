"""Power of parents and children, which are switched before the node itself.

The conductor of that node switches them in the same thread, even if another one owns them; each is reserved by a work
item of its own. Waiting for a reservation is limited: if two conductors want each other's nodes, at least one gives
up.
"""

import time
from collections.abc import Callable

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.hardware import power
from baremetal_sched.conductor.job import Job
from baremetal_sched.conductor.task import WorkLost
from baremetal_sched.db.models import Node
from baremetal_sched.errors import SchedulerError
from baremetal_sched.errors.baremetal import (
    ChildLocked,
    DriverNotFound,
    NodeLocked,
    NodeNotFound,
    ParentLocked,
    PowerRefused,
)
from baremetal_sched.machines.machine import Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON

#: Brings the node of such work to its state, and frees it; returns the error, if any. Raises WorkLost.
Bring = Callable[[Job], Exception | None]


def ensure_related_power(job: Job, machine: Machine, target: str, bring: Bring) -> bool:
    """Bring the parents or children of a node, whose machine is ``machine``, to ``target`` where they have to be there
    first.

    All are reserved before the first is switched, so that none is changed if one cannot be. Returns False if there were
    none to switch. Raises WorkLost, ParentLocked, ChildLocked, DriverNotFound, PowerRefused, NodeNotFound, and what
    drivers raise.
    """
    relatives = job.read(lambda session: power.find_relatives(session, job.node_id, target))
    if not relatives or _power_state(job, machine) == target:
        return False
    led: list[Job] = []
    try:
        for node_id in relatives:
            reserved = _reserve(job, node_id, target)
            if reserved is not None:
                led.append(reserved)
        for each in led:
            _bring(job, each, target, bring)
    finally:
        for each in led:  # those not reached after an error
            each.finish(lambda session, node: None)
    return True


def _bring(job: Job, led: Job, target: str, bring: Bring) -> None:
    try:
        failure = bring(led)
    except WorkLost:  # another conductor has taken over that node; the work itself may continue and report this
        failure = _locked(job, led.node_uuid, target)
    if failure is not None:
        raise failure


def _reserve(job: Job, node_id: int, target: str) -> Job | None:
    """Reserve a parent or child; None if it is at ``target`` already, or another conductor is bringing it there."""
    options = job.settings.conductor
    for attempt in range(options.node_locked_retry_attempts):
        if attempt:
            time.sleep(options.node_locked_retry_interval)
        relative = job.read(lambda session: Machine.of(_find(session, node_id), job.settings))
        if relative.driver not in job.settings.enabled_hardware_types:
            raise DriverNotFound(driver=relative.driver)
        if _power_state(job, relative) == target:
            return None
        try:
            led = job.lead(node_id, lambda node: _require_allowed(node, target))
        except NodeLocked:
            continue
        if led is None:
            raise WorkLost
        return led
    raise _locked(job, relative.uuid, target)


def _find(session: Session, node_id: int) -> Node:
    node = session.get(Node, node_id)
    if node is None:
        raise NodeNotFound(node=node_id)
    return node


def _require_allowed(node: Node, target: str) -> None:
    if target == POWER_OFF and node.disable_power_off:
        raise PowerRefused(target=target)


def _locked(job: Job, relative: str, target: str) -> SchedulerError:
    if target == POWER_ON:
        return ParentLocked(node=job.node_uuid, parent=relative)
    return ChildLocked(node=job.node_uuid, child=relative)


def _power_state(job: Job, machine: Machine) -> str | None:
    return job.driver(machine).power.get_power_state(machine)
