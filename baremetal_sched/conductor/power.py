"""Power actions."""

from baremetal_sched.baremetal import power
from baremetal_sched.baremetal.drivers.interfaces import Driver
from baremetal_sched.baremetal.drivers.machine import Machine
from baremetal_sched.conductor.job import Job
from baremetal_sched.errors import SchedulerError


def do(job: Job) -> None:
    """Bring the node's power to ``target``, and write down how that ended."""
    target, timeout = job.arguments["target"], job.arguments["timeout"]
    state, error = None, None
    machine = job.hold(lambda session, node: Machine.of(node, job.settings))
    if machine is None:
        job.log.warning("work was taken away; nothing done")
        return
    job.log.info("work begins", kind=job.kind)
    try:
        state = Driver(machine).power.set_power_state(machine, target, timeout)
    except SchedulerError as failure:
        error = f"Failed to change power state to '{target}': {failure}"
    except Exception as failure:  # a driver may fail in any way; the node has to say so and be freed
        job.log.exception("driver failed")
        error = f"Failed to change power state to '{target}': unexpected {failure!r}"
    kept = job.write(lambda session: power.finish(session, job.id, job.conductor, state, error))
    job.log.info("work done" if kept else "work was taken away; nothing written", power_state=state, error=error)
