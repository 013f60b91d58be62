"""Power actions."""

from baremetal_sched.baremetal import power, work
from baremetal_sched.baremetal.drivers.power import POWER_INTERFACES
from baremetal_sched.conductor.job import Job
from baremetal_sched.errors import SchedulerError


def do(job: Job) -> None:
    """Bring the node's power to ``target``, and write down how that ended."""
    target = job.arguments["target"]
    state, error = None, None
    node = job.write(lambda session: work.hold(session, job.id, job.conductor))
    if node is None:
        job.log.warning("work was taken away; nothing done")
        return
    try:
        state = POWER_INTERFACES[node.power_interface or ""].set_power_state(target, job.settings)
    except SchedulerError as failure:
        error = f"Failed to change power state to '{target}': {failure}"
    except Exception as failure:  # a driver may fail in any way; the node has to say so and be freed
        job.log.exception("driver failed")
        error = f"Failed to change power state to '{target}': unexpected {failure!r}"
    kept = job.write(lambda session: power.finish(session, job.id, job.conductor, state, error))
    job.log.info("work done" if kept else "work was taken away; nothing written", power_state=state, error=error)
