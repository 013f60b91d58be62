"""How work on a node ends, and what is written down about it: on success, on failure, and when its time is up."""

from collections.abc import Mapping

from sqlalchemy.orm import Session

from baremetal_sched.baremetal import history, state_machine, states
from baremetal_sched.baremetal.drivers import agent
from baremetal_sched.baremetal.drivers.machine import set_internal
from baremetal_sched.db.models import Node

#: By state: where the step that is going on is noted, and the fault of a node that fails at it.
_STEPS: Mapping[str, tuple[str, str]] = {
    states.CLEANING: ("clean_step", states.CLEAN_FAILURE),
    states.CLEANWAIT: ("clean_step", states.CLEAN_FAILURE),
    states.SERVICING: ("service_step", states.SERVICE_FAILURE),
    states.SERVICEWAIT: ("service_step", states.SERVICE_FAILURE),
}


def settle(node: Node) -> None:
    """No step is going on, none is left, and nobody waits for an agent."""
    node.clean_step = node.deploy_step = node.service_step = {}
    known = node.driver_internal_info or {}
    left = [name for name in ("clean_steps", "deploy_steps", "service_steps") if name in known]
    set_internal(node, **dict.fromkeys(left))
    agent.forget(node)


def fail(
    session: Session, node: Node, reason: str, conductor: str | None = None, event_type: str | None = None
) -> None:
    """The work on the node (its row locked) came to nothing: it moves to the state that its state fails to.

    ``event_type`` is that of the entry in the node's history; the state that the node was in, unless given.

    A machine that failed at a step of cleaning or servicing may be in any condition: it is put into maintenance.
    """
    column, fault = _STEPS.get(node.provision_state, (None, None))
    if column is not None and getattr(node, column):
        node.maintenance, node.maintenance_reason, node.fault = True, reason, fault
    history.record(
        session, node, reason, event_type=event_type or node.provision_state, severity="ERROR", conductor=conductor
    )
    state_machine.fail(node, reason)
    settle(node)
    node.touch()
