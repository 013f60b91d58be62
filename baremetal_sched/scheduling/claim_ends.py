"""The ends of claims: of those that wait or waited, and of allocations and servers that got their machines at once.

The latter have no row in the queue. They are shown like claims, made of their consumers.
"""

from collections.abc import Collection, Iterable, Sequence
from math import inf

from sqlalchemy import ColumnElement, case, func, literal, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings import use
from baremetal_sched.baremetal.bookings.times import BOOKED, Own, booked_from
from baremetal_sched.db.clock import epoch, in_words
from baremetal_sched.db.models import (
    Allocation,
    ClaimEnd,
    Consumer,
    GroupMember,
    Node,
    NodeAllocation,
    ResourceClass,
    Server,
    WaitingRequest,
)
from baremetal_sched.db.models.waiting_requests import queue_name
from baremetal_sched.errors.scheduling import BookedNext, ClaimIsOver, HasEnded, OthersWait
from baremetal_sched.placement import ends, gate, waiting_ends
from baremetal_sched.placement.consumers import PLACEMENT, amounts_held_by, note_kind
from baremetal_sched.placement.ending import IS_LATE, STATE_NOW
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.waiting_requests import ALLOCATION, CLAIMED, IS_WAITING, SERVER, WAITING
from baremetal_sched.scheduling import claims, plans
from baremetal_sched.scheduling.claims import ClaimStatus
from baremetal_sched.scheduling.machine_groups import ClaimedMachine
from baremetal_sched.scheduling.queue import queue_of
from baremetal_sched.settings import Settings

#: The kind of each consumer: by its row in its API, or by the request that it was made for.
KIND = case(
    (Server.id.is_not(None), literal(SERVER)),
    (NodeAllocation.id.is_not(None), literal(ALLOCATION)),
    else_=func.coalesce(Consumer.request_kind, PLACEMENT),
)


def find(session: Session, uuid: str) -> ClaimStatus | None:
    """Return the claim with this UUID, or the consumer, as a claim: of a server, an allocation, or a client of the
    placement API, whose kind is ``placement``. None if there is none."""
    return next(iter(statuses_of(session, [uuid])), None)


def _of_consumers(session: Session, uuids: Collection[str]) -> list[ClaimStatus]:
    """Return the consumers with these UUIDs that have something, as claims, except those of machines of a claim of
    several."""
    held = amounts_held_by(session, uuids) if uuids else {}
    if not held:
        return []
    providers = {provider for amounts in held.values() for provider in amounts}
    nodes = select(Node.uuid, Node.resource_class).where(Node.uuid.in_(providers))
    classes = {uuid: resource_class_of(name or "") for uuid, name in session.execute(nodes)}
    of_several = select(GroupMember.consumer_id).join(WaitingRequest, WaitingRequest.uuid == GroupMember.claim)
    is_part = of_several.where(GroupMember.consumer_id == Consumer.id).exists()
    query = select(Consumer, KIND).outerjoin(Server, Server.uuid == Consumer.uuid)
    query = query.outerjoin(NodeAllocation, NodeAllocation.uuid == Consumer.uuid)
    consumers = session.execute(query.where(Consumer.uuid.in_(held), ~is_part)).all()
    found = ends.of_consumers(session, held.keys(), STATE_NOW)
    booked = use.uuids(session, [each.booking_id for each in found.values()])
    return [
        ClaimStatus(
            waiting_ends.unstored(
                each, kind, next((classes[provider] for provider in held[each.uuid] if provider in classes), "")
            ),
            CLAIMED,
            held[each.uuid],
            None,
            [ClaimedMachine(1, each.uuid, held[each.uuid])],
            [found[each.uuid]] if each.uuid in found else [],
            booked.get(found[each.uuid].booking_id) if each.uuid in found else None,
        )
        for each, kind in consumers
    ]


# -- changes -----------------------------------------------------------------------------------------------------------


def began_at(status: ClaimStatus) -> float | None:
    """Return since when the claim has its machines; None if it waits."""
    if status.state == WAITING:
        return None
    return min((each.began_at for each in status.ends), default=status.claim.decided_at)


def change(session: Session, settings: Settings, status: ClaimStatus, end: End | None, *, is_bound: bool) -> None:
    """Give a claim that waits, or all machines of one, another end; None: none. ``is_bound``: it cannot be moved later
    while others wait for a machine.

    Raises EndsTooSoon, HasEnded, ClaimIsOver, OthersWait; BookedNext if a machine is booked before the new end and the
    turnaround after it, whoever moves it; StaleDataError if the claim is changed at once.
    """
    claim, machines = status.claim, status.machines
    if status.state == WAITING:
        if end is not None:
            end.require_time(session.scalar(select(epoch())) or 0.0)
        plans.end(session, settings, [claim.id])
        waiting_ends.change(session, claim, end)
        return
    since = began_at(status)
    if status.state != CLAIMED or since is None:
        raise ClaimIsOver(claim=claim.uuid, state=status.state)
    named = select(Consumer.id, Consumer.uuid).where(Consumer.uuid.in_([each.consumer for each in machines]))
    consumers = {row_id: uuid for row_id, uuid in session.execute(named)}
    is_later = ends.change(session, consumers, end, since)
    note_kind(session, consumers, claim.kind)
    nodes = [*filter(None, (each.document(claim.machine_class)["node"] for each in machines))]
    if is_later:
        now = select(func.max(ClaimEnd.ends_at)).where(ClaimEnd.consumer_id.in_(consumers))
        ends_at = inf if end is None else session.connection().scalar(now) or inf
        gives_way = () if is_bound else (BOOKED.c.waiting_id.is_(None),)  # a plan, like all who wait
        others = Own(booking_of(status)).is_others(), *gives_way
        _require_unbooked(session, settings, ends_at, Node.uuid.in_(nodes), *others)
    if is_later and is_bound:
        queue = queue_name(claim.machine_class, booking_of(status))
        _require_nobody_waits(session, settings, queue, nodes)
    if plans.are_made(settings):  # those that count on these machines are made anew
        gate.freed(session, nodes=nodes)


def booking_of(status: ClaimStatus) -> int | None:
    """Return the booking (an id) under which it claims; None: under none."""
    return next((each.booking_id for each in status.ends), status.claim.booking_id)


def require_booking(status: ClaimStatus) -> str | None:
    """Return the booking (a UUID) within which its end can be changed; None: it claims under none. Raises HasEnded if
    the booking is gone."""
    if status.booking is None and booking_of(status) is not None:
        raise HasEnded(consumer=status.claim.uuid)
    return status.booking


def _require_unbooked(session: Session, settings: Settings, ends_at: float, *rows: ColumnElement[bool]) -> None:
    """Raise BookedNext if one of these rows of ``booked_machines`` begins before an end and the turnaround after it.
    The calendars of their machines have been counted up: a booking that is made at the same time looks at them again.
    """
    latest = booked_from(session, settings, *rows)
    if latest is not None and ends_at > latest:
        raise BookedNext(latest=in_words(latest))


def _require_nobody_waits(session: Session, settings: Settings, name: str, nodes: Iterable[str]) -> None:
    """Raise OthersWait if requests wait in the queue with this name that may fit one of the nodes (UUIDs)."""
    most = settings.scheduling.most_tested
    queues = (queue_of(session.connection(), node, name, most, settings) for node in nodes)
    keys = {entry.request_key for queue in queues if queue is not None for entry in queue.entries}
    if keys:
        waiting = IS_WAITING, WaitingRequest.resource_class == name, WaitingRequest.request_key.in_(keys)
        raise OthersWait(number=session.scalar(select(func.count()).where(*waiting)))


# -- late ones ---------------------------------------------------------------------------------------------------------


def late(session: Session, *conditions: ColumnElement[bool]) -> list[str]:
    """Return the UUIDs of the claims, allocations and servers that are late, of consumers that meet the conditions; the
    oldest first.

    SELECT coalesce(w.uuid, c.uuid) FROM claim_ends e JOIN consumers c ON … LEFT JOIN group_members m ON … LEFT JOIN
    pending_claims w ON w.uuid = m.claim WHERE <it is late> AND … GROUP BY 1 ORDER BY min(c.id)
    """
    uuid = func.coalesce(WaitingRequest.uuid, Consumer.uuid)
    query = (
        select(uuid)
        .select_from(ClaimEnd)
        .join(Consumer, Consumer.id == ClaimEnd.consumer_id)
        .outerjoin(GroupMember, GroupMember.consumer_id == Consumer.id)
        .outerjoin(WaitingRequest, WaitingRequest.uuid == GroupMember.claim)
        .where(IS_LATE, *conditions)
    )
    return list(session.scalars(query.group_by(uuid).order_by(func.min(Consumer.id))))


def has_class(resource_class: str) -> ColumnElement[bool]:
    """SQL condition on Consumer: it has something of this resource class."""
    held = select(Allocation.consumer_id).join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
    return held.where(Allocation.consumer_id == Consumer.id, ResourceClass.name == resource_class).exists()


def statuses_of(session: Session, uuids: Sequence[str]) -> list[ClaimStatus]:
    """Return the claims, allocations and servers with these UUIDs, in this order."""
    rows = session.scalars(select(WaitingRequest).where(WaitingRequest.uuid.in_(uuids))).all()
    known = {each.uuid for each in rows}
    others = _of_consumers(session, [uuid for uuid in uuids if uuid not in known])
    found = {each.claim.uuid: each for each in [*(claims.statuses_of(session, rows) if rows else ()), *others]}
    return [found[uuid] for uuid in uuids if uuid in found]
