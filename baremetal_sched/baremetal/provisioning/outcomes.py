"""How work on a node ends, and what is recorded: on success, on failure, and at a time-out."""

from collections.abc import Mapping

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history, state_machine
from baremetal_sched.baremetal.provisioning import instances
from baremetal_sched.db.models import Node
from baremetal_sched.db.sealing import readable
from baremetal_sched.machines import agent_info, states
from baremetal_sched.machines.machine import set_internal

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


def settle(node: Node) -> None:
    """Clear the current step, the remaining steps and the agent."""
    clear_steps(node)
    agent_info.leave(node)


def clear_steps(node: Node) -> None:
    """Clear the current step and the remaining steps."""
    node.clean_step = node.deploy_step = node.service_step = {}
    known = readable(node.driver_internal_info)
    left = [name for name in ("clean_steps", "deploy_steps", "service_steps") if name in known]
    if left:
        set_internal(node, **dict.fromkeys(left))


def fail(
    session: Session, node: Node, reason: str, conductor: str | None = None, event_type: str | None = None
) -> None:
    """Fail the work on the node (its row locked), which moves to the failure state of its state.

    ``event_type`` is that of the entry in the node's history, by default that of its state.

    A machine that failed at a step of cleaning or servicing may be in any condition: it is put into maintenance.
    """
    # Messages of agents and drivers may be longer than the column.
    reason = reason[: history.MAX_EVENT]
    column, fault = _STEPS.get(node.provision_state, (None, None))
    step = readable(getattr(node, column)) if column is not None else None
    if column is not None and step:
        stopped = f"Stopped at step {step['interface']}.{step['step']}"
        history.record(session, node, stopped, event_type=_end_of(node, column), severity="ERROR", conductor=conductor)
        if fault is not None:
            node.maintenance, node.maintenance_reason, node.fault = True, reason, fault
    if node.provision_state in (states.RESCUING, states.RESCUEWAIT):
        instances.forget_rescue_password(node)
    kind = event_type or event_type_of(node.provision_state)
    history.record(session, node, reason, event_type=kind, severity="ERROR", conductor=conductor)
    state_machine.fail(node, reason)
    settle(node)
    node.touch()


def _end_of(node: Node, column: str) -> str:
    """Return the event type for the end of the steps in ``column``."""
    if column == "clean_step":
        return f"{'manual' if node.target_provision_state == states.MANAGEABLE else 'automated'}_cleaning_end"
    return {"deploy_step": "deployment_end", "service_step": "servicing_end"}[column]
