"""Nodes: finding, creating and destroying them."""

import uuid as uuid_module
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, bindparam, delete, exists, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import events, records
from baremetal_sched.baremetal.conductors import driver_facts
from baremetal_sched.baremetal.conductors.ownership import LiveMembers, Membership
from baremetal_sched.baremetal.hardware import management
from baremetal_sched.baremetal.holds import guards, holds
from baremetal_sched.baremetal.identifiers import RESERVED_NODE_NAMES, is_conductor_group, is_logical_name
from baremetal_sched.baremetal.nodes import chassis
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.visibility import EVERYTHING, UNRESTRICTED, Access, Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation, Port, WaitingRequest
from baremetal_sched.db.paging import Missing
from baremetal_sched.db.types import Query, Reader
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import (
    InstanceAssociated,
    InstanceWaits,
    InvalidNodeState,
    NodeAssociated,
    NodeLocked,
    NodeNotFound,
    NodeProtected,
)
from baremetal_sched.machines import states
from baremetal_sched.machines.interface_types import INTERFACE_TYPES, Offer
from baremetal_sched.placement import gate, projected
from baremetal_sched.placement.waiting_requests import WAITING
from baremetal_sched.settings import Settings

#: A model of rows that belong to nodes.
Part = TypeVar("Part")


def find(session: Session, ident: str, visible: Visibility = EVERYTHING) -> Node:
    """The node with UUID or name ``ident``, for reading, if it is visible. Raises NodeNotFound."""
    return _find(session, ident, visible, for_update=False)


def find_for_change(session: Session, ident: str, visible: Visibility = EVERYTHING) -> Node:
    """The node, if it is visible, its row locked until the transaction ends. Raises NodeNotFound."""
    return _find(session, ident, visible, for_update=True)


def _find(session: Session, ident: str, visible: Visibility, *, for_update: bool) -> Node:
    canonical = canonical_uuid(ident)
    query = _query(by_uuid=canonical is not None, for_update=for_update)
    if not visible.everything:
        query = query.where(*visible.conditions())
    node: Node | None = session.scalars(query, {"ident": canonical or ident}).first()
    if node is None:
        raise NodeNotFound(node=ident)
    return node


def find_with_members(
    session: Session, ident: str, live: LiveMembers, *, for_update: bool = False
) -> tuple[Node, Membership]:
    """The node with UUID or name ``ident`` and the live conductors, in one statement; with ``for_update`` its row is
    locked until the transaction ends. Raises NodeNotFound."""
    canonical = canonical_uuid(ident)
    query = _query(by_uuid=canonical is not None, for_update=for_update, members=live.column)
    found = session.execute(query, {"ident": canonical or ident}).first()
    if found is None:
        raise NodeNotFound(node=ident)
    return found[0], live.read(found[1])


@lru_cache
def _query(*, by_uuid: bool, for_update: bool, members: ColumnElement[Any] | None = None) -> Query:
    """SELECT … (, members) FROM nodes WHERE uuid = :ident, or name = :ident (FOR UPDATE). No conductor is locked.

    Cached, because creating the statement takes longer than running it.
    """
    query = select(Node) if members is None else select(Node, members.label("members"))
    query = query.where((Node.uuid if by_uuid else Node.name) == bindparam("ident"))
    return query.with_for_update(of=Node) if for_update else query


def uuid_of(reader: Reader, ident: str) -> str:
    """The UUID of the node with UUID or name ``ident``. Raises NodeNotFound."""
    canonical = canonical_uuid(ident)
    uuid = reader.scalar(select(Node.uuid).where(Node.uuid == canonical if canonical else Node.name == ident))
    if uuid is None:
        raise NodeNotFound(node=ident)
    return uuid


def require_unlocked(node: Any) -> None:
    """Raise NodeLocked if a conductor is working on the node."""
    if node.reservation is not None:
        raise NodeLocked(node=node.uuid, host=node.reservation)


def find_to_change_by(session: Session, ident: str, membership: Membership) -> Node:
    """Return the node, for a change that its conductor must allow: a conductor serves it, and is not at work on it.

    Raises NodeNotFound, NoValidHost, NoConductors, NodeLocked.
    """
    node = find_for_change(session, ident)
    require_changeable(node, membership)
    return node


def require_changeable(node: Any, membership: Membership) -> None:
    """Raise what ``find_to_change_by`` raises for a node, or a row of one, that exists."""
    membership.require(node.conductor_group, node.driver)
    require_unlocked(node)


def find_named_in_body(session: Session, ident: str, access: Access = UNRESTRICTED) -> Node:
    """Return the node that a body names, its row locked. Raises InvalidValue if it does not exist, as it is not part of
    the path; NotAllowed if the caller sees it, but has no ``access``."""
    try:
        node = find_for_change(session, ident, access.visible)
    except NodeNotFound as error:
        raise InvalidValue(message=str(error)) from None
    access.check(node)
    return node


def find_part_to_change(
    session: Session,
    model: type[Part],
    ident: str,
    missing: Missing,
    membership: Membership,
    access: Access = UNRESTRICTED,
) -> tuple[Part, Node]:
    """Return the row of ``model`` that ``ident`` names (for example a port), and the node that it belongs to, for a
    change.

    Raises what ``missing`` makes, NotAllowed without ``access`` to the node, and like ``find_to_change_by``.
    """
    part: Any = records.find_for_change(session, model, ident, missing)
    uuid = session.scalars(select(Node.uuid).where(Node.id == part.node_id)).one()
    node = find_to_change_by(session, uuid, membership)
    access.check(node)
    return part, node


def create(
    session: Session,
    values: Mapping[str, Any],
    *,
    initial_state: str,
    membership: Membership,
    settings: Settings,
    visible: Visibility = EVERYTHING,
) -> Node:
    """Return a new node with ``values`` (fields of ``schemas.nodes.NODE_CREATE``) and its resource provider. Its parent
    must be ``visible``.

    Raises NoValidHost or NoConductors if its group and driver are not served, InvalidValue for invalid values,
    AlreadyExists or InstanceAssociated for values that are taken.
    """
    fields = dict(values)
    uuid = fields.pop("uuid", None) or str(uuid_module.uuid4())
    group = normal_group(fields.pop("conductor_group", None) or settings.default_conductor_group)
    driver = fields["driver"]
    membership.require(group, driver)
    check_conductor_group(group)
    check_properties(uuid, fields.get("properties") or {})
    chassis_id = chassis.id_of(session, fields.pop("chassis_uuid", None))
    parent = find_parent(session, fields.pop("parent_node", None), fields.get("owner"), visible)
    fields["resource_class"] = fields.get("resource_class") or settings.default_resource_class
    fields |= interfaces(driver, fields, driver_facts.offers(session, driver, group, membership))
    _require_free(session, uuid, fields)
    node = Node(
        uuid=uuid,
        conductor_group=group,
        chassis_id=chassis_id,
        parent_node=parent,
        provision_state=initial_state,
        created_at=utcnow(),
        **{name: value for name, value in fields.items() if value is not None},
    )
    session.add(node)
    session.flush()
    holds.of_node(session, node)  # of a node that is created in maintenance
    projection.log_class_warning(node.uuid, node.resource_class)
    return node


def _require_free(session: Session, uuid: str, fields: Mapping[str, Any]) -> None:
    records.require_keys_free(session, {"uuid": uuid}, "A node", Node.uuid)
    require_name_free(session, fields.get("name"))
    require_instance_unclaimed(session, fields.get("instance_uuid"), uuid)


def require_name_free(session: Session, name: str | None) -> None:
    """Raise DuplicateNodeName if a node has ``name``."""
    records.require_keys_free(session, {"name": name}, "A node", Node.name)


def require_instance_free(session: Session, instance_uuid: str | None, node_uuid: str) -> None:
    """Raise InstanceAssociated if a node has ``instance_uuid``."""
    taken = InstanceAssociated(instance=instance_uuid, node=node_uuid)
    records.require_free(session, Node.instance_uuid, instance_uuid, taken)


def require_instance_unclaimed(session: Session, instance_uuid: str | None, node_uuid: str) -> None:
    """Raise InstanceAssociated if a node has ``instance_uuid``, InstanceWaits if a request waits under it.

    SELECT EXISTS (… nodes …), EXISTS (… pending_claims …)
    """
    if instance_uuid is None:
        return
    waiting = exists().where(WaitingRequest.uuid == instance_uuid, WaitingRequest.state == WAITING)
    is_taken, waits = session.execute(select(exists().where(Node.instance_uuid == instance_uuid), waiting)).one()
    if is_taken:
        raise InstanceAssociated(instance=instance_uuid, node=node_uuid)
    if waits:
        raise InstanceWaits(instance=instance_uuid, node=node_uuid)


def check_name(name: str, *, hostname_only: bool, refusal: str) -> None:
    """Raise InvalidValue, beginning with ``refusal``, unless ``name`` can be the name of a node."""
    if not is_logical_name(name, hostname_only=hostname_only):
        raise InvalidValue(message=f"{refusal} '{name}'")
    if name in RESERVED_NODE_NAMES:
        raise InvalidValue(
            message=f'The word "{name}" is reserved and can not be used as a node name. '
            f"Reserved words are: {', '.join(RESERVED_NODE_NAMES)}."
        )


def normal_group(group: str | None) -> str:
    """Return a conductor group as it is stored: in lower case; the default group is empty."""
    return (group or "").lower()


def check_conductor_group(group: str) -> None:
    """Raise InvalidValue unless ``group`` can be the name of a conductor group."""
    if not is_conductor_group(group):
        raise InvalidValue(message=f"Expected a conductor group but received {group}.")


def check_properties(node_uuid: str, properties: Mapping[str, Any]) -> None:
    """Raise InvalidValue unless local_gb and memory_mb, where given, are non-negative integers (or digits)."""
    wrong = [
        f"{name}={properties[name]}"
        for name in ("local_gb", "memory_mb")
        if properties.get(name) is not None and not _is_count(properties[name])
    ]
    if wrong:
        raise InvalidValue(
            message=f"The following properties for node {node_uuid} should be non-negative integers, "
            f"but provided values are: {', '.join(wrong)}"
        )


def _is_count(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().isdecimal()
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def find_parent(session: Session, ident: str | None, owner: str | None, visible: Visibility = EVERYTHING) -> str | None:
    """Return the UUID of the parent, named by UUID or name, for a node with this ``owner``.

    Raises InvalidValue if it does not exist, has another owner or is not ``visible``.
    """
    if ident is None:
        return None
    try:
        parent = find(session, ident, visible)
    except NodeNotFound:
        parent = None
    if parent is None or parent.owner != owner:
        raise InvalidValue(message=f"Unable to apply the requested parent_node '{ident}'. Requested value was invalid.")
    return parent.uuid


def interfaces(driver: str, chosen: Mapping[str, Any], offers: Mapping[str, Offer]) -> dict[str, str]:
    """All interfaces of a node with ``driver``: the chosen ones, and defaults for the others.

    Raises InvalidValue if one of the chosen does not exist or does not suit the hardware type.
    """
    result = {}
    for kind in INTERFACE_TYPES:
        name = chosen.get(f"{kind}_interface")
        if name is None:
            name = offers[kind].default
        else:
            offers[kind].check(driver, kind, name)
        result[f"{kind}_interface"] = name
    return result


def destroy(session: Session, node: Node, membership: Membership, settings: Settings) -> None:
    """Delete ``node`` (its row locked, changeable) with everything that belongs to it, its provider too.

    Raises NodeProtected, NodeAssociated, NodeAllocated or InvalidNodeState if it cannot be deleted now; maintenance
    overrides all but the first.
    """
    if node.protected:
        raise NodeProtected(node=node.uuid)
    is_loosened = guards.loosens_guards(session, node)
    if not is_loosened:
        if node.instance_uuid is not None:
            raise NodeAssociated(node=node.uuid, instance=node.instance_uuid)
        allowed: tuple[str, ...] = states.DELETE_ALLOWED
        if settings.conductor.allow_deleting_available_nodes:
            allowed = (*allowed, states.AVAILABLE)
        if node.provision_state not in allowed:
            raise InvalidNodeState(
                message=f'Can not delete node "{node.uuid}" while it is in provision state "{node.provision_state}". '
                f'Valid provision states to perform deletion are: "{allowed}", '
                "or set the node into maintenance mode"
            )
    management.stop_console(session, node, membership)
    projected.lock(session, node.uuid)
    gate.lost(session, events.view_of(node))
    projection.withdraw(session, node, force=is_loosened)
    # The rest goes with the node's row. Not on MariaDB with portgroups, which their ports still name.
    session.execute(delete(Port).where(Port.node_id == node.id))
    for allocation in session.scalars(select(NodeAllocation).where(NodeAllocation.node_id == node.id)):
        session.delete(allocation)  # it has an event
        session.flush()
    session.delete(node)
