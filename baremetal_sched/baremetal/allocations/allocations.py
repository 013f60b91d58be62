"""Allocations: a request for a node, answered by a claim in placement whose consumer has the allocation's UUID.

Choosing a node, claiming it and storing that on the node are one transaction: when an allocation becomes visible, it is
active, has failed for good, or waits until a node is free.
"""

import uuid as uuid_module
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal import records
from baremetal_sched.baremetal.allocations import placing
from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.holds import guards
from baremetal_sched.baremetal.identifiers import is_logical_name
from baremetal_sched.baremetal.matching.node_request import uuids_of
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_UPDATE
from baremetal_sched.baremetal.visibility import EVERYTHING, Access, Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import COMMON, Field, FieldKind, Fields
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import (
    AllocationInUse,
    AllocationNotFound,
    AllocationOwned,
    NoConductors,
    NodeAllocationNotFound,
)
from baremetal_sched.errors.placement import NoAllocations
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations as claims
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.waiting_requests import ALLOCATION
from baremetal_sched.settings import Settings

FIELDS = Fields(
    Field("uuid", post=True),
    Field("name", post=True, patch=True),
    Field("node_uuid", kind=FieldKind.COMPUTED),
    Field("state"),
    Field("resource_class", post=True),
    Field("traits", kind=FieldKind.ARRAY, post=True),
    Field("candidate_nodes", kind=FieldKind.ARRAY, post=True),
    Field("owner", 60, post=True),
    Field("extra", kind=FieldKind.JSON, post=True, patch=True, default={}),
    Field("last_error"),
    *COMMON,
)

#: What messages call an allocation.
_THING = "An allocation"


def missing(ident: str) -> AllocationNotFound:
    """Return the error that the allocation does not exist."""
    return AllocationNotFound(allocation=ident)


def find(session: Session, ident: str) -> NodeAllocation:
    """Return the allocation with UUID or name ``ident``. Raises AllocationNotFound."""
    allocation = session.scalars(select(NodeAllocation).where(records.named(NodeAllocation, ident))).first()
    if allocation is None:
        raise missing(ident)
    return allocation


def of_node(session: Session, node: Node, ident: str) -> NodeAllocation:
    """Return the node's allocation. Raises NodeAllocationNotFound, which names the node ``ident``."""
    allocation = _of(session, node)
    if allocation is None:
        raise NodeAllocationNotFound(node=ident)
    return allocation


def _of(session: Session, node: Node) -> NodeAllocation | None:
    return session.scalars(select(NodeAllocation).where(NodeAllocation.node_id == node.id)).first()


def require_ownerless(session: Session, node: Node) -> None:
    """Raise AllocationOwned if the node's allocation has an owner; it is not changed through the node then."""
    allocation = _of(session, node)
    if allocation is not None and allocation.owner is not None:
        raise AllocationOwned(node=node.uuid, uuid=allocation.uuid, owner=allocation.owner)


# -- creating ---------------------------------------------------------------------------------------------------------


def create(
    session: Session,
    values: Mapping[str, Any],
    *,
    membership: Membership,
    settings: Settings,
    visible: Visibility = EVERYTHING,
    eligible: Visibility = EVERYTHING,
    wait: float = 0,
    end: End | None = None,
) -> NodeAllocation:
    """Return a new allocation with ``values`` (fields of ``schemas.allocations.ALLOCATION_CREATE``): active, with a
    node, or failed; or one that waits for a node, at most ``wait`` seconds. With ``node`` it is an allocation for this
    node, which is active already. ``end``: that of its claim.

    ``visible``: the nodes that ``values`` may name. ``eligible``: the nodes that the allocation may get, and that the
    message of a failure is about. Raises NoConductors; InvalidValue for invalid values; AlreadyExists,
    InstanceAssociated, ConsumerHoldsOthers, ConsumerWaits or UuidOfClaim for values that are taken;
    SuitableNodesLocked; with ``wait`` UuidTaken, TooManyWaitingClaims or WaitingNotServed;
    with ``node`` NodeLocked, NodeAssociated, NodeAllocated or BackfillRefused; and StaleDataError if it loses a race.
    """
    if values.get("name"):
        check_name(values["name"], "create")
    if not membership.members:
        raise NoConductors
    fields = {name: value for name, value in values.items() if value is not None}
    if not fields.get("owner"):
        fields.pop("owner", None)
    named = fields.pop("node", None)
    node = nodes.find_named_in_body(session, named, Access(visible)) if named else None
    if node is not None:
        fields.setdefault("uuid", node.instance_uuid or str(uuid_module.uuid4()))
        fields.setdefault("resource_class", node.resource_class)
    elif not fields.get("resource_class"):
        raise InvalidValue(message="The resource_class field is mandatory when not backfilling")
    fields.setdefault("uuid", str(uuid_module.uuid4()))
    fields["candidate_nodes"] = uuids_of(session, fields.get("candidate_nodes", ()), visible)
    records.require_keys_free(session, fields, _THING, NodeAllocation.uuid, NodeAllocation.name)
    allocation = NodeAllocation(state=placing.ALLOCATING, created_at=utcnow(), **fields)
    if node is None:
        node = placing.place(session, allocation, settings, eligible, wait=wait, end=end)
    else:
        placing.backfill(session, allocation, node, settings, end)
    if node is not None:
        allocation.conductor_affinity = membership.owner(node.uuid, node.conductor_group, node.driver)
    session.add(allocation)
    session.flush()
    return allocation


def update(session: Session, ident: str, operations: patch.Patch) -> NodeAllocation:
    """Apply a PATCH that touches only fields that may change. Raises AllocationNotFound, InvalidValue,
    AlreadyExists."""
    allocation = find(session, ident)
    before = FIELDS.values_of(allocation)
    changed = FIELDS.changes(before, FIELDS.patched(before, operations, ALLOCATION_UPDATE))
    if changed.get("name") is not None:
        check_name(changed["name"], "update")
        records.require_keys_free(session, changed, _THING, NodeAllocation.name)
    records.change(allocation, changed)
    return allocation


def check_name(name: str, doing: str) -> None:
    """Raise InvalidValue unless ``name`` is valid for an allocation; ``doing`` is "create" or "update"."""
    if not is_logical_name(name):
        raise InvalidValue(message=f"Cannot {doing} allocation with invalid name '{name}'")


# -- deleting ---------------------------------------------------------------------------------------------------------


def destroy(session: Session, ident: str) -> None:
    """Remove an allocation, and free its node if it has one. A waiting allocation leaves the queue.

    Raises AllocationNotFound; AllocationInUse if the node is active or in a transition (unless it is in maintenance);
    NodeLocked if a conductor is working on it; StaleDataError if the node is deleted at the same time, or the
    allocation gets one.
    """
    allocation = find(session, ident)
    if allocation.node_id is None:
        placing.cancel(session, allocation)
        session.delete(allocation)
        return
    # The node's row is always locked first.
    node = session.get(Node, allocation.node_id, with_for_update=True)
    if node is None:
        raise StaleDataError("the node was deleted, and the allocation with it")
    if node.allocation_uuid != allocation.uuid:
        # It was deleted before the lock was granted, and the node may have another one now.
        raise missing(ident)
    nodes.require_unlocked(node)
    if not guards.loosens_guards(session, node):
        _require_idle(node, allocation)
    release(session, node)
    node.touch()


def _require_idle(node: Node, allocation: NodeAllocation) -> None:
    """Raise AllocationInUse if the node is active or in a transition."""
    moving = node.target_provision_state is not None and node.provision_state not in states.UPDATE_ALLOWED
    if moving or node.provision_state == states.ACTIVE:
        raise AllocationInUse(uuid=allocation.uuid, node=node.uuid, state=node.provision_state)


def release(session: Session, node: Node) -> None:
    """Remove the node's allocation and instance (its row locked), and release the claim in placement.

    Nothing happens to a node without an allocation. The caller projects the node; its instance_info stays.
    """
    allocation = _of(session, node)
    if allocation is None:
        return
    # The claim may have been released through placement already.
    with suppress(NoAllocations):
        claims.release(session, allocation.uuid, ALLOCATION)
    session.delete(allocation)
    session.flush()
    node.instance_uuid = node.allocation_uuid = None
