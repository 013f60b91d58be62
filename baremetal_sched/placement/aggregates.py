"""Aggregates: sets of providers that share something, identified by UUIDs that clients choose."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.handover import notes_of
from baremetal_sched.db.insert import insert_missing
from baremetal_sched.db.models import Aggregate, ProviderAggregate
from baremetal_sched.placement.locked import GENERATION_CHANGED, LockedProvider, replace_associations
from baremetal_sched.placement.tables import AGGREGATES


def replace(session: Session, provider: LockedProvider, uuids: Sequence[str], generation: int | None) -> None:
    """Replace the provider's aggregates; missing ones are created.

    A given ``generation`` is checked (GenerationConflict) and incremented, even if nothing changes. Clients before 1.19
    give none.
    """
    if generation is not None:
        provider.require_generation(generation, GENERATION_CHANGED)
    replace_associations(session, provider, ProviderAggregate.aggregate_id, _ensure(session, uuids))
    notes_of(session.connection()).providers.add(provider.id)
    if generation is not None:
        provider.bump(session)


def _ensure(session: Session, uuids: Sequence[str]) -> set[int]:
    """Return the ids of these aggregates; missing ones are created."""
    if not uuids:
        return set()
    insert_missing(session, AGGREGATES, [{"uuid": uuid, "created_at": utcnow()} for uuid in uuids])
    return set(session.scalars(select(Aggregate.id).where(Aggregate.uuid.in_(uuids))))
