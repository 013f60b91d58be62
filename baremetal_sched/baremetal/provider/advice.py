"""Remedies for a machine that is not offered: only actions that the service accepts in the node's state."""

from collections.abc import Callable, Mapping

from baremetal_sched import commands
from baremetal_sched.baremetal import state_machine
from baremetal_sched.baremetal.state_machine import HELD, TRANSIENT, WAITING
from baremetal_sched.db.models import Node
from baremetal_sched.machines import states

_WAIT = "Wait until the operation in progress has finished."
_WHEN_FREE = "Nothing is wrong: when the machine is no longer needed,"
_SERVES = frozenset({states.ACTIVE, states.RESCUE})


def is_in_use(node: Node) -> bool:
    """Return whether an instance has the machine, or is getting it, and nothing has failed."""
    return node.instance_uuid is not None and _serves(node.provision_state)


def _serves(state: str) -> bool:
    waits = state in (states.DEPLOYWAIT, states.RESCUEWAIT, states.SERVICEWAIT)
    return waits or TRANSIENT.get(state, state) in _SERVES


def to_make_available(node: Node) -> str:
    """Return the commands that bring the node to ``available``, and the verbs that its state takes."""
    state = node.provision_state
    verbs = state_machine.verbs_of(state)
    possible = f" Possible now: {', '.join(verbs)}." if verbs else ""
    way = state_machine.way_to_available(state)
    if state in HELD:
        advice = "Continue the operation with 'unhold'."
    elif state in TRANSIENT or state in WAITING or not way:
        advice = _WAIT
    else:
        begin = f"{_WHEN_FREE} make" if state in _SERVES else "Make"
        steps = " and then ".join(f"'{verb}'" for verb in way)
        advice = f"{_to_unset(node, way)}{begin} it available with {steps}."
    return advice + possible


def _to_unset(node: Node, way: list[str]) -> str:
    flags = [name for name, counts in (("protected", "deleted" in way), ("retired", True)) if counts]
    unset = " and ".join(flag for flag in flags if getattr(node, flag))
    return f"Unset {unset} first. " if unset else ""


def to_free(node: Node) -> str:
    """Return the command that ends the use of the node by its instance."""
    state = node.provision_state
    if state == states.AVAILABLE:
        return f"{_WHEN_FREE} delete its allocation, or unset instance_uuid if it has none."
    if state in TRANSIENT or not state_machine.accepts(state, "delete"):
        return _WAIT
    command = commands.PROVISION["deleted"].of(node=commands.called(node.name, node.uuid))
    how = f"delete its server, or undeploy it:\n{command}"
    if node.protected:
        how = f"unset protected, and then {how}"
    return f"{_WHEN_FREE} {how}" if _serves(state) else how[0].upper() + how[1:]


def to_end_maintenance(node: Node) -> str:
    """Return the command that ends the maintenance of the node."""
    if node.fault == states.POWER_FAILURE:
        return "Correct the cause: it ends by itself as soon as the management controller answers."
    return "Unset maintenance when the machine is fit for use."


def to_know_power(node: Node) -> str:
    """Return the command that makes the power state of the node known."""
    advice = "Check driver_info and the management controller, then set its power state"
    again = state_machine.accepts(node.provision_state, "manage") and not node.retired
    return f"{advice}, or 'manage' and 'provide' it." if again else f"{advice}."


#: By the column of the condition that a node does not meet (``availability.CONDITIONS``).
_REMEDIES: Mapping[str, Callable[[Node], str]] = {
    "parent_node": lambda node: "Unset parent_node if the machine is to be scheduled by itself.",
    "provision_state": to_make_available,
    "maintenance": to_end_maintenance,
    "instance_uuid": to_free,
    "power_state": to_know_power,
}


def remedy(column: str, node: Node) -> str:
    """Return what an operator can do about a node that does not meet the condition on this column."""
    return _REMEDIES[column](node)
