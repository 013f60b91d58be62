"""The entries of a queue, in their order, and the first request of one that may have a free machine.

Equal requests of the same priority are one entry: a machine that does not fit the first of them fits none. But they may
have different ends, and a machine may be held or booked later.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import CompoundSelect, Connection, Integer, Select, bindparam, false, func, or_, select, union_all
from sqlalchemy.orm import Session

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import WaitingRequest
from baremetal_sched.db.types import Query
from baremetal_sched.placement.tables import PENDING_CLAIMS
from baremetal_sched.placement.waiting_requests import ENDS_AT, IS_WAITING, WAITING

_QUEUE = PENDING_CLAIMS.c

_NOW = select(epoch()).scalar_subquery()  # read once, not for each row
_OF_CLASS = select(_QUEUE.priority, _QUEUE.request_key, _QUEUE.id, _QUEUE.asked_at).where(
    _QUEUE.state == WAITING, _QUEUE.resource_class == bindparam("class_name"), _QUEUE.deadline > _NOW
)
_ANYHOW = _OF_CLASS.where(_QUEUE.needed_trait.is_(None))
_FOR_TRAITS = _OF_CLASS.where(_QUEUE.needed_trait.in_(bindparam("traits", expanding=True)))


def _entries(claims: Select[Any] | CompoundSelect[Any]) -> Select[Any]:
    """Return the query of the first entries of these claims, in their order:

    SELECT priority, request_key, min(id) FROM (<claims>) GROUP BY priority, request_key
    ORDER BY priority DESC, min(asked_at), min(id) LIMIT :most
    """
    found = claims.subquery("found").c
    first = func.min(found.id).label("first")
    return (
        select(found.priority, found.request_key, first)
        .group_by(found.priority, found.request_key)
        .order_by(found.priority.desc(), func.min(found.asked_at), first)
        .limit(bindparam("most", type_=Integer))
    )


#: The queue of the claims that need no trait; and with the claims that need one of some traits (each by the same
#: index).
_ENTRIES_ANYHOW = _entries(_ANYHOW)
_ENTRIES = _entries(union_all(_ANYHOW, _FOR_TRAITS))


@dataclass(frozen=True)
class QueueEntry:
    """Waiting claims of a queue with the same priority and equal requests; ``first`` is the id of one of them.
    ``is_strict``: they take no machine for which a hold is planned before their end."""

    resource_class: str
    priority: int
    request_key: str
    first: int
    is_strict: bool = False


class FreeUntil(NamedTuple):
    """How long a free machine may be used. ``closes_at``: from when a hold keeps it from strict requests; None: none
    does. ``booked_at``: when a use that begins now must be over, because the machine is booked later: only requests
    with an end get it; None: it is not booked."""

    closes_at: float | None = None
    booked_at: float | None = None


#: Neither a hold nor a booking limits its use.
ENDLESS = FreeUntil()


def entries(connection: Connection, resource_class: str, traits: Collection[str], limit: int) -> list[QueueEntry]:
    """Return the first entries of the queue of a class, at most ``limit``, in order, except entries that need a trait
    which is not among ``traits``."""
    parameters = {"class_name": resource_class, "most": limit}
    if traits:
        rows = connection.execute(_ENTRIES, {**parameters, "traits": sorted(traits)})
    else:
        rows = compiled.run(connection, _ENTRIES_ANYHOW, parameters)
    return [QueueEntry(resource_class, *row) for row in rows]


def take_first(
    session: Session, entry: QueueEntry, failed: Collection[int], room: FreeUntil = ENDLESS
) -> WaitingRequest | None:
    """Return the first claim of the entry that waits and whose end allows a machine with this room, its row locked;
    None if there is none.

    ``failed`` are ids of claims that have been tried. Claims that others are deciding are skipped. Only this row is
    locked: MariaDB locks all rows that it sorts (seen on 10.11).
    """
    passed = list(failed)
    while True:
        query = _of_entry(entry, room).with_only_columns(WaitingRequest.id).where(WaitingRequest.id.not_in(passed))
        claim_id = session.scalars(query).first()
        if claim_id is None:
            return None
        taken: WaitingRequest | None = session.scalars(
            select(WaitingRequest)
            .where(WaitingRequest.id == claim_id, IS_WAITING)
            .with_for_update(skip_locked=True)
            .execution_options(populate_existing=True)
        ).first()
        if taken is not None:
            return taken
        passed.append(claim_id)


def first_of(session: Session, entry: QueueEntry, room: FreeUntil = ENDLESS) -> WaitingRequest | None:
    """Return the first claim of the entry like ``take_first``; nothing is locked."""
    found: WaitingRequest | None = session.scalars(_of_entry(entry, room)).first()
    return found


def _of_entry(entry: QueueEntry, room: FreeUntil) -> Query:
    allows = []
    if entry.is_strict and room.closes_at is not None:
        allows.append(or_(ENDS_AT.is_(None), room.closes_at >= ENDS_AT))
    if room.booked_at is not None:
        allows.append(func.coalesce(room.booked_at >= ENDS_AT, false()))
    return (
        select(WaitingRequest)
        .where(
            WaitingRequest.state == WAITING,
            WaitingRequest.deadline > epoch(),
            *allows,
            WaitingRequest.resource_class == entry.resource_class,
            WaitingRequest.priority == entry.priority,
            WaitingRequest.request_key == entry.request_key,
        )
        .order_by(WaitingRequest.asked_at, WaitingRequest.id)
        .limit(1)
    )
