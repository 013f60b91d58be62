"""The node of a new allocation: one that is free now, or, if the allocation waits, the first that becomes free and
fits.

An allocation that waits is ``allocating``, and has a row in the queue (``placement.waiting_requests``) until it is
active, has failed or is deleted. Locks are taken in the order node, waiting request, allocation.
"""

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.allocations import allocation_claim
from baremetal_sched.baremetal.matching.explanation import why_none
from baremetal_sched.baremetal.matching.masks import HOPELESS
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.sentences import FALLBACK
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeAllocation, WaitingRequest
from baremetal_sched.errors.baremetal import AllocationNotFound, SuitableNodesLocked, UuidOfClaim
from baremetal_sched.errors.placement import TAKEN_MEANWHILE
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.waiting_requests import ALLOCATION, CLAIM, CLAIMED, FAILED, TIMED_OUT, NewWaitingRequest
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


def place(
    session: Session,
    allocation: NodeAllocation,
    settings: Settings,
    eligible: Visibility = EVERYTHING,
    *,
    wait: float = 0,
) -> Node | None:
    """Give a new allocation one of the ``eligible`` nodes, which is returned; otherwise let it wait for ``wait``
    seconds; or give it an error if it does not wait, or if no node would fit even if all were free.

    Raises InstanceAssociated, ConsumerHoldsOthers or UuidOfClaim if its UUID is taken, and StaleDataError like
    ``choose``; without ``wait`` SuitableNodesLocked; with it UuidTaken, TooManyWaitingClaims, WaitingNotServed.
    """
    allocation_claim.require_uuid_free(session, allocation.uuid)
    request = NodeRequest(
        resource_class=allocation.resource_class or "",
        traits=allocation_claim.entries(allocation),
        candidates=allocation.candidate_nodes or (),
        owner=allocation.owner,
        name=allocation.name,
        eligible=eligible,
    )
    try:
        node = request.choose_unlocked(session)
    except SuitableNodesLocked:
        if not wait:
            raise
        node = None
    if node is not None:
        allocation_claim.claim(session, allocation, node, settings)
        return node
    explanation = why_none(session, settings, request.question(None))
    reason = FALLBACK if explanation is None else explanation.summary
    if wait and (explanation is None or explanation.verdict not in HOPELESS):
        _enter(session, allocation, request, wait, reason, settings)
        return None
    _fail(allocation, reason)
    return None


def _enter(
    session: Session, allocation: NodeAllocation, request: NodeRequest, seconds: float, reason: str, settings: Settings
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
        consumer_type=allocation_claim.CONSUMER_TYPE,
        reason=reason,
        needed_trait=request.needed_trait(),
    )
    waiting_requests.enter(session, new, most=settings.scheduling.most_waiting)
    log.info("an allocation waits", allocation=allocation.uuid, seconds=seconds, reason=reason)


def _fail(allocation: NodeAllocation, reason: str, waited: str = "") -> None:
    log.info("an allocation failed", allocation=allocation.uuid, reason=reason)
    allocation.state = allocation_claim.ERROR
    allocation.last_error = f"Failed to process allocation {allocation.uuid}{waited}: {reason}"
    allocation.updated_at = utcnow()


# -- waiting allocations -----------------------------------------------------------------------------------------------


def give(context: MachineContext, waiting: WaitingRequest, node: Node) -> bool:
    """Give the node to the allocation that waits (both rows locked, and the node's inventory); return whether it fits.

    Raises InstanceAssociated if the allocation's UUID is in use, AllocationNotFound, and what a claim in
    placement raises.
    """
    session, alone = context.session, NodeRequest.of(waiting.request).on(node.uuid)
    if alone is None or alone.choose(context) is None:
        return False
    allocation = _locked(session, waiting.uuid)
    if allocation is None:
        raise AllocationNotFound(allocation=waiting.uuid)
    nodes.require_instance_free(session, allocation.uuid, node.uuid)
    try:
        allocation_claim.claim(session, allocation, node, context.settings, has_waited=True)
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
    if allocation.state == allocation_claim.ALLOCATING and not waiting_requests.leave(session, allocation.uuid):
        raise StaleDataError("the allocation has been decided")


def _locked(session: Session, uuid: str) -> NodeAllocation | None:
    """SELECT … FROM node_allocations WHERE uuid = :uuid FOR UPDATE"""
    query = select(NodeAllocation).where(NodeAllocation.uuid == uuid).with_for_update()
    found: NodeAllocation | None = session.scalars(query.execution_options(populate_existing=True)).first()
    return found
