"""How an allocation gets its node: the claim in placement, and the references on both sides."""

import structlog
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.allocations.allocation_choice import TraitEntry, Wanted, choose, question
from baremetal_sched.baremetal.matching.scan import why_none
from baremetal_sched.baremetal.matching.sentences import FALLBACK
from baremetal_sched.baremetal.nodes import nodes, traits
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation
from baremetal_sched.errors.baremetal import BackfillRefused, ConsumerHoldsOthers, NodeAllocated, NodeAssociated
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations as claims
from baremetal_sched.placement import projected
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

ALLOCATING = "allocating"
ACTIVE = "active"
ERROR = "error"

#: The consumer type of allocations in placement.
CONSUMER_TYPE = "BAREMETAL_ALLOCATION"


def place(
    session: Session, allocation: NodeAllocation, settings: Settings, eligible: Visibility = EVERYTHING
) -> Node | None:
    """Give a new allocation one of the ``eligible`` nodes, which is returned, or an error.

    Raises InstanceAssociated or ConsumerHoldsOthers if its UUID is taken, and the errors of ``choose``.
    """
    nodes.require_instance_free(session, allocation.uuid, "of the allocation")
    _require_no_claims(session, allocation.uuid)
    wanted = Wanted(
        resource_class=allocation.resource_class or "",
        traits=_entries(allocation),
        candidates=allocation.candidate_nodes or (),
        owner=allocation.owner,
        name=allocation.name,
        eligible=eligible,
    )
    node = choose(session, wanted)
    if node is None:
        found = why_none(session, settings, question(wanted))
        reason = FALLBACK if found is None else found.sentence()
        log.info("an allocation failed", allocation=allocation.uuid, reason=reason)
        allocation.state = ERROR
        allocation.last_error = f"Failed to process allocation {allocation.uuid}: {reason}"
        allocation.updated_at = utcnow()
        return None
    _claim(session, allocation, node, settings)
    _associate(session, allocation, node)
    return node


def backfill(session: Session, allocation: NodeAllocation, node: Node, settings: Settings) -> None:
    """Make a new allocation for ``node`` (its row locked), which is active already.

    Raises NodeLocked, NodeAssociated, InstanceAssociated, NodeAllocated, ConsumerHoldsOthers, BackfillRefused.
    """
    nodes.require_unlocked(node)
    if node.instance_uuid not in (None, allocation.uuid) or node.allocation_uuid is not None:
        raise NodeAssociated(node=node.uuid, instance=node.instance_uuid)
    if node.instance_uuid is None:
        nodes.require_instance_free(session, allocation.uuid, node.uuid)
    _require_fit(session, allocation, node)
    consumers = projected.consumers_of(session, node.uuid)
    if consumers not in ([], [allocation.uuid]):
        raise NodeAllocated(node=node.uuid, consumer=", ".join(consumers))
    unit = projection.inventory_of(node)
    if unit is not None and not consumers:
        _require_no_claims(session, allocation.uuid)
        # An active node is not offered. It is offered within this transaction only, so that it can be claimed.
        projected.offer(session, node.uuid, unit)
        _claim(session, allocation, node, settings)
    _associate(session, allocation, node)


def _require_fit(session: Session, allocation: NodeAllocation, node: Node) -> None:
    present = traits.list_traits(session, node.id)
    unfit = [entry.text for entry in _entries(allocation) if not entry.fits(present)]
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


def _require_no_claims(session: Session, uuid: str) -> None:
    if claims.held_by(session, uuid):
        raise ConsumerHoldsOthers(uuid=uuid)


def _entries(allocation: NodeAllocation) -> list[TraitEntry]:
    return [TraitEntry(text) for text in allocation.traits or ()]


def _claim(session: Session, allocation: NodeAllocation, node: Node, settings: Settings) -> None:
    """Claim the node in placement, which must offer it now."""
    request = ConsumerWrite(
        uuid=allocation.uuid,
        allocations={node.uuid: {projection.resource_class_of(node.resource_class or ""): 1}},
        project_id=allocation.owner or settings.placement.incomplete_consumer_project_id,
        user_id=settings.placement.incomplete_consumer_user_id,
        generation=None,
        consumer_type=CONSUMER_TYPE,
    )
    claims.write(session, [request], "Unable to allocate:")


def _associate(session: Session, allocation: NodeAllocation, node: Node) -> None:
    """Store the references between node and allocation on both sides.

    Raises StaleDataError if the node (its row locked) does not have the traits: the statement that found and locked it
    may have seen those of a moment before.
    """
    present, entries = traits.list_traits(session, node.id), _entries(allocation)
    if not all(entry.fits(present) for entry in entries):
        raise StaleDataError("the node's traits were changed meanwhile")
    granted = [name for entry in entries for name in entry.granted(present)]
    node.instance_uuid = node.allocation_uuid = allocation.uuid
    node.instance_info = {**(node.instance_info or {}), "traits": list(dict.fromkeys(granted))}
    node.touch()
    allocation.node_id = node.id
    allocation.state = ACTIVE
    allocation.updated_at = utcnow()
