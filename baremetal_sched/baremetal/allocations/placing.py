"""The node of an allocation: one that is given, one that is free now, or, if the allocation waits, the first that
becomes free and fits; its claim in placement, and the references on both sides.

An allocation that waits is ``allocating``, and has a row in the queue (``placement.waiting_requests``) until it is
active, has failed or is deleted. Locks are taken in the order node, waiting request, allocation.
"""

from collections.abc import Mapping

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.matching.explanation import why_none
from baremetal_sched.baremetal.matching.masks import HOPELESS
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.sentences import FALLBACK
from baremetal_sched.baremetal.nodes import nodes, traits
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.schemas.allocations import TraitEntry
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation, WaitingRequest
from baremetal_sched.errors.baremetal import (
    AllocationNotFound,
    BackfillRefused,
    ConsumerHoldsOthers,
    NodeAllocated,
    NodeAssociated,
    SuitableNodesLocked,
    UuidOfClaim,
)
from baremetal_sched.errors.placement import TAKEN_MEANWHILE
from baremetal_sched.machines import states
from baremetal_sched.placement import allocations as claims
from baremetal_sched.placement import consumers, ends, projected, waiting_requests
from baremetal_sched.placement.consumers import RESERVED, ConsumerWrite
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.waiting_requests import (
    ALLOCATION,
    CLAIM,
    CLAIMED,
    FAILED,
    SERVER,
    TIMED_OUT,
    NewWaitingRequest,
)
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

ALLOCATING = "allocating"
ACTIVE = "active"
ERROR = "error"

#: The consumer type of allocations in placement.
CONSUMER_TYPE = "BAREMETAL_ALLOCATION"


def backfill(
    session: Session, allocation: NodeAllocation, node: Node, settings: Settings, end: End | None = None
) -> None:
    """Make a new allocation for ``node`` (its row locked), which is active already. What holds the node already gets no
    end.

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
        _claim(session, allocation, node, settings, end=end)
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
    session: Session,
    allocation: NodeAllocation,
    node: Node,
    settings: Settings,
    *,
    end: End | None = None,
    calendars: Mapping[str, int] | None = None,
    has_waited: bool = False,
) -> None:
    """Claim the node (its row locked, and offered in placement now) for the allocation, which is active then.
    ``calendars``: see ``ConsumerWrite``. If it ``has_waited``, its UUID is reserved."""
    generation = RESERVED if has_waited else None
    _claim(session, allocation, node, settings, end=end, calendars=calendars, generation=generation)
    _associate(session, allocation, node)


def _claim(
    session: Session,
    allocation: NodeAllocation,
    node: Node,
    settings: Settings,
    *,
    end: End | None,
    calendars: Mapping[str, int] | None = None,
    generation: int | None = None,
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
        end=end,
        calendars=calendars or {},
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
    allocation.node_id = node.id
    allocation.state = ACTIVE
    node.updated_at = allocation.updated_at = utcnow()


# -- new allocations ---------------------------------------------------------------------------------------------------


def place(
    session: Session,
    allocation: NodeAllocation,
    settings: Settings,
    eligible: Visibility = EVERYTHING,
    *,
    wait: float = 0,
    end: End | None = None,
) -> Node | None:
    """Give a new allocation one of the ``eligible`` nodes, which is returned; otherwise let it wait for ``wait``
    seconds; or give it an error if it does not wait, or if no node would fit even if all were free.

    Raises InstanceAssociated, ConsumerHoldsOthers or UuidOfClaim if its UUID is taken, and StaleDataError like
    ``choose``; without ``wait`` SuitableNodesLocked; with it UuidTaken, TooManyWaitingClaims, WaitingNotServed.
    """
    require_uuid_free(session, allocation.uuid)
    request = NodeRequest(
        resource_class=allocation.resource_class or "",
        traits=entries(allocation),
        candidates=allocation.candidate_nodes or (),
        owner=allocation.owner,
        name=allocation.name,
        eligible=eligible,
    )
    try:
        host = request.choose_unlocked(MachineContext(session, settings, end=end))
    except SuitableNodesLocked:
        if not wait:
            raise
        host = None
    if host is not None:
        claim(session, allocation, host.node, settings, end=end, calendars=host.calendars)
        return host.node
    explanation = why_none(session, settings, request.question(None))
    reason = FALLBACK if explanation is None else explanation.summary
    if wait and (explanation is None or explanation.verdict not in HOPELESS):
        _enter(session, allocation, request, wait, end, reason, settings)
        return None
    _fail(allocation, reason)
    return None


def _enter(
    session: Session,
    allocation: NodeAllocation,
    request: NodeRequest,
    seconds: float,
    end: End | None,
    reason: str,
    settings: Settings,
) -> None:
    """Enter a new allocation into the queue."""
    if waiting_requests.find(session, allocation.uuid) is not None:
        raise UuidOfClaim(uuid=allocation.uuid, kind=CLAIM)
    new = NewWaitingRequest(
        uuid=allocation.uuid,
        kind=ALLOCATION,
        resource_class=request.machine_class(),
        request=request.document(),
        project=allocation.owner or settings.placement.incomplete_consumer_project_id,
        user=settings.placement.incomplete_consumer_user_id,
        seconds=seconds,
        consumer_type=CONSUMER_TYPE,
        reason=reason,
        needed_trait=request.needed_trait(),
        end=end,
    )
    waiting_requests.enter(session, new, most=settings.scheduling.most_waiting)
    log.info("an allocation waits", allocation=allocation.uuid, seconds=seconds, reason=reason)


def has_end(session: Session, allocation: NodeAllocation) -> bool:
    """Return whether the end that a new allocation asked for is that of its claim, or will be: it has not failed, and
    it claimed its node itself."""
    return allocation.state == ALLOCATING or allocation.uuid in ends.of_consumers(session, [allocation.uuid])


def _fail(allocation: NodeAllocation, reason: str, waited: str = "") -> None:
    log.info("an allocation failed", allocation=allocation.uuid, reason=reason)
    allocation.state = ERROR
    allocation.last_error = f"Failed to process allocation {allocation.uuid}{waited}: {reason}"
    allocation.updated_at = utcnow()


# -- waiting allocations -----------------------------------------------------------------------------------------------


def give(context: MachineContext, waiting: WaitingRequest, node: Node) -> bool:
    """Give the node to the allocation that waits (both rows locked, and the node's inventory); return whether it fits.

    Raises InstanceAssociated if the allocation's UUID is in use, AllocationNotFound, and what a claim in
    placement raises.
    """
    session, alone = context.session, NodeRequest.of(waiting.request).on(node.uuid)
    host = None if alone is None else alone.choose(context)
    if host is None:
        return False
    allocation = _locked(session, waiting.uuid)
    if allocation is None:
        raise AllocationNotFound(allocation=waiting.uuid)
    nodes.require_instance_free(session, allocation.uuid, node.uuid)
    try:
        claim(
            session,
            allocation,
            node,
            context.settings,
            end=context.end,
            calendars=host.calendars,
            has_waited=True,
        )
    except TAKEN_MEANWHILE as error:
        raise StaleDataError("a part of the machine was taken") from error
    allocation.conductor_affinity = context.membership.owner(node.uuid, node.conductor_group, node.driver)
    waiting_requests.leave(session, waiting.uuid, CLAIMED)
    return True


def leave_out(context: MachineContext, waiting: WaitingRequest, node: str, reason: str) -> None:
    """End the waiting of an allocation (its claim's row locked) that cannot be served."""
    end(context, waiting, FAILED, reason)


def end(context: MachineContext, waiting: WaitingRequest, state: str, reason: str) -> None:
    """End the waiting of an allocation without a node (the claim's row locked): it is in error."""
    allocation = _locked(context.session, waiting.uuid)
    if allocation is not None:
        waited = f" after waiting for {waiting.deadline - waiting.asked_at:.0f} seconds" if state == TIMED_OUT else ""
        _fail(allocation, reason, waited)
    waiting_requests.leave(context.session, waiting.uuid, state)


def cancel(session: Session, allocation: NodeAllocation) -> None:
    """Take an allocation without a node out of the queue, before it is deleted.

    Raises StaleDataError if it has got a node or has failed.
    """
    if allocation.state == ALLOCATING and not waiting_requests.leave(session, allocation.uuid):
        raise StaleDataError("the allocation has been decided")


def _locked(session: Session, uuid: str) -> NodeAllocation | None:
    """SELECT … FROM node_allocations WHERE uuid = :uuid FOR UPDATE"""
    query = select(NodeAllocation).where(NodeAllocation.uuid == uuid).with_for_update()
    found: NodeAllocation | None = session.scalars(query.execution_options(populate_existing=True)).first()
    return found
