"""Power actions. Parents and children are switched before the node itself.

The conductor of that node switches them in the same thread, even if another one owns them; each is reserved by a work
item of its own.
"""

import time

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.hardware import power
from baremetal_sched.baremetal.holds import guards
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
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import POWER_OFF, POWER_ON, POWER_TARGETS


def do(job: Job) -> None:
    """Bring the node to the power state ``target``, and record the result."""
    try:
        ensure_power(job, job.arguments["target"], job.arguments["timeout"])
    except WorkLost:
        job.log.warning("work was taken away; nothing written")


def ensure_power(job: Job, target: str, timeout: int | None) -> Exception | None:
    """Bring the node to the power state ``target``, record the result, and free the node, which finishes the work.

    Returns the error, if any. Raises WorkLost.
    """
    outcome: Effect | str
    failure: Exception | None = None
    try:
        outcome = _act(job, target, timeout)
    except WorkLost:
        raise
    except Exception as error:  # a driver may raise anything; the node must report it and be freed
        failure = error
        known = isinstance(error, SchedulerError)
        if not known:
            job.log.exception("driver failed")
        said = str(error) if known else f"unexpected {error!r}"
        outcome = f"Failed to change power state to '{POWER_TARGETS[target]}' by '{target}': {said}"
    if not job.write(lambda session: power.finish(session, job.work, outcome)):
        raise WorkLost
    job.log.info("work done", **({"error": outcome} if isinstance(outcome, str) else outcome.fields))
    return failure


def _act(job: Job, target: str, timeout: int | None) -> Effect:
    node = job.seen()
    if node is not None and power.is_begun(node, target):
        machine = Machine.of(node, job.settings)
    else:
        machine = _hold(job, target)
    job.log.info("work begins", kind=job.kind)
    if _ensure_related_power(job, machine, target, timeout):
        machine = _hold(job, target)  # which may have taken long
    job.calls.extra_seconds = timeout or 0
    return job.switch(machine, target, timeout)


def ensure_power_during(job: Job, machine: Machine, target: str) -> Effect:
    """Bring a machine to the power state ``target`` (on or off) during other work on its node.

    Raises WorkLost, and what parents, children and drivers raise.
    """
    _ensure_related_power(job, machine, target, None)
    return job.switch(machine, target)


def _hold(job: Job, target: str) -> Machine:
    def begin(session: Session, node: Node) -> Machine:
        power.begin(node, target)
        return Machine.of(node, job.settings)

    machine = job.hold(begin)
    if machine is None:
        raise WorkLost
    return machine


def _ensure_related_power(job: Job, machine: Machine, target: str, timeout: int | None) -> bool:
    """Bring the parents or children of a node, whose machine is ``machine``, to ``target`` where they must be there
    first.

    All are reserved before the first is switched, so that none is changed if one cannot be. Waiting for a reservation
    is limited: if two conductors want each other's nodes, at least one gives up. Returns False if there were none to
    switch. Raises WorkLost, ParentLocked, ChildLocked, DriverNotFound, PowerRefused, NodeNotFound, and what drivers
    raise.
    """
    dependencies = job.read(lambda session: power.power_dependencies(session, job.node_id, target))
    if not dependencies or _power_state(job, machine) == target:
        return False
    plan: list[Job] = []
    try:
        for node_id in dependencies:
            reserved = _reserve(job, node_id, target)
            if reserved is not None:
                plan.append(reserved)
        for each in plan:
            try:
                failure = ensure_power(each, target, timeout)
            except WorkLost:  # another conductor has taken over that node; the work itself may continue and report this
                failure = _locked(job, each.node_uuid, target)
            if failure is not None:
                raise failure
    finally:
        for each in plan:  # those not reached after an error
            each.finish(lambda session, node: None)
    return True


def _reserve(job: Job, node_id: int, target: str) -> Job | None:
    """Reserve a parent or child; None if it is at ``target`` already, or another conductor is bringing it there."""

    def require_allowed(node: Node) -> None:
        if target == POWER_OFF and node.disable_power_off:
            raise PowerRefused(target=target)

    options = job.settings.conductor
    for attempt in range(options.node_locked_retry_attempts):
        if attempt:
            time.sleep(options.node_locked_retry_interval)
        relative = job.read(lambda session: Machine.of(_find(session, node_id), job.settings))  # raises NodeLockedOut
        if relative.driver not in job.settings.enabled_hardware_types:
            raise DriverNotFound(driver=relative.driver)
        if _power_state(job, relative) == target:
            return None
        try:
            subordinate = job.reserve_related(node_id, require_allowed)
        except NodeLocked:
            continue
        if subordinate is None:
            raise WorkLost
        return subordinate
    raise _locked(job, relative.uuid, target)


def _find(session: Session, node_id: int) -> Node:
    node = session.get(Node, node_id)
    if node is None:
        raise NodeNotFound(node=node_id)
    guards.require_no_lockout(session, node)
    return node


def _locked(job: Job, relative: str, target: str) -> SchedulerError:
    if target == POWER_ON:
        return ParentLocked(node=job.node_uuid, parent=relative)
    return ChildLocked(node=job.node_uuid, child=relative)


def _power_state(job: Job, machine: Machine) -> str | None:
    return job.driver(machine).power.get_power_state(machine)
