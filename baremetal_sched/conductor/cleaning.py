"""``provide`` and ``clean``, and the cleaning after ``deleted``: clean a machine, step by step."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from baremetal_sched.baremetal.state_machine import DONE, KEEP, WAIT
from baremetal_sched.conductor import agent_use, caching, step_plans, stepping
from baremetal_sched.conductor.step_plans import Planned
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.machines.machine import NOTHING, Effect, set_internal
from baremetal_sched.machines.states import MANAGEABLE

_KIND: StepKind = "clean"


def clean(task: Task) -> None:
    """Clean the machine with the steps that a client named, or else with its own."""
    arguments, driver = task.job.arguments, task.driver
    wanted = arguments.get("steps") or []
    if wanted:
        try:
            steps = step_plans.requested(driver, _KIND, wanted)
            boots = agent_use.is_needed(driver, _KIND, steps, disabled=bool(arguments.get("disable_ramdisk")))
        except InvalidValue as error:
            raise InvalidValue(message=f"Cannot clean node {task.machine.uuid}: {error}") from error
        _start(task, steps, "manual", boots=boots)
    elif task.machine.wants_cleaning:
        steps = step_plans.automated(driver, _KIND)
        agent_use.require_automated(driver, task.machine, steps)
        _start(task, steps, "automated", boots=True)
    else:
        _finish(task, NOTHING)


def _start(task: Task, steps: Sequence[Planned], how: str, *, boots: bool) -> None:
    keep = caching.look(task)
    ready = task.driver.deploy.prepare_cleaning(task.machine) if boots else NOTHING

    def note(session: Session, node: Node) -> None:
        keep(session, node)
        ready.write(node)
        task.note(
            session, node, f"Starting {how} cleaning with steps: {stepping.names_of(steps)}", f"{how}_cleaning_start"
        )

    def pause(session: Session, node: Node) -> None:
        note(session, node)
        set_internal(node, clean_steps=list(steps))

    if ready.waits:
        task.end(WAIT, pause)
        return
    task.write(note)
    carry_on(task, steps)


def carry_on(task: Task, steps: Sequence[Planned]) -> None:
    """Run the remaining steps; then the node is available, or manageable after a requested cleaning."""
    if stepping.run(task, _KIND, steps):
        _finish(task, stepping.tear_down(task, _KIND, task.driver.deploy.tear_down_cleaning))


def _finish(task: Task, torn_down: Effect) -> None:
    requested = task.machine.target_provision_state == MANAGEABLE
    how = "manual" if requested else "automated"

    def note(session: Session, node: Node) -> None:
        torn_down.write(node)
        node.last_error = None
        task.note(session, node, "Cleaning completed", f"{how}_cleaning_end")

    task.end(KEEP if requested or task.machine.retired else DONE, note)
