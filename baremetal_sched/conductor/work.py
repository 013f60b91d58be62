"""The kinds of work, and their handlers."""

from collections.abc import Callable

from sqlalchemy import exists

from baremetal_sched.baremetal.conductors import driver_work
from baremetal_sched.baremetal.conductors.work import POLL
from baremetal_sched.baremetal.hardware import vendor_passthru
from baremetal_sched.baremetal.hardware.power import KIND as POWER
from baremetal_sched.baremetal.inspection import discovery
from baremetal_sched.baremetal.provisioning import releasing
from baremetal_sched.baremetal.provisioning.releasing import Why
from baremetal_sched.baremetal.state_machine import RESUME
from baremetal_sched.conductor import (
    adopting,
    cleaning,
    deleting,
    deploying,
    driver_calls,
    inspecting,
    power,
    rescuing,
    resuming,
    servers,
    servicing,
    vendor,
    verifying,
)
from baremetal_sched.conductor.job import Job
from baremetal_sched.conductor.task import handler
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.errors import UnavailableError
from baremetal_sched.machines import states

#: Handlers by kind of work. A handler does all of the work, and ends with ``baremetal.conductors.work.finish`` in any
#: case. The kind of provisioning work is the state in which it begins.
HANDLERS: dict[str, Callable[[Job], None]] = {
    POWER: power.do,
    vendor_passthru.KIND: vendor.do,
    driver_work.KIND: driver_calls.do,
    RESUME: handler(resuming.resume),
    POLL: handler(resuming.resume),
    discovery.KIND: handler(inspecting.discover),
    states.VERIFYING: handler(verifying.verify),
    states.CLEANING: handler(cleaning.clean),
    states.INSPECTING: handler(inspecting.inspect),
    states.ADOPTING: handler(adopting.adopt),
    states.DEPLOYING: handler(deploying.deploy),
    states.DELETING: handler(deleting.delete),
    states.RESCUING: handler(rescuing.rescue),
    states.UNRESCUING: handler(rescuing.unrescue),
    states.SERVICING: handler(servicing.service),
}


def do(job: Job) -> None:
    """Do a work item. In no case does the node stay reserved without work in progress.

    If the database is unavailable, the work stays requested, and is begun again later.
    """
    try:
        HANDLERS[job.kind](job)
        servers.follow_up_job(job)
    except UnavailableError as error:
        job.log.warning("work has to wait", reason=str(error))
    except Exception as error:  # a bug of this service, or work of another release
        job.log.exception("work failed")
        reason = f"Unexpected failure of work of the kind '{job.kind}': {error!r}"
        mine = exists().where(NodeWork.node_id == Node.id, NodeWork.id == job.id)
        why = Why(power=reason, provisioning=reason, event_type=job.kind)
        job.write(lambda session: releasing.release(session, job.node_id, mine, job.conductor, why))
