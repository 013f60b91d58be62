"""The kinds of work, their handlers, and how each continues after a machine waited, was held, or ran a polled step."""

from collections.abc import Callable, Mapping

from sqlalchemy import exists

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors.driver_calls import KIND as DRIVER_CALL
from baremetal_sched.baremetal.conductors.work_queue import POLL
from baremetal_sched.baremetal.hardware import vendor_passthru
from baremetal_sched.baremetal.hardware.power import KIND as POWER
from baremetal_sched.baremetal.inspection import discovery
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.baremetal.provisioning.completion import FailureReason
from baremetal_sched.baremetal.state_machine import ABORTED_SERVICE, RESUME
from baremetal_sched.conductor import (
    agent_commands,
    cleaning,
    deploying,
    driver_methods,
    inspecting,
    power,
    servers,
    stepping,
)
from baremetal_sched.conductor.job import Job
from baremetal_sched.conductor.task import Task, handler
from baremetal_sched.db.faults import described
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.errors import InvalidValue, UnavailableError
from baremetal_sched.machines import states


def resume(task: Task) -> None:
    """Continue with the remaining steps."""
    record = agent_commands.pending(task)
    if record is not None and state_machine.accepts(task.state, state_machine.RESUME):
        try:
            task.answer = agent_commands.ask(task, record)
        except InvalidValue:
            deploying.switch_off_after_failure(task)
            raise
        if task.answer is None or task.answer.is_running:
            agent_commands.keep_waiting(task, is_heard=task.answer is not None)
            return
    if state_machine.accepts(task.state, state_machine.RESUME):
        task.write(lambda session, node: state_machine.move(node, state_machine.RESUME))
    _GO_ON[task.state](task)


_GO_ON: Mapping[str, Callable[[Task], None]] = {
    states.CLEANING: lambda task: cleaning.go_on(task, "clean", stepping.left_over(task, "clean")),
    states.DEPLOYING: lambda task: deploying.continue_deployment(task, stepping.left_over(task, "deploy")),
    states.SERVICING: lambda task: cleaning.go_on(task, "service", stepping.left_over(task, "service")),
    states.RESCUING: deploying.continue_rescue,
    states.INSPECTING: inspecting.continue_inspection,
}


#: Handlers by kind of work. A handler does all of the work, and in any case ends with
#: ``baremetal.conductors.work_queue.finish``. The kind of provisioning work is the state in which it begins.
HANDLERS: dict[str, Callable[[Job], None]] = {
    POWER: power.do,
    vendor_passthru.KIND: driver_methods.call_vendor_method,
    DRIVER_CALL: driver_methods.do_call,
    RESUME: handler(resume),
    POLL: handler(resume),
    ABORTED_SERVICE: handler(cleaning.end_aborted_service),
    discovery.KIND: handler(inspecting.discover),
    states.VERIFYING: handler(inspecting.verify),
    states.CLEANING: handler(cleaning.clean),
    states.INSPECTING: handler(inspecting.inspect),
    states.ADOPTING: handler(deploying.adopt),
    states.DEPLOYING: handler(deploying.deploy),
    states.DELETING: handler(cleaning.delete),
    states.RESCUING: handler(deploying.rescue),
    states.UNRESCUING: handler(deploying.unrescue),
    states.SERVICING: handler(cleaning.service),
}


def do(job: Job) -> None:
    """Do a work item. In no case does the node stay reserved without work in progress.

    If the database is unavailable, the work stays requested, and is begun again later.
    """
    try:
        HANDLERS[job.kind](job)
        servers.follow_up_job(job)
    except UnavailableError as error:
        job.log.warning("work waits", reason=str(error))
    except Exception as error:  # a bug of this service, or work of another release
        job.log.exception("work failed")
        reason = f"Unexpected failure of work of the kind '{job.kind}': {described(error)}"
        mine = exists().where(NodeWork.node_id == Node.id, NodeWork.id == job.id)
        why = FailureReason(power=reason, provisioning=reason, event_type=job.kind)
        job.write(lambda session: completion.release_abandoned(session, job.node_id, mine, job.conductor, why))
