"""Asynchronous methods of vendors."""

from baremetal_sched.baremetal import vendor_passthru
from baremetal_sched.baremetal.machine import Machine
from baremetal_sched.conductor.job import Job
from baremetal_sched.errors import SchedulerError


def do(job: Job) -> None:
    """Call the method; its value is lost, and what went wrong becomes the node's last error."""
    method, arguments = job.arguments["method"], job.arguments["arguments"]
    error = None
    machine = job.hold(lambda session, node: Machine.of(node, job.settings))
    if machine is None:
        job.log.warning("work was taken away; nothing done")
        return
    job.log.info("work begins", kind=job.kind)
    try:
        job.driver(machine).vendor.call(machine, method, arguments)
    except SchedulerError as failure:
        error = f"Vendor method {method} failed: {failure}"
    except Exception as failure:  # a driver may fail in any way; the node has to say so and be freed
        job.log.exception("driver failed")
        error = f"Vendor method {method} failed: unexpected {failure!r}"
    kept = job.write(lambda session: vendor_passthru.finish(session, job.id, job.conductor, error))
    job.log.info("work done" if kept else "work was taken away; nothing written", method=method, error=error)
