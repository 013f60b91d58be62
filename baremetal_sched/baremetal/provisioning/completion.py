"""How work on a node ends, and how that is recorded: on success, on failure, and at a time-out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history, state_machine
from baremetal_sched.baremetal.allocations import allocations
from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.holds import holds
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor, Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.machines import agent_info, states
from baremetal_sched.machines.machine import set_internal

_RESCUE_PASSWORDS = ("rescue_password", "hashed_rescue_password")


def remove(session: Session, node: Node) -> None:
    """Remove the instance from the node: everything that belonged to it, and the lessee if deploying set it.

    Its allocation is deleted. Traits, resource class and name stay, as do claims of others in placement.
    """
    internal = dict(readable(node.driver_internal_info))
    internal.pop(agent_info.BOOTED_FOR_SERVICE, None)
    if internal.pop("automatic_lessee", False):
        node.lessee = None
    if internal != readable(node.driver_internal_info):
        node.driver_internal_info = internal
    allocations.release(session, node)
    node.instance_info = {}
    node.instance_uuid = node.instance_name = None


def forget_rescue_password(node: Node) -> None:
    """Delete the rescue password: logins to a rescue system are over."""
    known = readable(node.instance_info)
    if any(name in known for name in _RESCUE_PASSWORDS):
        node.instance_info = {name: value for name, value in known.items() if name not in _RESCUE_PASSWORDS}


def forget_service(node: Node) -> None:
    """Forget that a service has booted an agent: the instance has been booted since."""
    if readable(node.driver_internal_info).get(agent_info.BOOTED_FOR_SERVICE):
        set_internal(node, **{agent_info.BOOTED_FOR_SERVICE: None})


#: By state: the column with the current step, and the fault of a node that fails at it.
_STEPS: Mapping[str, tuple[str, str | None]] = {
    states.CLEANING: ("clean_step", states.CLEAN_FAILURE),
    states.CLEANWAIT: ("clean_step", states.CLEAN_FAILURE),
    states.DEPLOYING: ("deploy_step", None),
    states.DEPLOYWAIT: ("deploy_step", None),
    states.SERVICING: ("service_step", states.SERVICE_FAILURE),
    states.SERVICEWAIT: ("service_step", states.SERVICE_FAILURE),
}

#: By state: the event type of the end of the work, as in Ironic; by default it is the state itself.
_EVENT_TYPES: Mapping[str, str] = {
    states.ENROLL: "introspection",
    states.VERIFYING: "verify",
    states.INSPECTING: "introspection",
    states.INSPECTWAIT: "introspection",
    states.ADOPTING: "adoption",
    **dict.fromkeys((states.CLEANWAIT, states.CLEANHOLD), states.CLEANING),
    **dict.fromkeys((states.DEPLOYWAIT, states.DEPLOYHOLD), states.DEPLOYING),
    **dict.fromkeys((states.SERVICEWAIT, states.SERVICEHOLD), states.SERVICING),
    **dict.fromkeys((states.RESCUING, states.RESCUEWAIT, states.UNRESCUING), states.RESCUE),
    states.DELETING: "unprovision",
}


def event_type_of(state: str) -> str:
    """Return the event type for the end of the work in ``state``."""
    return _EVENT_TYPES.get(state, state)


_OF_WORK = frozenset((*map(event_type_of, state_machine.TRANSIENT), *_EVENT_TYPES.values()))


def takes_time(event_type: str) -> bool:
    """Return whether entries of a node's history with this type are about the end of something that takes time. Others
    have as their duration how long the node was in its state."""
    return event_type.endswith("_end") or event_type in _OF_WORK


def note_abort(
    session: Session,
    node: Node,
    operation: str,
    when: str,
    step: Mapping[str, Any] | None,
    conductor: str | None = None,
) -> None:
    """Record that a client had the operation aborted ``when`` ("at", "after") its current step, if it has one."""
    at = f" {when} step {step['interface']}.{step['step']}" if step else ""
    node.last_error = f"By request, the {operation} was aborted{at}."
    kind = event_type_of(node.provision_state)
    history.record(session, node, node.last_error, event_type=kind, conductor=conductor)


def clear_progress(node: Node) -> None:
    """Clear the current step, the remaining steps and the agent."""
    clear_steps(node)
    agent_info.leave(node)


#: Keys of ``driver_internal_info`` that are kept only while steps are executed.
_OF_STEPS = (agent_info.PLANNED, agent_info.IMAGE)


def clear_steps(node: Node) -> None:
    """Clear the current step and the remaining steps."""
    node.clean_step = node.deploy_step = node.service_step = {}
    known = readable(node.driver_internal_info)
    left = [name for name in ("clean_steps", "deploy_steps", "service_steps") if name in known]
    if left:
        set_internal(node, **dict.fromkeys(left))
    if not known.keys().isdisjoint(_OF_STEPS):
        kept = readable(node.driver_internal_info)
        node.driver_internal_info = {key: value for key, value in kept.items() if key not in _OF_STEPS}


def fail(
    session: Session, node: Node, reason: str, conductor: str | None = None, event_type: str | None = None
) -> None:
    """Fail the work on the node (its row locked), which moves to the failure state of its state.

    ``event_type`` is that of the entry in the node's history, by default that of its state.

    A machine that failed at a step of cleaning or servicing may be in any condition: it is put into maintenance.
    """
    column, fault = _STEPS.get(node.provision_state, (None, None))
    step = readable(getattr(node, column)) if column is not None else None
    image = agent_info.said_of_image(readable(node.driver_internal_info))
    if image and not reason.endswith("."):
        image = f".{image}"
    # Messages of agents and drivers may be longer than the column.
    reason = reason[: history.MAX_EVENT - len(image)] + image
    if column is not None and step:
        stopped = f"Stopped at step {step['interface']}.{step['step']}"
        history.record(session, node, stopped, event_type=_end_of(node, column), severity="ERROR", conductor=conductor)
        if fault is not None:
            holds.assert_fault(session, node, fault, reason, conductor)
    if node.provision_state in (states.RESCUING, states.RESCUEWAIT):
        forget_rescue_password(node)
    kind = event_type or event_type_of(node.provision_state)
    history.record(session, node, reason, event_type=kind, severity="ERROR", conductor=conductor)
    state_machine.fail(node, reason)
    clear_progress(node)
    node.touch()


def _end_of(node: Node, column: str) -> str:
    """Return the event type for the end of the steps in ``column``."""
    if column == "clean_step":
        return f"{'manual' if node.target_provision_state == states.MANAGEABLE else 'automated'}_cleaning_end"
    return {"deploy_step": "deployment_end", "service_step": "servicing_end"}[column]


@dataclass(frozen=True)
class FailureReason:
    """Why work has failed, as text for ``last_error`` and as the type of the event in the node's history.

    ``power`` is the text for power actions, ``provisioning`` the text for provisioning, in which "{state}" stands for
    the node's state.
    """

    power: str
    provisioning: str
    event_type: str


def is_orphan(timeout: float) -> ColumnElement[bool]:
    """SQL condition: the node is reserved for a conductor that has sent no heartbeat for ``timeout`` seconds.

    EXISTS (SELECT … FROM conductors WHERE hostname = reservation AND heartbeat_at <= now - timeout)

    It does not matter whether that conductor is online: a conductor that is shutting down sends heartbeats until its
    work is done. A reservation under any other name, made to keep conductors off the node, is kept.
    """
    dead = select(Conductor.id).where(
        Conductor.hostname == Node.reservation, Conductor.heartbeat_at <= epoch() - timeout
    )
    return dead.exists()


def release_abandoned(
    session: Session, node_id: int, condition: ColumnElement[bool], conductor: str, why: FailureReason
) -> bool:
    """Free the node of its reservation if ``condition`` (still) holds; the work of its conductor has failed.

    ``conductor`` is the host name of the conductor that decided this. Returns False, and changes nothing, if the
    condition does not hold.
    """
    node = work_queue.take_away(session, node_id, condition)
    if node is None:
        return False
    if node.target_power_state is not None:
        node.target_power_state = None
        node.last_error = why.power
        history.record(session, node, why.power, event_type=why.event_type, severity="ERROR", conductor=conductor)
    if node.provision_state in state_machine.TRANSIENT:
        reason = why.provisioning.format(state=node.provision_state)
        step = agent_info.unknown_step(readable(node.driver_internal_info))
        reason += f" It is unknown whether step {step} ran." if step else ""
        fail(session, node, reason, conductor, why.event_type)
    return True


def fail_abandoned(
    session: Session, node_id: int, condition: ColumnElement[bool], *, conductor: str, reason: str
) -> bool:
    """Fail a node that is not worked on, if ``condition`` (still) holds and its state can fail.

    Returns False, and changes nothing, otherwise.
    """
    node = session.scalars(
        select(Node).where(Node.id == node_id, Node.reservation.is_(None), condition).with_for_update()
    ).first()
    if node is None or not state_machine.can_fail(node.provision_state):
        return False
    fail(session, node, reason, conductor)
    return True
