"""Commands to agents, each executed once: a command is written down before it is sent.

The record is ``agent_command`` in ``driver_internal_info``: the command's ``name``, the ids that the agent knew before
(``known``), the ``step`` that it belongs to and its ``step_name``, what its driver ``remembered``, since when it runs
(``since``, epoch), and its ``id`` once the agent has accepted it. A record without ``id`` says that the command may or
may not have reached the agent. While the agent executes it, the node waits for a heartbeat and is not reserved.
"""

from typing import Any

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import state_machine
from baremetal_sched.conductor import agent_requests
from baremetal_sched.conductor.agent_client import AgentAnswer, AgentClient, AgentFailed, AgentUnreachable, Document
from baremetal_sched.conductor.step_plans import Planned, name_of
from baremetal_sched.conductor.task import Change, Task, saying
from baremetal_sched.db.models import Node
from baremetal_sched.drivers import progress
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import agent_info
from baremetal_sched.machines.machine import AgentCommand, set_internal
from baremetal_sched.machines.states import POWER_OFF

#: How often a command that may be repeated is sent before the step fails.
_ATTEMPTS = 3


def send(task: Task, command: AgentCommand, step: Planned, remembered: Document, change: Change) -> AgentAnswer | None:
    """Change the node, write the command down, and have the agent execute it; return its answer.

    None if the command is not awaited and got no answer. Raises WorkLost, LastingConflict, AgentFailed; InvalidValue if
    it is unknown whether the agent has the command.
    """
    with saying(f"Step {name_of(step)} failed"):
        params = agent_requests.complete(task, command)
        client = AgentClient.of(task.machine)
        with task.job.calling("agent.get_commands"):
            known = [each.id for each in client.commands()]
    record = {
        "name": command.name,
        "known": known,
        "step": step,
        "step_name": name_of(step),
        "remembered": dict(remembered),
        "since": task.job.now(),
    }

    changed: dict[str, Any] = {agent_info.COMMAND: record}
    if command.image is not None:
        changed[agent_info.IMAGE] = command.image
    before = {key: task.machine.driver_internal_info.get(key) for key in changed}

    def note(session: Session, node: Node) -> None:
        change(session, node)
        set_internal(node, **changed)

    task.write(note)
    try:
        with task.job.calling(f"agent.{command.name}"):
            answer = _send(client, command, params, known, step)
    except AgentFailed as error:
        task.write(lambda session, node: set_internal(node, **before))
        raise InvalidValue(message=f"Step {name_of(step)} failed: {error}") from None
    if answer is not None and answer.is_running and command.awaited:
        task.job.log.info("agent executes a command", command=command.name, id=answer.id)
    return answer


def _send(
    client: AgentClient, command: AgentCommand, params: Document, known: list[str] | None, step: Planned
) -> AgentAnswer | None:
    """Raise AgentFailed if the agent has certainly not begun the command, and InvalidValue if that is unknown.

    ``known``: the commands that the agent had before; None: a lost answer is not looked up.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        progress.note()
        try:
            return client.send(command.name, params)
        except AgentFailed as error:
            last, lost = attempt == _ATTEMPTS, error
        if not lost.sent:
            if last or not isinstance(lost, AgentUnreachable):
                raise lost
            continue
        if not command.awaited:
            return None
        found = None if known is None else _accepted(client, command, known)
        if found is not None:
            return found
        if not command.repeatable or last:
            raise InvalidValue(
                message=f"It is unknown whether step {name_of(step)} ran: the agent may have received "
                f"{command.name}, but gave no valid answer ({lost})."
            )
    raise AssertionError  # the last attempt returns or raises


def _accepted(client: AgentClient, command: AgentCommand, known: list[str]) -> AgentAnswer | None:
    """Return the command whose answer was lost, if the agent has it: it is new, and has the name."""
    try:
        listed = client.commands()
    except AgentFailed:
        return None
    name = command.name.rpartition(".")[2]
    return next((each for each in reversed(listed) if each.name == name and each.id not in known), None)


def pending(task: Task) -> Document | None:
    """Return the record of the command that the agent executes, or None."""
    record: Document | None = task.machine.driver_internal_info.get(agent_info.COMMAND)
    return record or None


def ask(task: Task, record: Document) -> AgentAnswer | None:
    """Return the state of the command, which may still be running; None if the agent cannot be reached now.

    Raises InvalidValue if the agent does not know the command, or has been executing it for too long: then the machine
    is switched off.
    """
    name = record["step_name"]
    try:
        with task.job.calling("agent.get_command"):
            answer = AgentClient.of(task.machine).command(record["id"])
    except AgentUnreachable as error:
        task.job.log.warning("cannot ask the agent for its command", step=name, reason=str(error))
        _limit(task, record)
        return None
    except AgentFailed as error:
        raise InvalidValue(message=f"Step {name} failed: {error}") from None
    if answer is None:
        raise InvalidValue(
            message=f"Step {name} failed: the agent on the machine no longer knows the command {record['name']}. "
            "It must have been restarted, and it is unknown whether the step was completed."
        )
    if answer.is_running:
        _limit(task, record)
    return answer


def _limit(task: Task, record: Document) -> None:
    limit = task.job.settings.agent.command_run_timeout
    if not limit or record["since"] > task.job.ago(limit):
        return
    if not task.machine.disable_power_off:
        switched = task.job.switch(task.machine, POWER_OFF)
        task.write(lambda session, node: switched.write(node))
    raise InvalidValue(
        message=f"Step {record['step_name']} failed: the agent has been executing {record['name']} for {limit:g} "
        "seconds."
    )


def keep_waiting(task: Task, *, is_heard: bool) -> None:
    """End the work: the agent still executes the command, and reports later. Raises WorkLost, LastingConflict.

    ``is_heard``: the agent has answered. One that has not is silent, and the time limit of its state keeps running.
    """

    def note(session: Session, node: Node) -> None:
        if is_heard:
            state_machine.begin_to_wait(node)

    task.pause(note)


def read(task: Task, command: AgentCommand) -> AgentAnswer:
    """Return the agent's answer to a command that only reads, and is no part of a step. Raises AgentFailed."""
    params = agent_requests.complete(task, command)
    client = AgentClient.of(task.machine)
    with task.job.calling(f"agent.{command.name}"):
        answer = _send(client, command, params, None, {"interface": "agent", "step": command.name})
    assert answer is not None  # noqa: S101 - it is awaited
    return answer
