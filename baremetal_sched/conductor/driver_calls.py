"""Driver calls that no request waits for, among them asynchronous vendor methods."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.conductor.driver_methods import METHODS, Outcome
from baremetal_sched.conductor.job import Job
from baremetal_sched.db.models import Node
from baremetal_sched.errors import SchedulerError
from baremetal_sched.machines.machine import Machine


def do(job: Job) -> None:
    """Make the call and record its result; an error becomes the node's last error, which is cleared otherwise."""
    arguments = job.arguments
    _make(job, arguments["method"], arguments["arguments"], arguments["failure"], clears_error=True)


def call_vendor_method(job: Job) -> None:
    """Call the method. Its result is discarded; an error becomes the node's last error."""
    method = job.arguments["method"]
    _make(job, "vendor.call", job.arguments, f"Vendor method {method} failed", clears_error=False)


def _make(job: Job, method: str, arguments: Mapping[str, Any], failed: str, *, clears_error: bool) -> None:
    machine = job.hold(lambda session, node: Machine.of(node, job.settings))
    if machine is None:
        job.log.warning("work was taken away; nothing done")
        return
    job.log.info("work begins", kind=job.kind, method=method)
    outcome, error = Outcome(), None
    try:
        outcome = METHODS[method](job.driver(machine), machine, arguments)
    except SchedulerError as failure:
        error = f"{failed}: {failure}"
    except Exception as failure:  # a driver may raise anything; the node must report it and be freed
        job.log.exception("driver failed")
        error = f"{failed}: unexpected {failure!r}"

    def finish(session: Session, node: Node) -> bool:
        outcome.effect.write(node)
        if clears_error or error is not None:
            node.last_error = error
        return True

    kept = job.finish(finish)
    job.log.info("work done" if kept else "work was taken away; nothing written", method=method, error=error)
