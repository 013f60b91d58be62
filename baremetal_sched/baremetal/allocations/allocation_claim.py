"""The claim of an allocation on its node: in placement, and the references on both sides."""

from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.nodes import nodes, traits
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.schemas.allocations import TraitEntry
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation
from baremetal_sched.errors.baremetal import (
    BackfillRefused,
    ConsumerHoldsOthers,
    NodeAllocated,
    NodeAssociated,
    UuidOfClaim,
)
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations as claims
from baremetal_sched.placement import consumers, projected
from baremetal_sched.placement.consumers import RESERVED, ConsumerWrite
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.waiting_requests import ALLOCATION, CLAIM, SERVER
from baremetal_sched.settings import Settings

ALLOCATING = "allocating"
ACTIVE = "active"
ERROR = "error"

#: The consumer type of allocations in placement.
CONSUMER_TYPE = "BAREMETAL_ALLOCATION"


def backfill(session: Session, allocation: NodeAllocation, node: Node, settings: Settings) -> None:
    """Make a new allocation for ``node`` (its row locked), which is active already.

    Raises NodeLocked, NodeAssociated, InstanceAssociated, NodeAllocated, ConsumerHoldsOthers, UuidOfClaim,
    BackfillRefused.
    """
    nodes.require_unlocked(node)
    if node.instance_uuid not in (None, allocation.uuid) or node.allocation_uuid is not None:
        raise NodeAssociated(node=node.uuid, instance=node.instance_uuid)
    if node.instance_uuid is None:
        nodes.require_instance_free(session, allocation.uuid, node.uuid)
    _require_fit(session, allocation, node)
    holders = projected.consumers_of(session, node.uuid)
    if holders not in ([], [allocation.uuid]):
        raise NodeAllocated(node=node.uuid, consumer=", ".join(holders))
    _require_own(session, allocation.uuid)
    unit = projection.inventory_of(node)
    if unit is not None and not holders:
        _require_no_consumer(session, allocation.uuid)
        # An active node is not offered. It is offered within this transaction only, so that it can be claimed.
        projected.unreserve(session, node.uuid, unit)
        _claim(session, allocation, node, settings)
    _associate(session, allocation, node)


def _require_fit(session: Session, allocation: NodeAllocation, node: Node) -> None:
    """Raise BackfillRefused if the node does not meet the conditions of the allocation."""
    present = traits.list_traits(session, node.id)
    unfit = [entry.text for entry in entries(allocation) if not entry.fits(present)]
    reasons = []
    if node.provision_state != states.ACTIVE:
        reasons.append(f'Node must be in the "active" state, but the current state is "{node.provision_state}"')
    if allocation.resource_class != node.resource_class:
        reasons.append(
            f"Resource class {node.resource_class} does not match the requested resource class "
            f"{allocation.resource_class}"
        )
    if unfit:
        reasons.append(f"List of traits {present} does not match the requested traits {unfit}")
    if allocation.candidate_nodes and node.uuid not in allocation.candidate_nodes:
        reasons.append(
            f"Candidate nodes must be empty or contain the target node, but got {allocation.candidate_nodes}"
        )
    if reasons:
        raise BackfillRefused(uuid=allocation.uuid, node=node.uuid, reasons="; ".join(reasons))


def require_uuid_free(session: Session, uuid: str) -> None:
    """Raise InstanceAssociated, ConsumerHoldsOthers or UuidOfClaim if the UUID of an allocation without a node is in
    use."""
    nodes.require_instance_free(session, uuid, "of the allocation")
    _require_no_consumer(session, uuid)


def _require_no_consumer(session: Session, uuid: str) -> None:
    """Raise ConsumerHoldsOthers if the UUID of the allocation holds something in placement already, UuidOfClaim if
    something else waits under it."""
    found = consumers.find(session, uuid)
    if found is not None:
        raise UuidOfClaim(uuid=uuid, kind=found.kind) if found.waits else ConsumerHoldsOthers(uuid=uuid)


def _require_own(session: Session, uuid: str) -> None:
    """Raise UuidOfClaim if the UUID of the allocation is that of a claim or a server."""
    found = consumers.find(session, uuid)
    if found is not None and found.kind in (CLAIM, SERVER):
        raise UuidOfClaim(uuid=uuid, kind=found.kind)


def entries(allocation: NodeAllocation) -> list[TraitEntry]:
    """Return the allocation's traits."""
    return [TraitEntry(text) for text in allocation.traits or ()]


def claim(
    session: Session, allocation: NodeAllocation, node: Node, settings: Settings, *, has_waited: bool = False
) -> None:
    """Claim the node (its row locked, and offered in placement now) for the allocation, which is active then. If it
    ``has_waited``, its UUID is reserved."""
    _claim(session, allocation, node, settings, RESERVED if has_waited else None)
    _associate(session, allocation, node)


def _claim(
    session: Session, allocation: NodeAllocation, node: Node, settings: Settings, generation: int | None = None
) -> None:
    """Claim the node in placement, which must offer it now."""
    request = ConsumerWrite(
        uuid=allocation.uuid,
        allocations={node.uuid: {resource_class_of(node.resource_class or ""): 1}},
        project_id=allocation.owner or settings.placement.incomplete_consumer_project_id,
        user_id=settings.placement.incomplete_consumer_user_id,
        generation=generation,
        consumer_type=CONSUMER_TYPE,
        kind=ALLOCATION,
    )
    claims.write(session, [request], "Unable to allocate:")


def _associate(session: Session, allocation: NodeAllocation, node: Node) -> None:
    """Store the references between node and allocation on both sides.

    Raises StaleDataError if the node (its row locked) does not have the traits: the statement that found and locked it
    may have seen older traits.
    """
    present, required = traits.list_traits(session, node.id), entries(allocation)
    if not all(entry.fits(present) for entry in required):
        raise StaleDataError("the node's traits were changed")
    granted = [name for entry in required for name in entry.granted(present)]
    node.instance_uuid = node.allocation_uuid = allocation.uuid
    node.instance_info = {**(node.instance_info or {}), "traits": list(dict.fromkeys(granted))}
    node.touch()
    allocation.node_id = node.id
    allocation.state = ACTIVE
    allocation.updated_at = utcnow()
