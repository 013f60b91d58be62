"""Going through steps, one after the other: each begins with a fenced write, so whoever lost the work begins none."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import bios, firmware, state_machine, step_plans
from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine, set_internal
from baremetal_sched.baremetal.drivers.power import switch
from baremetal_sched.baremetal.drivers.steps import Kind
from baremetal_sched.baremetal.outcomes import clear_steps
from baremetal_sched.baremetal.step_plans import POWER_STEPS, Planned
from baremetal_sched.conductor.task import Change, Task
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue, SchedulerError, UnavailableError


@dataclass(frozen=True)
class _Done:
    """A step that has been done, and is to be written down."""

    step: Planned
    effect: Effect
    seconds: float


def run(task: Task, kind: Kind, steps: Sequence[Planned]) -> bool:
    """Do ``steps``. False if the machine now waits, or is held, with some of them left: then the work is over."""
    done: _Done | None = None
    for index, step in enumerate(steps):
        task.write(_beginning(task, kind, step, done))
        done = _do_logged(task, step)
        effect = done.effect
        if effect.waits or step["step"] == step_plans.HOLD:
            event = state_machine.HOLD if step["step"] == step_plans.HOLD else state_machine.WAIT
            task.end(event, _pausing(task, kind, done, list(steps[index + 1 :])))
            return False
    task.write(_ending(task, kind, done))
    return True


def tear_down(task: Task, kind: Kind, action: Callable[[Machine], Effect]) -> Effect:
    """Leave the machine behind when all steps are done. Raises InvalidValue if that does not work."""
    try:
        return action(task.machine)
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(
            message=f"Failed to tear down after the {kind} steps of node {task.machine.uuid}: {error}"
        ) from error


def left_over(task: Task, kind: Kind) -> list[Planned]:
    """The steps that were left when the machine began to wait."""
    steps: list[Planned] = task.machine.driver_internal_info.get(f"{kind}_steps") or []
    return steps


def name_of(step: Planned) -> str:
    """A step as people call it."""
    return f"{step['interface']}.{step['step']}"


def names_of(steps: Sequence[Planned]) -> str:
    """Some steps as people call them."""
    return ", ".join(name_of(step) for step in steps) or "none"


def _beginning(task: Task, kind: Kind, step: Planned, done: _Done | None) -> Change:
    def change(session: Session, node: Node) -> None:
        _write_down(task, kind, session, node, done)
        setattr(node, f"{kind}_step", step)
        task.note(session, node, f"Step {name_of(step)} begins", f"{kind}_step_start")

    return change


def _pausing(task: Task, kind: Kind, done: _Done, left: Sequence[Planned]) -> Change:
    def change(session: Session, node: Node) -> None:
        _write_down(task, kind, session, node, done)
        set_internal(node, **{f"{kind}_steps": left})

    return change


def _ending(task: Task, kind: Kind, done: _Done | None) -> Change:
    def change(session: Session, node: Node) -> None:
        _write_down(task, kind, session, node, done)
        set_internal(node, **{f"{kind}_steps": None})
        clear_steps(node)

    return change


def _write_down(task: Task, kind: Kind, session: Session, node: Node, done: _Done | None) -> None:
    if done is not None:
        effect = done.effect
        effect.write(node)
        if effect.bios is not None:
            bios.keep(session, node, effect.bios)
        firmware.keep(session, node, effect.firmware)
        said = f"Step {name_of(done.step)} " + ("waits" if effect.waits else "is done")
        task.note(session, node, said, f"{kind}_step_end", duration=done.seconds)


def _do_logged(task: Task, step: Planned) -> _Done:
    """Do a step. Its log lines are written while the work is held: steps of two conductors that overlap show there."""
    log = task.job.log.bind(step=name_of(step))
    log.info("step begins")
    begun = time.monotonic()
    try:
        return _Done(step, _do(task, step), time.monotonic() - begun)
    finally:
        log.info("step ends")


def _do(task: Task, step: Planned) -> Effect:
    name, arguments = step["step"], step["args"]
    if name == step_plans.HOLD:
        return NOTHING
    if name == step_plans.WAIT:
        time.sleep(arguments.get("seconds", 0))
        return Effect(waits="seconds" not in arguments)
    try:
        if name in POWER_STEPS:
            return switch(task.machine, POWER_STEPS[name])
        effect: Effect = getattr(getattr(task.driver, step["interface"]), name)(task.machine, **arguments)
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(message=f"Step {name_of(step)} failed: {error}") from error
    return effect
