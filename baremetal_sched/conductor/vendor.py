"""Asynchronous vendor methods."""

from baremetal_sched.baremetal.hardware import vendor_passthru
from baremetal_sched.conductor.job import Job
from baremetal_sched.errors import SchedulerError
from baremetal_sched.machines.machine import Machine


def do(job: Job) -> None:
    """Call the method. Its result is discarded; an error becomes the node's last error."""
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
    except Exception as failure:  # a driver may raise anything; the node has to report it and be freed
        job.log.exception("driver failed")
        error = f"Vendor method {method} failed: unexpected {failure!r}"
    kept = job.write(lambda session: vendor_passthru.finish(session, job.id, job.conductor, error))
    job.log.info("work done" if kept else "work was taken away; nothing written", method=method, error=error)
