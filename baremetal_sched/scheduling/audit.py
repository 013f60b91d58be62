"""The audit of claims: whether a request waits although the machines that it needs are free, whether the queue and the
waiting servers match, whether ends are those of consumers that have something, and whether bookings are kept."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.free_machine import free_nodes
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import count_places
from baremetal_sched.baremetal.matching.spreading import Several, quotas
from baremetal_sched.compute.server_states import SCHEDULING
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, Server, WaitingRequest
from baremetal_sched.errors import SchedulerError
from baremetal_sched.placement import ending, queue_entries
from baremetal_sched.placement.tables import CLASSES, PROVIDERS
from baremetal_sched.placement.waiting_requests import IS_GATHERING, IS_WAITING, SERVER, WAITING
from baremetal_sched.scheduling.bookings import booking_audit
from baremetal_sched.scheduling.gathering import ORDER
from baremetal_sched.scheduling.queue import QUEUE, current_request, in_bookings, in_gaps, queue_of, request_of, room_of
from baremetal_sched.settings import Settings

#: The number of sweeps after which no claim may wait while a machine that fits is free.
_SWEEPS = 2
#: All entries of a queue are looked at.
_ALL = 100_000


def audit(session: Session, settings: Settings) -> list[str]:
    """Return the errors of claims, one line each; empty if there are none. Writes and locks nothing."""
    return [
        *_passed_over(session, settings),
        *_orphans(session),
        *ending.errors(session),
        *booking_audit.errors(session, settings),
    ]


def _passed_over(session: Session, settings: Settings) -> Iterator[str]:
    """Look at each machine that has been free for longer than sweeps take, for claims that have waited for as long."""
    interval: float = settings.scheduling.sweep_interval
    before = utcnow() - timedelta(seconds=_SWEEPS * interval)
    waited_for = select(WaitingRequest.resource_class).where(IS_WAITING, WaitingRequest.created_at < before)
    if not interval or session.scalars(waited_for.limit(1)).first() is None:
        return
    free = free_nodes(CLASSES.c.name.in_(waited_for), *_unchanged(before)).join(
        CLASSES, CLASSES.c.id == PROVIDERS.c.mirrored_class_id
    )
    closed = (query.where(*_unchanged(before)) for query in (in_gaps(settings), in_bookings()))
    for query in (free, *closed):
        for node, name in session.execute(query.with_only_columns(Node, QUEUE)).all():
            queue = queue_of(session.connection(), node.uuid, name, _ALL, settings)
            room = room_of(session, settings, node, name)
            for entry in () if queue is None else queue.entries:
                waiting = queue_entries.first_of(session, entry, room)
                if waiting is not None and waiting.created_at < before and _fits(session, settings, waiting, node.uuid):
                    yield f"{waiting.kind} {waiting.uuid}: it waits, though node {node.uuid} is free and fits"
                    break
    yield from _groups_passed_over(session, settings, before)


def _groups_passed_over(session: Session, settings: Settings, before: datetime) -> Iterator[str]:
    """Look at the first claim of several machines of each project in each queue, which is served right after machines
    become free; the others may be left to sweeps. A named group may have got room a moment ago, as one of its machines
    was released."""
    first: dict[tuple[str, str], WaitingRequest] = {}
    for waiting in session.scalars(select(WaitingRequest).where(IS_GATHERING).order_by(*ORDER).limit(_ALL)):
        first.setdefault((waiting.resource_class, waiting.consumer_project), waiting)
    for waiting in first.values():
        request = request_of(waiting.request)
        several = request.several if waiting.created_at < before and waiting.group_id is None else None
        context = MachineContext(session, settings).of_waiting(waiting)
        if several is not None and _enough(context, request, several, before):
            yield f"claim {waiting.uuid}: it waits, though {several.count} nodes that fit together are free"


def _unchanged(before: datetime) -> list[ColumnElement[bool]]:
    return [func.coalesce(table.updated_at, table.created_at) < before for table in (Node, PROVIDERS.c)]


def _enough(context: MachineContext, request: MachineRequest, several: Several, before: datetime) -> bool:
    """Return whether machines that have not been changed since satisfy a claim of several."""
    try:
        fitting = request.free_machines(request.bound(context))
    except SchedulerError:  # what cannot be searched now is not known to fit
        return False
    if fitting is None:
        return False
    places = count_places(context.session, fitting.query.where(*_unchanged(before)), several)
    return quotas(several, places) is not None


def _fits(session: Session, settings: Settings, waiting: WaitingRequest, node: str) -> bool:
    """Return whether a free machine that may fit the claim does."""
    context = MachineContext(session, settings).of_waiting(waiting)
    alone = current_request(context, waiting.request).on(node)
    try:
        return alone is not None and bool(alone.hosts(context, 1))
    except SchedulerError:  # what cannot be searched now is not known to fit
        return False


def _orphans(session: Session) -> Iterator[str]:
    """Compare the queue with the waiting servers; ``baremetal.provider.audit`` does the same with allocations."""
    waits = Server.task == SCHEDULING
    queued = select(WaitingRequest.uuid).where(WaitingRequest.kind == SERVER)
    for uuid in session.scalars(queued.where(WaitingRequest.uuid.not_in(select(Server.uuid).where(waits)))):
        yield f"server {uuid}: it is in the queue of claims, but does not wait"
    in_queue = queued.where(WaitingRequest.uuid == Server.uuid, WaitingRequest.state == WAITING).exists()
    for uuid in session.scalars(select(Server.uuid).where(waits, ~in_queue)):
        yield f"server {uuid}: it waits, but is not in the queue of claims"
    decided = select(WaitingRequest.kind, WaitingRequest.uuid, WaitingRequest.state).where(
        WaitingRequest.state != WAITING
    )
    for kind, uuid, state in session.execute(decided.where(WaitingRequest.secret.is_not(None))):
        yield f"{kind} {uuid}: its secret is kept, though it is {state}"
