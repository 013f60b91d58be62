"""Aggregates: sets of providers that share something, identified by UUIDs that clients choose."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.insert import insert_missing
from baremetal_sched.db.models import Aggregate, ProviderAggregate
from baremetal_sched.placement.locked import GENERATION_CHANGED, LockedProvider
from baremetal_sched.placement.tables import AGGREGATES


def list_aggregates(session: Session, provider_id: int) -> list[str]:
    """Return the UUIDs of the provider's aggregates, sorted."""
    return list(
        session.scalars(
            select(Aggregate.uuid)
            .join(ProviderAggregate, ProviderAggregate.aggregate_id == Aggregate.id)
            .where(ProviderAggregate.provider_id == provider_id)
            .order_by(Aggregate.uuid)
        )
    )


def replace(session: Session, provider: LockedProvider, uuids: Sequence[str], generation: int | None) -> None:
    """Replace the provider's aggregates; missing ones are created.

    A given ``generation`` is checked (GenerationConflict) and incremented, even if nothing changes. Clients before 1.19
    give none.
    """
    if generation is not None:
        provider.require_generation(generation, GENERATION_CHANGED)
    wanted = set(_ensure(session, uuids).values())
    present = set(
        session.scalars(select(ProviderAggregate.aggregate_id).where(ProviderAggregate.provider_id == provider.id))
    )
    if present - wanted:
        session.execute(
            delete(ProviderAggregate).where(
                ProviderAggregate.provider_id == provider.id, ProviderAggregate.aggregate_id.in_(present - wanted)
            )
        )
    if wanted - present:
        rows = [{"provider_id": provider.id, "aggregate_id": aggregate} for aggregate in sorted(wanted - present)]
        session.execute(insert(ProviderAggregate), rows)
    if generation is not None:
        provider.bump(session)


def _ensure(session: Session, uuids: Sequence[str]) -> dict[str, int]:
    if not uuids:
        return {}
    insert_missing(session, AGGREGATES, [{"uuid": uuid, "created_at": utcnow()} for uuid in uuids])
    rows = session.execute(select(Aggregate.uuid, Aggregate.id).where(Aggregate.uuid.in_(uuids)))
    return {uuid: aggregate_id for uuid, aggregate_id in rows}
