"""Power: requested here, done by the conductor that owns the node (``conductor.power``)."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.conductors import driver_calls, work_queue
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds import guards, holds
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.db.models import Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import InvalidPowerTarget, NodeNotFound, PowerRefused
from baremetal_sched.machines import agent_info, states
from baremetal_sched.machines.machine import Effect, Machine, set_internal
from baremetal_sched.settings import Settings

#: The kind of work that this is.
KIND = "power"


def request(session: Session, node: Node, target: str, timeout: int | None, membership: Membership) -> None:
    """Ask the conductor of ``node`` (its row locked) to bring its power to ``target``: the node is reserved for it
    until that is done.

    Raises Unanswered, InvalidPowerTarget, PowerRefused (power off is disabled for the node), InvalidValue (it is being
    cleaned, or its driver cannot bring it there), NodeLocked, NodeLockedOut, NoValidHost.
    """
    guards.require_no_lockout(session, node)
    if target not in states.POWER_TARGETS:
        raise InvalidPowerTarget(
            target=target, node=node.uuid, state=node.power_state, known=", ".join(states.POWER_TARGETS)
        )
    if node.provision_state in (states.CLEANING, states.CLEANWAIT):
        raise InvalidValue(
            message=f'The requested action "{target}" can not be performed on node "{node.uuid}" '
            f'while it is in state "{node.provision_state}".'
        )
    owner = membership.require_owner(node.uuid, node.conductor_group, node.driver)
    nodes.require_unlocked(node)
    driver_calls.answer(session, node, membership, "validate_power", {"target": target})
    if node.disable_power_off and states.POWER_TARGETS[target] == states.POWER_OFF:
        raise PowerRefused(target="power off")
    begin(node, target)
    work_queue.request(session, node, owner, KIND, {"target": target, "timeout": timeout})


# SELECT c.id, c.driver_info FROM nodes n JOIN nodes c ON c.parent_node = n.uuid WHERE n.id = … ORDER BY c.id
_CHILD = aliased(Node)
_PARENT = select(Node.parent_node, Node.driver_info).where(Node.id == bindparam("node"))
_CHILDREN = (
    select(_CHILD.id, _CHILD.driver_info)
    .join(Node, Node.uuid == _CHILD.parent_node)
    .where(Node.id == bindparam("node"))
    .order_by(_CHILD.id)
)


def power_dependencies(session: Session, node_id: int, target: str) -> list[int]:
    """Ids of the nodes whose power must be at ``target`` before that of this node may be: the parent of one that is
    switched on, the children of one that is switched off.

    None, if ``target`` is anything else; nor where the child has a dedicated power supply. Raises NodeNotFound if the
    parent is gone.
    """
    if target == states.POWER_ON:
        parent_node, driver_info = session.execute(_PARENT, {"node": node_id}).one()
        if parent_node is None or _has_dedicated_supply(driver_info):
            return []
        parent = session.scalar(select(Node.id).where(Node.uuid == parent_node))
        if parent is None:
            raise NodeNotFound(node=parent_node)
        return [parent]
    if target == states.POWER_OFF:
        children = session.execute(_CHILDREN, {"node": node_id})
        return [child for child, driver_info in children if not _has_dedicated_supply(driver_info)]
    return []


def _has_dedicated_supply(driver_info: Mapping[str, Any] | None) -> bool:
    return bool((driver_info or {}).get("has_dedicated_power_supply"))


def begin(node: Node, target: str) -> None:
    """Set the node's target power state."""
    node.target_power_state = states.POWER_TARGETS[target]
    node.last_error = None


def is_begun(node: Node, target: str) -> bool:
    """Return whether ``begin`` would change nothing."""
    return node.target_power_state == states.POWER_TARGETS[target] and node.last_error is None


def finish(session: Session, work: work_queue.HeldWork, outcome: Effect | str) -> bool:
    """Store how a power action ended and free the node.

    ``outcome`` is the effect on the machine, or why it failed. Returns False, and changes nothing, if the work was
    taken from this conductor.
    """
    node = work_queue.finish(session, work)
    if node is None:
        return False
    node.target_power_state = None
    if isinstance(outcome, Effect):
        outcome.write(node)
        node.last_error = None
        agent_info.forget(node)
    else:
        node.last_error = outcome
        history.record(session, node, outcome, event_type=KIND, severity="ERROR", conductor=work.conductor)
    return True


def note_health(session: Session, node: Node, health: str | None, conductor: str) -> None:
    """Store the health of the machine of ``node`` (its row locked), and a change of it in the history, as in Ironic."""
    if node.health == health:
        return
    event = f"Node health status changed: health='{health}' (previously '{node.health}')"
    history.record(session, node, event, event_type="monitoring", conductor=conductor)
    node.health = health


#: The key in ``driver_internal_info`` of the number of consecutive failures.
_FAILURES = "power_sync_failures"


def agrees(node: Node | Machine, state: str | None) -> bool:
    """Return whether the node says that its machine is in ``state``, and has no failure noted: then ``compare`` changes
    nothing."""
    return state is not None and state == node.power_state and not _failures(node)


def _failures(node: Node | Machine) -> int:
    failures: int = (node.driver_internal_info or {}).get(_FAILURES, 0)
    return failures


def compare(
    session: Session, node: Node, state: str | None, conductor: str, settings: Settings, trouble: str = ""
) -> None:
    """Compare the node's power with ``state``, the power state of the machine of ``node`` (its row locked, free); None
    if it cannot be read, for the reason ``trouble``, if known.

    If they differ, the machine is switched back (``force_power_state_during_sync``) by ``conductor``, or the node takes
    the machine's state. If the state cannot be read, or switching back does not help, for more than
    ``power_state_sync_max_retries`` times in a row, the node is put into maintenance, with the fault "power failure".

    A node whose power was never known takes the machine's state as soon as there is one.
    """
    options = settings.conductor
    if node.power_state is None:
        node.power_state = state
        return
    if agrees(node, state):
        return
    failures = _failures(node)
    if state is not None and state == node.power_state:
        set_internal(node, **{_FAILURES: 0})
        return
    is_switched_back = options.force_power_state_during_sync and node.power_state in (states.POWER_ON, states.POWER_OFF)
    is_off_limits = node.disable_power_off and node.power_state == states.POWER_OFF
    if state is not None and (not is_switched_back or is_off_limits):
        event = f"The machine is in state '{state}', not in '{node.power_state}'; the node is updated."
        node.power_state = state
        set_internal(node, **{_FAILURES: 0})
        history.record(session, node, event, event_type=KIND, severity="ERROR", conductor=conductor)
    elif failures >= options.power_state_sync_max_retries:
        _give_up(session, node, state, conductor, trouble)
    else:
        set_internal(node, **{_FAILURES: failures + 1})
        if state is not None:
            event = f"The machine is in state '{state}', not in '{node.power_state}': it is switched back."
            history.record(session, node, event, event_type=KIND, severity="ERROR", conductor=conductor)
            node.target_power_state = node.power_state
            work_queue.request(session, node, conductor, KIND, {"target": node.power_state, "timeout": None})


def _give_up(session: Session, node: Node, state: str | None, conductor: str, trouble: str) -> None:
    is_in = f"the machine is in state '{state}'" if state else "the state of the machine cannot be read"
    why = f" {trouble}" if trouble and not state else ""
    reason = (
        f"During sync_power_state, max retries exceeded for node {node.uuid}: {is_in}, the node says "
        f"'{node.power_state}'. Switching node to maintenance mode.{why}"
    )
    node.power_state = state or states.ERROR
    node.last_error = reason
    set_internal(node, **{_FAILURES: 0})
    holds.assert_fault(session, node, states.POWER_FAILURE, reason, conductor)
    history.record(session, node, reason, event_type=KIND, severity="ERROR", conductor=conductor)


def recover(session: Session, node: Node, state: str | None, conductor: str) -> None:
    """Release the hold of ``node`` (its row locked, free, with the fault "power failure") if its power can be read
    again. If it has no other, that takes it out of maintenance."""
    if state is None:
        return
    node.power_state = state
    holds.release_fault(session, node, conductor)
    event = f"The power state of the machine can be read again: it is '{state}'."
    history.record(session, node, event, event_type=KIND, conductor=conductor)
