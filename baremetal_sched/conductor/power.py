"""Power actions."""

from baremetal_sched.baremetal import power
from baremetal_sched.baremetal.drivers.machine import Effect, Machine
from baremetal_sched.baremetal.drivers.power import switch
from baremetal_sched.baremetal.states import POWER_TARGETS
from baremetal_sched.conductor.job import Job
from baremetal_sched.errors import SchedulerError


def do(job: Job) -> None:
    """Bring the node's power to ``target``, and write down how that ended."""
    target, timeout = job.arguments["target"], job.arguments["timeout"]
    outcome: Effect | str
    machine = job.hold(lambda session, node: Machine.of(node, job.settings))
    if machine is None:
        job.log.warning("work was taken away; nothing done")
        return
    failed = f"Failed to change power state to '{POWER_TARGETS[target]}' by '{target}': "
    job.log.info("work begins", kind=job.kind)
    try:
        outcome = switch(machine, target, timeout)
    except SchedulerError as failure:
        outcome = failed + str(failure)
    except Exception as failure:  # a driver may fail in any way; the node has to say so and be freed
        job.log.exception("driver failed")
        outcome = f"{failed}unexpected {failure!r}"
    kept = job.write(lambda session: power.finish(session, job.id, job.conductor, outcome))
    said = {"error": outcome} if isinstance(outcome, str) else outcome.fields
    job.log.info("work done" if kept else "work was taken away; nothing written", **said)
