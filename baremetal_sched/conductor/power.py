"""Power actions."""

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.hardware import power
from baremetal_sched.conductor import power_dependencies
from baremetal_sched.conductor.job import Job
from baremetal_sched.conductor.task import WorkLost
from baremetal_sched.db.models import Node
from baremetal_sched.errors import SchedulerError
from baremetal_sched.machines.machine import Effect, Machine
from baremetal_sched.machines.states import POWER_TARGETS


def do(job: Job) -> None:
    """Bring the node to the power state ``target``, and record the result."""
    try:
        bring(job, job.arguments["target"], job.arguments["timeout"])
    except WorkLost:
        job.log.warning("work was taken away; nothing written")


def bring(job: Job, target: str, timeout: int | None) -> Exception | None:
    """Bring the node to the power state ``target``, record the result, and free the node, which finishes the work.

    Returns the error, if any. Raises WorkLost.
    """
    outcome: Effect | str
    failure: Exception | None = None
    try:
        outcome = _act(job, target, timeout)
    except WorkLost:
        raise
    except Exception as error:  # a driver may raise anything; the node has to report it and be freed
        failure = error
        known = isinstance(error, SchedulerError)
        if not known:
            job.log.exception("driver failed")
        said = str(error) if known else f"unexpected {error!r}"
        outcome = f"Failed to change power state to '{POWER_TARGETS[target]}' by '{target}': {said}"
    if not job.write(lambda session: power.finish(session, job.id, job.conductor, outcome)):
        raise WorkLost
    job.log.info("work done", **({"error": outcome} if isinstance(outcome, str) else outcome.fields))
    return failure


def _act(job: Job, target: str, timeout: int | None) -> Effect:
    machine = _hold(job, target)
    job.log.info("work begins", kind=job.kind)
    if power_dependencies.ensure_related_power(job, machine, target, lambda led: bring(led, target, timeout)):
        machine = _hold(job, target)  # which may have taken long
    job.calls.extra_seconds = timeout or 0
    return job.switch(machine, target, timeout)


def reach(job: Job, machine: Machine, target: str) -> Effect:
    """Bring a machine to the power state ``target`` (on or off) during other work on its node.

    Raises WorkLost, and what parents, children and drivers raise.
    """
    power_dependencies.ensure_related_power(job, machine, target, lambda led: bring(led, target, None))
    return job.switch(machine, target)


def _hold(job: Job, target: str) -> Machine:
    def begin(session: Session, node: Node) -> Machine:
        power.begin(node, target)
        return Machine.of(node, job.settings)

    machine = job.hold(begin)
    if machine is None:
        raise WorkLost
    return machine
