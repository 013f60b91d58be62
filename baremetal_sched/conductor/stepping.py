"""Execution of steps in order: each begins with a fenced write, so a conductor that lost the work begins none.

A step that the machine runs by itself occupies no worker; its driver is asked for the progress. Meanwhile the node
stays reserved, and the step is its current step. What the driver needs to remember is stored with the work, so any
conductor can poll.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors import work
from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.provisioning.outcomes import clear_steps
from baremetal_sched.conductor import step_plans
from baremetal_sched.conductor.step_plans import POWER_STEPS, Planned, name_of
from baremetal_sched.conductor.task import Change, Task
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue, SchedulerError, UnavailableError
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.machines.machine import NOTHING, Effect, Machine, set_internal


@dataclass(frozen=True)
class Done:
    """A step, its effect, and the seconds that it has taken so far. ``since``: the start of a polled step."""

    step: Planned
    effect: Effect
    seconds: float
    since: float | None = None


def postpone(task: Task, done: Done, seconds: float, change: Change) -> None:
    """Change the node, and poll the step again in ``seconds``.

    Raises InvalidValue if the step has taken too long, WorkLost, and LastingConflict.
    """
    now = task.job.read(_now)
    since = now - done.seconds if done.since is None else done.since
    limit = task.job.settings.conductor.polled_step_timeout
    if limit and done.step["step"] != step_plans.WAIT_STEP:
        if now - since >= limit:
            raise InvalidValue(message=f"Step {name_of(done.step)} failed: it is not done after {limit:g} seconds.")
        seconds = min(seconds, since + limit - now)
    arguments = {"step": done.step, "since": since, "remembered": dict(done.effect.remember)}
    task.postpone(seconds, arguments, change)


def ask(task: Task) -> Done:
    """Ask for the progress of the polled step. Raises InvalidValue if the step has failed."""
    step, since = task.job.arguments["step"], task.job.arguments["since"]
    now, begun = task.job.read(_now), time.monotonic()
    effect = NOTHING if step["step"] == step_plans.WAIT_STEP else _poll(task, step)
    return Done(step, effect, now - since + time.monotonic() - begun, since)


def _poll(task: Task, step: Planned) -> Effect:
    interface = getattr(task.driver, step["interface"])
    try:
        effect: Effect = interface.poll(task.machine, step["step"], task.job.arguments["remembered"])
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(message=f"Step {name_of(step)} failed: {error}") from error
    return effect


def _now(session: Session) -> float:
    return session.scalar(select(epoch())) or 0.0


def run(task: Task, kind: StepKind, steps: Sequence[Planned]) -> bool:
    """Run ``steps``, after the step that is polled, if its progress is due to be checked.

    Returns False if the machine now waits, runs a step by itself, or is held, so that the work pauses.
    """
    left = list(steps)
    done = ask(task) if task.job.kind == work.POLL else None
    while done is None or not _pauses(task, kind, done, left):
        if not left:
            task.write(_ending(task, kind, done))
            return True
        step = left.pop(0)
        task.write(_beginning(task, kind, step, done))
        done = _do_logged(task, step)
    return False


def _pauses(task: Task, kind: StepKind, done: Done, left: Sequence[Planned]) -> bool:
    """Pause after a step, if its effect requires that; return whether it does."""
    pausing = _pausing(task, kind, done, left)
    if done.effect.poll_after is not None:
        postpone(task, done, done.effect.poll_after, pausing)
    elif done.step["step"] == step_plans.HOLD:
        task.end(state_machine.HOLD, pausing)
    elif done.effect.waits:
        task.end(state_machine.WAIT, pausing)
    else:
        return False
    return True


def tear_down(task: Task, kind: StepKind, action: Callable[[Machine], Effect]) -> Effect:
    """Tear down after all steps are done. Raises InvalidValue on failure."""
    try:
        return action(task.machine)
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(
            message=f"Failed to tear down after the {kind} steps of node {task.machine.uuid}: {error}"
        ) from error


def left_over(task: Task, kind: StepKind) -> list[Planned]:
    """Return the steps that remained when the machine began to wait."""
    steps: list[Planned] = task.machine.driver_internal_info.get(f"{kind}_steps") or []
    return steps


def names_of(steps: Sequence[Planned]) -> str:
    """Return the names of steps for messages."""
    return ", ".join(name_of(step) for step in steps) or "none"


def _beginning(task: Task, kind: StepKind, step: Planned, done: Done | None) -> Change:
    def change(session: Session, node: Node) -> None:
        _write_down(task, kind, session, node, done)
        setattr(node, f"{kind}_step", step)
        task.note(session, node, f"Step {name_of(step)} begins", f"{kind}_step_start")

    return change


def _pausing(task: Task, kind: StepKind, done: Done, left: Sequence[Planned]) -> Change:
    def change(session: Session, node: Node) -> None:
        _write_down(task, kind, session, node, done)
        set_internal(node, **{f"{kind}_steps": left})

    return change


def _ending(task: Task, kind: StepKind, done: Done | None) -> Change:
    def change(session: Session, node: Node) -> None:
        _write_down(task, kind, session, node, done)
        set_internal(node, **{f"{kind}_steps": None})
        clear_steps(node)

    return change


def _write_down(task: Task, kind: StepKind, session: Session, node: Node, done: Done | None) -> None:
    if done is None:
        return
    effect = done.effect
    effect.write(node)
    if effect.bios is not None:
        bios.keep_settings(session, node, effect.bios)
    bios.keep_components(session, node, effect.firmware)
    if effect.poll_after is None:
        if done.since is not None:
            work.stop_polling(session, task.job.id)
        said = f"Step {name_of(done.step)} " + ("waits" if effect.waits else "is done")
        task.note(session, node, said, f"{kind}_step_end", duration=done.seconds)


def _do_logged(task: Task, step: Planned) -> Done:
    """Run a step. It is logged while the work is held, so that overlapping steps of two conductors would show in the
    logs."""
    log = task.job.log.bind(step=name_of(step))
    log.info("step begins")
    begun = time.monotonic()
    try:
        return Done(step, _do(task, step), time.monotonic() - begun)
    finally:
        log.info("step ends")


def _do(task: Task, step: Planned) -> Effect:
    name, arguments = step["step"], step["args"]
    if name == step_plans.HOLD:
        return NOTHING
    if name == step_plans.WAIT_STEP:
        seconds = arguments.get("seconds")
        return Effect(waits=seconds is None, poll_after=seconds or None)
    try:
        if name in POWER_STEPS:
            return task.job.switch(task.machine, POWER_STEPS[name])
        effect: Effect = getattr(getattr(task.driver, step["interface"]), name)(task.machine, **arguments)
    except UnavailableError:
        raise
    except SchedulerError as error:
        raise InvalidValue(message=f"Step {name_of(step)} failed: {error}") from error
    return effect
