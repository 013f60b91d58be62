"""Driver calls that no request waits for, among them asynchronous vendor methods."""

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import work
from baremetal_sched.baremetal.hardware import vendor_passthru
from baremetal_sched.conductor.driver_methods import METHODS, Outcome
from baremetal_sched.conductor.job import Job
from baremetal_sched.errors import SchedulerError
from baremetal_sched.machines.machine import Machine


def do(job: Job) -> None:
    """Make the call and record its result; an error becomes the node's last error."""
    machine = job.hold(lambda session, node: Machine.of(node, job.settings))
    if machine is None:
        job.log.warning("work was taken away; nothing done")
        return
    method = job.arguments["method"]
    job.log.info("work begins", kind=job.kind, method=method)
    outcome, error = Outcome(), None
    try:
        outcome = METHODS[method](job.driver(machine), machine, job.arguments["arguments"])
    except SchedulerError as failure:
        error = f"{job.arguments['failure']}: {failure}"
    except Exception as failure:  # a driver may raise anything; the node has to report it and be freed
        job.log.exception("driver failed")
        error = f"{job.arguments['failure']}: unexpected {failure!r}"

    def finish(session: Session) -> bool:
        node = work.finish(session, job.id, job.conductor)
        if node is None:
            return False
        outcome.effect.write(node)
        node.last_error = error
        return True

    kept = job.write(finish)
    job.log.info("work done" if kept else "work was taken away; nothing written", method=method, error=error)


def call_vendor_method(job: Job) -> None:
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
