"""``service``: steps on a machine that keeps its instance."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.state_machine import DONE, WAIT
from baremetal_sched.conductor import agent_use, caching, step_plans, stepping
from baremetal_sched.conductor.step_plans import Planned
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.machines.machine import NOTHING, set_internal

_KIND: StepKind = "service"


def service(task: Task) -> None:
    """Run the steps that the client named."""
    arguments, driver = task.job.arguments, task.driver
    try:
        steps = step_plans.requested(driver, _KIND, arguments["steps"])
        boots = agent_use.is_needed(driver, _KIND, steps, disabled=arguments["disable_ramdisk"])
    except InvalidValue as error:
        raise InvalidValue(message=f"Cannot service node {task.machine.uuid}: {error}") from error
    keep = caching.look(task)
    ready = driver.deploy.prepare_service(task.machine) if boots else NOTHING

    def note(session: Session, node: Node) -> None:
        keep(session, node)
        ready.write(node)
        task.note(session, node, f"Starting servicing with steps: {stepping.names_of(steps)}", "servicing_start")

    def pause(session: Session, node: Node) -> None:
        note(session, node)
        set_internal(node, service_steps=list(steps))

    if ready.waits:
        task.end(WAIT, pause)
        return
    task.write(note)
    carry_on(task, steps)


def carry_on(task: Task, steps: Sequence[Planned]) -> None:
    """Run the remaining steps; then the node is active again."""
    if not stepping.run(task, _KIND, steps):
        return
    torn_down = stepping.tear_down(task, _KIND, task.driver.deploy.tear_down_service)

    def note(session: Session, node: Node) -> None:
        torn_down.write(node)
        node.last_error = None
        task.note(session, node, "Servicing completed", "servicing_end")

    task.end(DONE, note)
