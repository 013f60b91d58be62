"""Execution of steps in order: each begins with a fenced write, so a conductor that lost the work begins none.

A step that the machine runs by itself occupies no worker; conductors ask its driver for the progress. Until it ends,
the node stays reserved, and the step is its current step. The driver's notes are stored with the work, so any conductor
can poll.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.hardware import bios
from baremetal_sched.baremetal.provisioning import completion
from baremetal_sched.conductor import agent_commands, agent_steps, step_plans
from baremetal_sched.conductor.agent_client import SUCCEEDED, AgentAnswer
from baremetal_sched.conductor.agent_steps import AgentChanged
from baremetal_sched.conductor.step_plans import POWER_STEPS, Planned, name_of
from baremetal_sched.conductor.task import Change, Task, saying
from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.interface_types import StepKind
from baremetal_sched.machines.machine import NOTHING, AgentCommand, Effect, set_internal


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
    since = task.job.now() - done.seconds if done.since is None else done.since
    limit = task.job.settings.conductor.polled_step_timeout
    if limit and done.step["step"] != step_plans.WAIT_STEP:
        left = since - task.job.ago(limit)
        if left <= 0:
            raise InvalidValue(message=f"Step {name_of(done.step)} failed: it is not done after {limit:g} seconds.")
        seconds = min(seconds, left)
    arguments = {"step": done.step, "since": since, "remembered": dict(done.effect.remember)}
    task.postpone(seconds, arguments, change)


def ask(task: Task) -> Done:
    """Ask for the progress of the polled step. Raises InvalidValue if the step has failed."""
    step, since = task.job.arguments["step"], task.job.arguments["since"]
    now, begun = task.job.now(), time.monotonic()
    remembered = task.job.arguments["remembered"]
    effect = NOTHING if step["step"] == step_plans.WAIT_STEP else _poll(task, step, remembered)
    return Done(step, effect, now - since + time.monotonic() - begun, since)


def _poll(task: Task, step: Planned, remembered: Mapping[str, Any]) -> Effect:
    interface = getattr(task.driver, step["interface"])
    with saying(f"Step {name_of(step)} failed"):
        effect: Effect = interface.poll(task.machine, step["step"], remembered)
    return effect


def run(task: Task, kind: StepKind, steps: Sequence[Planned]) -> bool:
    """Run ``steps``, after the step that is polled, if its progress is due to be checked.

    Returns False if the machine now waits, runs a step by itself, or is held, so that the work pauses, and if a client
    has aborted the operation, which ends it after its current step. Otherwise the end of the steps is added to the task
    (``Task.add``).
    """
    left = list(steps)
    try:
        done = _continued(task, kind)
    except AgentChanged as change:
        done, left = None, agent_steps.plan_again(task, kind, change.step, left)
    while True:
        while done is not None and done.effect.command is not None:
            done = _command(task, kind, done, left)
            if done is None:
                return False
        if done is not None and _pauses(task, kind, done, left):
            return False
        if task.machine.aborts_after_step:
            _abort(task, kind, done)
            return False
        left = agent_steps.join(task, kind, left)
        if not left:
            task.add(partial(_end, task, kind, done))
            return True
        step = left.pop(0)
        task.write(partial(_begin, task, kind, step, done))
        done = _do_logged(task, kind, step)


def _continued(task: Task, kind: StepKind) -> Done | None:
    """Return the step that the work continues after, if it continues a step."""
    if task.job.kind == work_queue.POLL:
        return ask(task)
    record = agent_commands.pending(task)
    if record is None or task.answer is None:
        return None
    since = record["since"]
    return _answered(task, kind, record["step"], record["remembered"], task.answer, since)


def _command(task: Task, kind: StepKind, done: Done, left: Sequence[Planned]) -> Done | None:
    """Have the agent execute the command of a step; None if the machine now waits for its end."""
    command, remembered = done.effect.command, done.effect.remember
    assert command is not None  # noqa: S101 - see the caller
    since = task.job.now() - done.seconds if done.since is None else done.since
    pausing = partial(_pause, task, kind, done, left)
    answer = agent_commands.send(task, command, done.step, remembered, pausing)
    if answer is None or not command.awaited:
        answer = AgentAnswer("", command.name, SUCCEEDED, None, "")
    if not (answer.is_running or answer.is_mismatch):
        return _answered(task, kind, done.step, remembered, answer, since)
    record = {**task.machine.driver_internal_info[agent_info.COMMAND], "id": answer.id}
    task.end(state_machine.WAIT, lambda session, node: set_internal(node, **{agent_info.COMMAND: record}))
    return None


def _answered(
    task: Task, kind: StepKind, step: Planned, remembered: Mapping[str, Any], answer: AgentAnswer, since: float
) -> Done:
    """Return the step after the agent has executed a command of it. Raises InvalidValue if it has failed."""
    if answer.is_mismatch:
        if kind != "deploy":
            raise AgentChanged(step)
        if task.machine.driver_internal_info.get(agent_info.IMAGE) == agent_info.PARTLY_WRITTEN:
            task.write(lambda session, node: set_internal(node, **{agent_info.IMAGE: agent_info.NOT_BEGUN}))
        raise InvalidValue(
            message=f"Step {name_of(step)} failed: the agent has not begun it, for its hardware managers have changed."
        )
    if answer.status != SUCCEEDED:
        raise InvalidValue(message=f"Step {name_of(step)} failed: the agent on the machine says: {answer.error}")
    begun = time.monotonic()
    if step.get("in_band"):
        effect = task.driver.deploy.boot_agent(task.machine) if step.get("reboot_requested") else NOTHING
    else:
        effect = _poll(task, step, {**remembered, "result": answer.result})
    effect = replace(effect, internal={agent_info.COMMAND: None, **effect.internal})
    return Done(step, effect, task.job.now() - since + time.monotonic() - begun, since)


def _pauses(task: Task, kind: StepKind, done: Done, left: Sequence[Planned]) -> bool:
    """Pause after a step, if its effect requires that; return whether it does."""
    pausing = partial(_pause, task, kind, done, left)
    if done.effect.poll_after is not None:
        postpone(task, done, done.effect.poll_after, pausing)
    elif done.step["step"] == step_plans.HOLD:
        task.end(state_machine.HOLD, pausing)
    elif done.effect.waits:
        task.end(state_machine.WAIT, pausing)
    else:
        return False
    return True


#: The words of messages for the kinds of steps.
_OPERATIONS: Mapping[StepKind, str] = {"clean": "cleaning", "deploy": "deployment", "service": "service"}


def _abort(task: Task, kind: StepKind, done: Done | None) -> None:
    """Abort the operation after its current step. A serviced machine is given back to its instance first."""
    if done is not None:
        task.add(partial(_write_down, task, kind, done))
    task.write_added()
    torn_down = tear_down(task, kind) if kind == "service" else NOTHING

    def note(session: Session, node: Node) -> None:
        torn_down.write(node)
        step = readable(getattr(node, f"{kind}_step"))
        completion.note_abort(session, node, _OPERATIONS[kind], "after", step, task.job.conductor)
        completion.clear_steps(node)

    task.end(state_machine.FAIL, note)


def tear_down(task: Task, kind: StepKind) -> Effect:
    """Tear down after the steps of cleaning or servicing. Raises InvalidValue on failure."""
    deploy = task.driver.deploy
    action = deploy.tear_down_cleaning if kind == "clean" else deploy.tear_down_service
    with saying(f"Failed to tear down after the {kind} steps of node {task.machine.uuid}"):
        return action(task.machine)


def left_over(task: Task, kind: StepKind) -> list[Planned]:
    """Return the steps that remained when the machine began to wait."""
    steps: list[Planned] = task.machine.driver_internal_info.get(f"{kind}_steps") or []
    return steps


def names_of(steps: Sequence[Planned]) -> str:
    """Return the names of steps for messages."""
    return ", ".join(name_of(step) for step in steps) or "none"


def _begin(task: Task, kind: StepKind, step: Planned, done: Done | None, session: Session, node: Node) -> None:
    _write_down(task, kind, done, session, node)
    setattr(node, f"{kind}_step", step)
    task.note(session, node, f"Step {name_of(step)} begins", f"{kind}_step_start")


def _pause(task: Task, kind: StepKind, done: Done, left: Sequence[Planned], session: Session, node: Node) -> None:
    _write_down(task, kind, done, session, node)
    set_internal(node, **{f"{kind}_steps": left})


def _end(task: Task, kind: StepKind, done: Done | None, session: Session, node: Node) -> None:
    _write_down(task, kind, done, session, node)
    set_internal(node, **{f"{kind}_steps": None})
    completion.clear_steps(node)


def _write_down(task: Task, kind: StepKind, done: Done | None, session: Session, node: Node) -> None:
    if done is None:
        return
    effect = done.effect
    effect.write(node)
    if effect.bios is not None:
        bios.keep_settings(session, node, effect.bios)
    if effect.firmware:
        bios.keep_components(session, node, effect.firmware)
    if effect.poll_after is None and done.since is not None:
        work_queue.stop_polling(session, task.job.id)
    if effect.poll_after is None and effect.command is None:
        said = f"Step {name_of(done.step)} " + ("waits" if effect.waits else "is done")
        task.note(session, node, said, f"{kind}_step_end", duration=done.seconds)


def _do_logged(task: Task, kind: StepKind, step: Planned) -> Done:
    """Run a step. It is logged while the work is held, so that overlapping steps of two conductors would show in the
    logs."""
    log = task.job.log.bind(step=name_of(step))
    log.info("step begins")
    begun = time.monotonic()
    try:
        return Done(step, _do(task, kind, step), time.monotonic() - begun)
    finally:
        log.info("step ends")


def _do(task: Task, kind: StepKind, step: Planned) -> Effect:
    name, arguments = step["step"], step["args"]
    if name == step_plans.HOLD:
        return NOTHING
    if name == step_plans.WAIT_STEP:
        seconds = arguments.get("seconds")
        return Effect(waits=seconds is None, poll_after=seconds or None)
    if step.get("in_band"):
        return Effect(command=AgentCommand(f"{kind}.execute_{kind}_step", {"step": step}))
    with saying(f"Step {name_of(step)} failed"):
        if name in POWER_STEPS:
            return task.job.switch(task.machine, POWER_STEPS[name])
        effect: Effect = getattr(getattr(task.driver, step["interface"]), name)(task.machine, **arguments)
    return effect
