"""The consumers that have machines in placement, and since when."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from baremetal_sched.db.models import (
    Allocation,
    ClaimEnd,
    Consumer,
    GroupMember,
    NodeAllocation,
    ResourceProvider,
    Server,
)
from baremetal_sched.db.types import Query
from baremetal_sched.placement.ending import STATE_NOW
from baremetal_sched.placement.waiting_requests import ALLOCATION, CLAIM, SERVER
from baremetal_sched.scheduling.claim_ends import KIND
from baremetal_sched.ui.ends import PageEnd, of_moment

#: What a use is made of, in this order.
COLUMNS: tuple[ColumnElement[Any] | InstrumentedAttribute[Any], ...] = (
    *(Consumer.uuid, Consumer.project_id, Consumer.user_id, KIND.label("kind"), Consumer.consumer_type),
    *(func.coalesce(Server.name, NodeAllocation.name).label("called"), Allocation.created_at),
    GroupMember.claim.label("group_claim"),
    *(ClaimEnd.ends_at, STATE_NOW, ClaimEnd.reason),
)


@dataclass(frozen=True)
class Use:
    """A consumer that has a machine since ``since``. ``kind``: allocation, server, claim, or its type in placement.
    ``claim``: the UUID of the claim that it belongs to, if it is of one. ``end``: when it gives the machine back."""

    consumer: str
    project: str
    user: str
    kind: str
    name: str | None
    since: datetime
    claim: str | None = None
    end: PageEnd | None = None


def of_machine(uuid: str) -> Query:
    """Return the query of ``COLUMNS`` of the consumers that have the machine, or a provider below its own."""
    root = select(ResourceProvider.root_id).where(ResourceProvider.uuid == uuid).scalar_subquery()
    return _select(ResourceProvider.root_id == root)


def of_consumers(session: Session, uuids: Collection[str]) -> dict[str, Use]:
    """Return the use of each of these consumers that has something; one statement."""
    rows = session.execute(_select(Consumer.uuid.in_(uuids))) if uuids else ()
    return {use.consumer: use for use in uses_of(rows)}


def uses_of(rows: Iterable[Sequence[Any]]) -> list[Use]:
    """Return the uses in rows of ``COLUMNS``, the oldest first: a consumer has several, of several classes."""
    found: dict[str, Use] = {}
    for uuid, project, user, kind, consumer_type, called, since, group_claim, *end in rows:
        claim = (group_claim or uuid) if kind == CLAIM else None
        if kind not in (ALLOCATION, CLAIM, SERVER):
            kind = (consumer_type or "consumer").lower().replace("_", " ")
        if uuid not in found or since < found[uuid].since:
            found[uuid] = Use(uuid, project, user, kind, called, since, claim, of_moment(*end))
    return sorted(found.values(), key=lambda use: (use.since, use.consumer))


def _select(condition: ColumnElement[bool]) -> Query:
    """SELECT c.uuid, …, a.created_at FROM consumers c JOIN allocations a … JOIN resource_providers p …
    LEFT JOIN servers s ON s.uuid = c.uuid LEFT JOIN node_allocations n ON n.uuid = c.uuid
    LEFT JOIN group_members g ON g.consumer_id = c.id LEFT JOIN claim_ends e ON e.consumer_id = c.id WHERE …"""
    return (
        select(*COLUMNS)
        .select_from(Consumer)
        .join(Allocation, Allocation.consumer_id == Consumer.id)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .outerjoin(Server, Server.uuid == Consumer.uuid)
        .outerjoin(NodeAllocation, NodeAllocation.uuid == Consumer.uuid)
        .outerjoin(GroupMember, GroupMember.consumer_id == Consumer.id)
        .outerjoin(ClaimEnd, ClaimEnd.consumer_id == Consumer.id)
        .where(condition)
    )
