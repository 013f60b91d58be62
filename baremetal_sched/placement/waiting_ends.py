"""Ends beside the queue: that of a request that waits can be changed, and that of what has never waited."""

from datetime import UTC

from sqlalchemy import update
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Consumer, WaitingRequest
from baremetal_sched.db.results import require_changed
from baremetal_sched.placement import gate
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.waiting_requests import CLAIMED, IS_WAITING


def change(session: Session, waiting: WaitingRequest, end: End | None) -> None:
    """Give a request another end; None: none. It waits no longer than before, nor longer than its end allows. After the
    transaction, machines are looked for once more.

    Raises StaleDataError if it no longer waits.
    """
    deadline = WaitingRequest.deadline.expression
    values = {
        "ends_at": end and end.at,
        "lasts": end and end.seconds,
        "deadline": deadline if end is None else end.bounded(deadline),
    }
    statement = update(WaitingRequest).where(WaitingRequest.id == waiting.id, IS_WAITING).values(values)
    changed = session.execute(statement.execution_options(synchronize_session=False))
    require_changed(changed, "the request no longer waits")
    gate.waits(session, waiting.uuid)


def keep_since(session: Session, waiting_id: int, since: float) -> None:
    """Note since when freed machines are kept for a request (an id), whose row is locked."""
    statement = update(WaitingRequest).where(WaitingRequest.id == waiting_id).values(kept_since=since)
    session.execute(statement.execution_options(synchronize_session=False))


def unstored(consumer: Consumer, kind: str, resource_class: str) -> WaitingRequest:
    """Return the request, of this kind, of a consumer that got its machine, of this class, at once. It has no row."""
    began_at = consumer.created_at.replace(tzinfo=UTC).timestamp()
    return WaitingRequest(
        uuid=consumer.uuid,
        kind=kind,
        state=CLAIMED,
        resource_class=resource_class,
        priority=0,
        asked_at=began_at,
        deadline=began_at,
        decided_at=began_at,
        request={},
        consumer_project=consumer.project_id,
        consumer_user=consumer.user_id,
        consumer_type=consumer.consumer_type,
    )
