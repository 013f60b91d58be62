"""``provide``, ``clean``, ``service``, and the cleaning after ``deleted``: steps on a machine outside a deployment."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from baremetal_sched import commands
from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.baremetal.state_machine import DONE, KEEP, WAIT
from baremetal_sched.conductor import caching, step_plans, stepping
from baremetal_sched.conductor.step_plans import WAIT_STEP, Planned
from baremetal_sched.conductor.task import Task, saying
from baremetal_sched.db.models import Node
from baremetal_sched.drivers.driver import Driver
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, set_internal
from baremetal_sched.machines.states import DELETING, MANAGEABLE


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
        "cleaned, switch automated cleaning off, for all nodes with [conductor] automated_clean, then manage and "
        "provide it. To switch it off for this node: " + commands.SKIP_CLEANING.of(node=machine.uuid)
    )


def clean(task: Task) -> None:
    """Clean the machine with the steps that a client named, or else with its own."""
    if task.job.arguments.get("steps"):
        _start_requested(task, "clean")
    elif task.machine.wants_cleaning:
        steps = step_plans.automated(task.driver, "clean")
        require_automated(task.driver, task.machine, steps)
        _start(task, "clean", steps, boots=True)
    else:
        _finish(task, "clean", NOTHING, "Automated cleaning is disabled: nothing was cleaned")


def service(task: Task) -> None:
    """Run the steps that the client named."""
    _start_requested(task, "service")


def _start_requested(task: Task, kind: StepKind) -> None:
    arguments, driver = task.job.arguments, task.driver
    with saying(f"Cannot {kind} node {task.machine.uuid}"):
        steps = step_plans.requested(driver, kind, arguments["steps"])
        boots = is_agent_needed(driver, kind, steps, disabled=bool(arguments.get("disable_ramdisk")))
    _start(task, kind, steps, boots=boots)


def _start(task: Task, kind: StepKind, steps: Sequence[Planned], *, boots: bool) -> None:
    """Boot an agent if one is needed, and run the steps: at once, or when the agent has reported."""
    keep, deploy = caching.look(task), task.driver.deploy
    prepare = deploy.prepare_cleaning if kind == "clean" else deploy.prepare_service
    ready = prepare(task.machine) if boots else NOTHING
    operation = _operation(task, kind)
    event = f"Starting {operation.replace('_', ' ')} with steps: {stepping.names_of(steps)}"

    def note(session: Session, node: Node) -> None:
        keep(session, node)
        ready.write(node)
        task.note(session, node, event, f"{operation}_start")
        if ready.waits:
            set_internal(node, **{f"{kind}_steps": list(steps)})
        if ready.waits and kind == "service":
            set_internal(node, **{agent_info.BOOTED_FOR_SERVICE: True})

    if ready.waits:
        task.end(WAIT, note)
    else:
        task.add(note)
        if ready is not NOTHING:
            task.write_added()
        go_on(task, kind, steps)


def go_on(task: Task, kind: StepKind, steps: Sequence[Planned]) -> None:
    """Run the remaining steps. Then a cleaned node is available, or manageable if a client had it cleaned; a serviced
    node is active again."""
    if stepping.run(task, kind, steps):
        task.write_added()
        _finish(task, kind, stepping.tear_down(task, kind))


def _finish(task: Task, kind: StepKind, torn_down: Effect, event: str | None = None) -> None:
    operation, machine = _operation(task, kind), task.machine
    stays = kind == "clean" and (machine.target_provision_state == MANAGEABLE or machine.retired)

    def note(session: Session, node: Node) -> None:
        torn_down.write(node)
        node.last_error = None
        usual = "Cleaning completed" if kind == "clean" else "Servicing completed"
        task.note(session, node, event or usual, f"{operation}_end")

    task.end(KEEP if stays else DONE, note)


def end_aborted_service(task: Task) -> None:
    """Give the machine of an aborted service back to its instance. If that fails, the node says so, and is active."""
    torn_down = stepping.tear_down(task, "service")
    task.end(None, lambda session, node: torn_down.write(node))


def _operation(task: Task, kind: StepKind) -> str:
    """Return the beginning of the types of events."""
    if kind == "service":
        return "servicing"
    return "manual_cleaning" if task.machine.target_provision_state == MANAGEABLE else "automated_cleaning"


def delete(task: Task) -> None:
    """Remove the instance from the machine and the node, then clean."""
    if task.state == DELETING:
        effect = task.driver.deploy.tear_down(task.machine)
        task.driver.storage.detach_volumes(task.machine)

        def empty(session: Session, node: Node) -> None:
            effect.write(node)
            completion.remove(session, node)
            state_machine.move(node, state_machine.CLEAN)

        task.write(empty)
    clean(task)
