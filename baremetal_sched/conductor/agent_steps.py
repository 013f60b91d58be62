"""The agent's own steps: its description of them, and their place in the plan."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.conductor import agent_commands, step_plans
from baremetal_sched.conductor.agent_client import AgentAnswer, AgentFailed, Document
from baremetal_sched.conductor.step_plans import Planned, in_band, name_of
from baremetal_sched.conductor.task import Task
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.interface_types import STEP_INTERFACES, StepKind
from baremetal_sched.machines.machine import AgentCommand, set_internal
from baremetal_sched.machines.states import MANAGEABLE
from baremetal_sched.settings import Settings

#: The step that boots the agent in a deployment.
_BOOTS = "deploy.deploy"
#: An agent has some dozens of steps.
_MOST_STEPS = 1000
#: How often the agent's hardware managers have changed during the operation, and how often they may.
_CHANGES, _MOST_CHANGES = "agent_changes", 3


class AgentChanged(Exception):
    """The agent has not begun ``step``, for its hardware managers have changed."""

    def __init__(self, step: Planned) -> None:
        super().__init__(name_of(step))
        self.step = step


def join(task: Task, kind: StepKind, left: list[Planned]) -> list[Planned]:
    """Return the remaining steps with those of the agent, as soon as the agent can be asked.

    Raises AgentFailed; InvalidValue if a step that a client named is missing.
    """
    known = task.machine.driver_internal_info
    if not known.get(agent_info.URL) or known.get(agent_info.steps_key(kind)) is not None:
        return left
    adds_own = kind == "deploy" or _is_automated(task, kind)
    is_needed = adds_own or any(step.get("in_band") for step in left)
    # Of an agent that is booted by a step, nothing is known before.
    if not is_needed or not task.driver.deploy.commands_agent or any(name_of(step) == _BOOTS for step in left):
        return left
    task.write_added()
    steps = _refresh(task, kind)
    if known.get(agent_info.PLANNED) == kind:
        return left
    left = _merged(task.machine.settings, kind, left, steps, adds_own=adds_own)
    task.write(lambda session, node: set_internal(node, **{agent_info.PLANNED: kind}))
    return left


def _is_automated(task: Task, kind: StepKind) -> bool:
    return kind == "clean" and task.machine.target_provision_state != MANAGEABLE


def _refresh(task: Task, kind: StepKind) -> Mapping[str, Sequence[Document]]:
    """Ask the agent for its own steps of this kind, store them, and return them by interface."""
    answer = agent_commands.read(task, AgentCommand(f"{kind}.get_{kind}_steps", repeatable=True))
    steps, version = _steps_of(kind, answer)

    def note(session: Session, node: Node) -> None:
        key = agent_info.steps_key(kind)
        refreshed = datetime.now(UTC).replace(tzinfo=None).isoformat()
        set_internal(node, **{key: steps, f"{key}_refreshed": refreshed, agent_info.VERSION: version})

    task.write(note)
    return steps


def _steps_of(kind: StepKind, answer: AgentAnswer) -> tuple[dict[str, list[dict[str, Any]]], Any]:
    """Return the agent's own steps by interface, and the versions of its hardware managers. Raises AgentFailed."""
    result = answer.result
    listed = result.get(f"{kind}_steps") if isinstance(result, Mapping) else None
    if not isinstance(listed, Mapping):
        raise AgentFailed(f"the agent on the machine did not say which {kind} steps it has: {answer.error}")
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    each = [step for steps in listed.values() if isinstance(steps, list) for step in steps]
    if len(each) > _MOST_STEPS:
        raise AgentFailed(f"the agent on the machine says that it has {len(each)} {kind} steps.")
    for step in each:
        if not _is_step(step):
            raise AgentFailed(f"the agent on the machine has a {kind} step that makes no sense.")
        found[step["interface"]].append(step)
    return dict(found), result.get(agent_info.VERSION)


def _is_step(step: Any) -> bool:
    return (
        isinstance(step, Mapping)
        and isinstance(step.get("step"), str)
        and step.get("interface") in STEP_INTERFACES
        and isinstance(step.get("priority"), int)
    )


def _merged(
    settings: Settings,
    kind: StepKind,
    planned: Sequence[Planned],
    steps: Mapping[str, Sequence[Document]],
    *,
    adds_own: bool,
) -> list[Planned]:
    """Return the plan for an agent that has ``steps``, by interface.

    ``adds_own``: the agent's steps with a priority are done without being named, and all steps are in the order of
    their priorities. Named steps that the agent lacks are left out of a deployment, as in Ironic. Raises InvalidValue
    if one is missing for cleaning or servicing.
    """
    known = {(each["interface"], each["step"]): each for some in steps.values() for each in some}
    plan = []
    for step in planned:
        own = known.get((step["interface"], step["step"]))
        if not step.get("in_band"):
            plan.append(step)
        elif own is not None:
            plan.append({**step, **flags_of(kind, own)})
        elif kind != "deploy":
            raise InvalidValue(message=f"node does not support this {kind} step: {name_of(step)}")
    if not adds_own:
        return plan
    named = {(step["interface"], step["step"]) for step in planned}
    for key, own in known.items():
        priority = _priority(settings, kind, own)
        if priority > 0 and key not in named:
            plan.append({**in_band(own, priority), **flags_of(kind, own)})
    return sorted(plan, key=lambda step: -int(step["priority"]))


def flags_of(kind: StepKind, own: Document) -> dict[str, Any]:
    """Return the agent's description of its step. A step of deploying has a mark of its own, or none, as agents give
    none to steps that may well be aborted."""
    flags: dict[str, Any] = {"reboot_requested": bool(own.get("reboot_requested"))}
    if kind != "deploy" or own.get("abortable") is not None:
        flags["abortable"] = bool(own.get("abortable"))
    return flags


def _priority(settings: Settings, kind: StepKind, own: Document) -> int:
    """The priority of one of the agent's steps: the operator's, or else the agent's."""
    chosen = getattr(settings.deploy, f"{own['step']}_priority", None) if own["interface"] == "deploy" else None
    return int(own["priority"] if kind != "clean" or chosen is None else chosen)


def plan_again(task: Task, kind: StepKind, step: Planned, left: Sequence[Planned]) -> list[Planned]:
    """Return the steps for an agent whose hardware managers have changed: automated cleaning begins again, and other
    cleaning repeats its step, as in Ironic.

    Raises InvalidValue if it has changed too often.
    """
    changes = task.machine.driver_internal_info.get(_CHANGES, 0) + 1
    if changes > _MOST_CHANGES:
        raise InvalidValue(message=f"Step {name_of(step)} failed: the agent's hardware managers change all the time.")
    repeated = [step, *left]
    if _is_automated(task, kind):
        repeated = step_plans.automated(task.driver, kind)
    planned = kind if repeated[:1] == [step] else None
    forgotten = {agent_info.COMMAND: None, agent_info.steps_key(kind): None, agent_info.PLANNED: planned}
    task.write(lambda session, node: set_internal(node, **forgotten, **{_CHANGES: changes}))
    return repeated
