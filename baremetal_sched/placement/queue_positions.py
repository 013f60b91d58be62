"""The places of waiting requests in the queues of their classes."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_
from sqlalchemy.orm import Session

from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.placement.waiting_requests import IS_WAITING


def position(session: Session, claim: WaitingRequest) -> int:
    """Return the place of a waiting claim in the queue of its class; the first is 1."""
    earlier: ColumnElement[bool] = or_(
        WaitingRequest.priority > claim.priority,
        and_(
            WaitingRequest.priority == claim.priority,
            tuple_(WaitingRequest.asked_at, WaitingRequest.id) < tuple_(claim.asked_at, claim.id),
        ),
    )
    ahead = select(func.count()).where(IS_WAITING, WaitingRequest.resource_class == claim.resource_class, earlier)
    return 1 + (session.scalar(ahead) or 0)


def positions(session: Session, claims: Sequence[WaitingRequest]) -> dict[int, int]:
    """Return the places of claims in the queues of their classes, by id; claims that do not wait have none.

    SELECT id, place FROM (SELECT id, row_number() OVER (PARTITION BY resource_class ORDER BY priority DESC, asked_at,
    id) AS place FROM pending_claims WHERE state = 'waiting' AND … AND resource_class IN (…)) AS queue WHERE id IN (…)
    """
    order = (WaitingRequest.priority.desc(), WaitingRequest.asked_at, WaitingRequest.id)
    place = func.row_number().over(partition_by=WaitingRequest.resource_class, order_by=order).label("place")
    classes = {claim.resource_class for claim in claims}
    queue = select(WaitingRequest.id, place).where(IS_WAITING, WaitingRequest.resource_class.in_(classes)).subquery()
    rows = session.execute(select(queue).where(queue.c.id.in_([claim.id for claim in claims])))
    return {claim_id: number for claim_id, number in rows}
