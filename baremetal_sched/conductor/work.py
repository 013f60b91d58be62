"""Which work there is, and who does it."""

from collections.abc import Callable

from sqlalchemy import exists

from baremetal_sched.baremetal import discovery, driver_work, releasing, states, vendor_passthru
from baremetal_sched.baremetal.power import KIND as POWER
from baremetal_sched.baremetal.releasing import Why
from baremetal_sched.baremetal.state_machine import RESUME
from baremetal_sched.baremetal.work import POLL
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

#: What does each kind of work: it does all of it, and ends with ``baremetal.work.finish``, whatever happens. The kind
#: of provisioning work is the state that it begins in.
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
    """Do a piece of work. Whatever happens, the node is not left reserved for work that nobody does.

    If the database is away the work stays requested, and is begun again when it is back.
    """
    try:
        HANDLERS[job.kind](job)
        servers.follow_up_job(job)
    except UnavailableError as error:
        job.log.warning("work has to wait", reason=str(error))
    except Exception as error:  # a bug of ours, or work of another release
        job.log.exception("work failed")
        reason = f"Unexpected failure of work of the kind '{job.kind}': {error!r}"
        mine = exists().where(NodeWork.node_id == Node.id, NodeWork.id == job.id)
        why = Why(power=reason, provisioning=reason, event_type=job.kind)
        job.write(lambda session: releasing.release(session, job.node_id, mine, job.conductor, why))
