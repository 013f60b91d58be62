"""Changing a node by PATCH: what may change, when, and what follows from it.

The rules are Ironic's; where Ironic answers 500, these are the intended ones.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.allocations import allocations
from baremetal_sched.baremetal.conductors import driver_facts
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds import guards, holds
from baremetal_sched.baremetal.holds.rules import INTERNAL, Actor
from baremetal_sched.baremetal.nodes import chassis, nodes
from baremetal_sched.baremetal.nodes.node_fields import FIELDS
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.schemas.nodes import NODE_UPDATE
from baremetal_sched.baremetal.visibility import UNRESTRICTED, Access
from baremetal_sched.db.models import Chassis, Node
from baremetal_sched.documents import patch
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import InvalidNodeState, NodeAssociated
from baremetal_sched.machines import states
from baremetal_sched.machines.interface_types import INTERFACE_TYPES

_INTERFACES = tuple(f"{kind}_interface" for kind in INTERFACE_TYPES)


def update(
    session: Session,
    node: Node,
    operations: patch.Patch,
    *,
    membership: Membership,
    reset_interfaces: bool = False,
    hides_inspect_wait: bool = False,
    access: Access = UNRESTRICTED,
    actor: Callable[[Node], Actor] = lambda node: INTERNAL,
) -> None:
    """Apply a PATCH that is well formed and touches only fields that may be touched to ``node`` (its row locked).

    ``reset_interfaces``: a change of driver sets all interfaces to the new driver's defaults. ``hides_inspect_wait``:
    the client is older than that state, so to it "inspecting" is not a transition. ``access``: the caller's, to nodes
    whose owner is changed. It must cover the new owner, too, so that a node is given only to projects for which the
    caller may act. A new parent must be visible. Raises NotAllowed, InvalidValue, InvalidNodeState, NodeAssociated,
    NodeLocked, NoValidHost, …, and then nothing is changed.
    """
    _require_settled(session, node, operations, hides_inspect_wait)
    before = document_of(session, node)
    after = FIELDS.patched(before, operations, NODE_UPDATE)
    changed = _changes(before, after, membership)
    nodes.require_unlocked(node)
    named = {patch.root(operation) for operation in operations}
    by = actor(node)
    _apply(session, node, before, after, changed, named, membership, reset_interfaces, access, by)


def set_fields(session: Session, node: Node, values: Mapping[str, Any], membership: Membership) -> None:
    """Set fields that a PATCH may touch, null to their default, on a node (its row locked) reserved for the caller.

    Raises like ``update``, and then nothing is changed.
    """
    before = document_of(session, node)
    after = FIELDS.loaded({**before, **FIELDS.defaulted(values)}, NODE_UPDATE, "node")
    if after["name"] is not None:
        nodes.check_name(after["name"], hostname_only=False, refusal="Cannot give the node the invalid name")
    changed = _changes(before, after, membership)
    _apply(session, node, before, after, changed, set(values), membership)


def document_of(session: Session, node: Node) -> dict[str, Any]:
    """Return the current values of the fields that a PATCH may touch."""
    return FIELDS.values_of(node, chassis_uuid=_chassis_uuid(session, node))


def _changes(before: Mapping[str, Any], after: dict[str, Any], membership: Membership) -> dict[str, Any]:
    """Return the changed fields, with the conductor group as it is stored. Raises like ``update``."""
    after["conductor_group"] = nodes.normal_group(after["conductor_group"])
    membership.require(after["conductor_group"], after["driver"])
    nodes.check_conductor_group(after["conductor_group"])
    return FIELDS.changes(before, after)


def _apply(
    session: Session,
    node: Node,
    before: Mapping[str, Any],
    after: dict[str, Any],
    changed: dict[str, Any],
    named: set[str],
    membership: Membership,
    reset_interfaces: bool = False,
    access: Access = UNRESTRICTED,
    actor: Actor = INTERNAL,
) -> None:
    _check_flags(node, after, changed)
    _check_states(session, node, changed, reset_interfaces)
    _check_values(session, node, after, changed, access)
    _settle_interfaces(session, after, changed, before, named, membership, reset_interfaces)
    if changed:
        _store(session, node, changed, actor)


def _chassis_uuid(session: Session, node: Node) -> str | None:
    if node.chassis_id is None:
        return None
    return session.scalar(select(Chassis.uuid).where(Chassis.id == node.chassis_id))


def _require_settled(session: Session, node: Node, operations: patch.Patch, hides_inspect_wait: bool) -> None:
    """Raise InvalidNodeState in a transition, unless the patch only frees a node in maintenance of its instance."""
    if node.target_provision_state is None:
        return
    if node.provision_state in states.UPDATE_IN_TRANSITION and not (
        node.provision_state == states.INSPECTING and not hides_inspect_wait
    ):
        return
    only_frees_it = [(op["op"], op["path"]) for op in operations] == [("remove", "/instance_uuid")]
    if not (only_frees_it and guards.loosens_guards(session, node)):
        raise InvalidNodeState(message=f"Node {node.uuid} can not be updated while a state transition is in progress.")


def _check_flags(node: Node, after: dict[str, Any], changed: dict[str, Any]) -> None:
    """protected and retired: when each may be set, and that a reason goes with its flag."""
    if changed.get("protected") and node.provision_state not in states.PROTECT_ALLOWED:
        raise InvalidNodeState(
            message=f"Node {node.uuid} can only be made protected in provision states 'active' or 'rescue', "
            f"the current state is '{node.provision_state}'"
        )
    if changed.get("retired") and node.provision_state == states.AVAILABLE:
        raise InvalidNodeState(
            message=f"Node {node.uuid} can not have 'retired' set in provision state 'available', "
            "the current state is 'available'"
        )
    for flag in ("protected", "retired"):
        reason = f"{flag}_reason"
        if not after[flag] and changed.get(reason):
            raise InvalidValue(message=f"The {reason} field can only be set when {flag} is True")
        if changed.get(flag) is False and getattr(node, reason) is not None:
            after[reason] = changed[reason] = None


def _check_states(session: Session, node: Node, changed: Mapping[str, Any], reset_interfaces: bool) -> None:
    """Which fields may change in the node's provision state."""
    if node.provision_state in states.UPDATE_ALLOWED:
        return
    refused, is_loosened = [], guards.loosens_guards(session, node)
    if node.resource_class is not None and "resource_class" in changed:
        refused.append("resource_class")
    if not is_loosened and not reset_interfaces:
        refused += [name for name in _INTERFACES if name in changed]
    if "instance_uuid" in changed and changed["instance_uuid"] is None and node.allocation_uuid:
        refused += [] if is_loosened else ["instance_uuid"]
    if refused:
        unless_kept = "" if refused[0] == "resource_class" else " or in maintenance mode"
        raise InvalidNodeState(
            message=f"Node {node.uuid} can not have {refused[0]} updated unless it is in one of allowed "
            f"({', '.join(states.UPDATE_ALLOWED)}) states{unless_kept}. Current state is '{node.provision_state}'."
        )


def _check_values(
    session: Session, node: Node, after: Mapping[str, Any], changed: dict[str, Any], access: Access
) -> None:
    """Raise the error of a new value that is taken, invalid, or not allowed for the node or the caller."""
    if "driver" in changed and node.console_enabled:
        raise InvalidNodeState(message=f"Node {node.uuid} can not change its driver while its console is enabled.")
    if "name" in changed:
        nodes.require_name_free(session, changed["name"])
    if changed.get("instance_uuid") is not None:
        if node.instance_uuid is not None:
            raise NodeAssociated(node=node.uuid, instance=node.instance_uuid)
        nodes.require_instance_unclaimed(session, changed["instance_uuid"], node.uuid)
    if "owner" in changed:
        access.require(node.owner, node.lessee)
        access.require(changed["owner"], after["lessee"])
        allocations.require_ownerless(session, node)
    if "properties" in changed:
        nodes.check_properties(node.uuid, after["properties"])
    if "parent_node" in changed:
        changed["parent_node"] = nodes.find_parent(session, changed["parent_node"], node.owner, access.visible)
    display_name = after["instance_info"].get("display_name")
    if after["instance_name"] is None and "instance_info" in changed and _is_name(display_name):
        changed["instance_name"] = display_name


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= 255


def _settle_interfaces(
    session: Session,
    after: Mapping[str, Any],
    changed: dict[str, Any],
    before: Mapping[str, Any],
    named: set[str],
    membership: Membership,
    reset_interfaces: bool,
) -> None:
    """Fill interfaces that were removed with defaults; on a change of driver, keep or reset them all."""
    if reset_interfaces and "driver" not in named:
        raise InvalidValue(message="The reset_interfaces parameter can only be used when changing the node's driver.")
    if "driver" not in changed and not any(name in changed for name in _INTERFACES):
        return
    chosen = {name: after[name] for name in _INTERFACES if name in named or not reset_interfaces}
    offers = driver_facts.offers(session, after["driver"], after["conductor_group"], membership)
    for name, value in nodes.interfaces(after["driver"], chosen, offers).items():
        if value != before[name]:
            changed[name] = value
        else:
            changed.pop(name, None)


def _store(session: Session, node: Node, changed: dict[str, Any], actor: Actor) -> None:
    """Write the changed fields; a node that loses its instance loses its allocation. Raises HoldsKept."""
    maintenance = changed.pop("maintenance", None)
    if maintenance:
        holds.set_legacy(session, node, None, actor)
    elif maintenance is not None:
        holds.leave_maintenance(session, node, actor)
    if "chassis_uuid" in changed:
        node.chassis_id = chassis.id_of(session, changed.pop("chassis_uuid"))
    if "instance_uuid" in changed and changed["instance_uuid"] is None:
        allocations.release(session, node)
    for name, value in changed.items():
        setattr(node, name, value)
    node.touch()
    if "resource_class" in changed:
        projection.log_class_warning(node.uuid, node.resource_class)
