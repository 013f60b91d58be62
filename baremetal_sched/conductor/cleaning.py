"""``provide``, ``clean``, ``service``, and the cleaning after ``deleted``: steps on a machine outside a deployment."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.provisioning import outcomes
from baremetal_sched.baremetal.state_machine import DONE, KEEP, WAIT
from baremetal_sched.conductor import caching, step_plans, stepping
from baremetal_sched.conductor.step_plans import WAIT_STEP, Planned
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, set_internal
from baremetal_sched.machines.states import DELETING, MANAGEABLE

_CLEAN_KIND: StepKind = "clean"
_SERVICE_KIND: StepKind = "service"


def is_agent_needed(driver: Driver, kind: StepKind, steps: Sequence[Planned], *, disabled: bool) -> bool:
    """Return whether an agent must be booted for the steps that a client named.

    ``disabled``: the client forbids booting one; an agent that already runs may still be waited for. Raises
    InvalidValue if a step needs an agent and none may be used.
    """
    requiring = step_plans.requiring_agent(driver, kind, steps)
    if disabled:
        refused = [step for step in requiring if step["step"] != WAIT_STEP]
        _refuse(refused, "leave disable_ramdisk out, or these steps")
    elif driver.deploy.lacks_agent:
        _refuse(requiring, "the node's deploy interface boots none: leave these steps out")
    return bool(requiring) and not disabled


def _refuse(steps: Sequence[Planned], why: str) -> None:
    if steps:
        names = ", ".join(dict.fromkeys(step_plans.name_of(step) for step in steps))
        raise InvalidValue(message=f"{names} needs an agent on the machine (it requires booting a ramdisk): {why}.")


def require_automated(driver: Driver, machine: Machine, steps: Sequence[Planned]) -> None:
    """Raise InvalidValue unless the machine can be cleaned by its own steps.

    Without an agent, at least one step must work without it: a machine that no step cleans must not count as clean.
    """
    if not driver.deploy.lacks_agent or (steps and not step_plans.requiring_agent(driver, "clean", steps)):
        return
    raise InvalidValue(
        message=f"Node {machine.uuid} cannot be cleaned: automated cleaning needs an agent on the machine, and its "
        f"deploy interface '{machine.interfaces['deploy']}' boots none. To have the node made available without being "
        "cleaned, set its automated_clean to false (openstack baremetal node set --no-automated-clean), or "
        "[conductor] automated_clean for all nodes; then manage and provide it."
    )


def clean(task: Task) -> None:
    """Clean the machine with the steps that a client named, or else with its own."""
    arguments, driver = task.job.arguments, task.driver
    wanted = arguments.get("steps") or []
    if wanted:
        try:
            steps = step_plans.requested(driver, _CLEAN_KIND, wanted)
            boots = is_agent_needed(driver, _CLEAN_KIND, steps, disabled=bool(arguments.get("disable_ramdisk")))
        except InvalidValue as error:
            raise InvalidValue(message=f"Cannot clean node {task.machine.uuid}: {error}") from error
        _start(task, steps, "manual", boots=boots)
    elif task.machine.wants_cleaning:
        steps = step_plans.automated(driver, _CLEAN_KIND)
        require_automated(driver, task.machine, steps)
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
    continue_cleaning(task, steps)


def continue_cleaning(task: Task, steps: Sequence[Planned]) -> None:
    """Run the remaining steps; then the node is available, or manageable after a requested cleaning."""
    if stepping.run(task, _CLEAN_KIND, steps):
        _finish(task, stepping.tear_down(task, _CLEAN_KIND, task.driver.deploy.tear_down_cleaning))


def _finish(task: Task, torn_down: Effect) -> None:
    requested = task.machine.target_provision_state == MANAGEABLE
    how = "manual" if requested else "automated"

    def note(session: Session, node: Node) -> None:
        torn_down.write(node)
        node.last_error = None
        task.note(session, node, "Cleaning completed", f"{how}_cleaning_end")

    task.end(KEEP if requested or task.machine.retired else DONE, note)


def service(task: Task) -> None:
    """Run the steps that the client named."""
    arguments, driver = task.job.arguments, task.driver
    try:
        steps = step_plans.requested(driver, _SERVICE_KIND, arguments["steps"])
        boots = is_agent_needed(driver, _SERVICE_KIND, steps, disabled=arguments["disable_ramdisk"])
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
    continue_service(task, steps)


def continue_service(task: Task, steps: Sequence[Planned]) -> None:
    """Run the remaining steps; then the node is active again."""
    if not stepping.run(task, _SERVICE_KIND, steps):
        return
    torn_down = stepping.tear_down(task, _SERVICE_KIND, task.driver.deploy.tear_down_service)

    def note(session: Session, node: Node) -> None:
        torn_down.write(node)
        node.last_error = None
        task.note(session, node, "Servicing completed", "servicing_end")

    task.end(DONE, note)


def delete(task: Task) -> None:
    """Remove the instance from the machine and the node, then clean."""
    if task.state == DELETING:
        effect = task.driver.deploy.tear_down(task.machine)
        task.driver.storage.detach_volumes(task.machine)

        def empty(session: Session, node: Node) -> None:
            effect.write(node)
            outcomes.remove(session, node)
            state_machine.move(node, state_machine.CLEAN)

        task.write(empty)
    clean(task)
