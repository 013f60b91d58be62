"""Aggregates: sets of providers that share something, known by UUIDs that a client chooses."""

from collections.abc import Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.insert import insert_missing
from baremetal_sched.db.models import Aggregate, ProviderAggregate
from baremetal_sched.placement.locked import GENERATION_CHANGED, LockedProvider
from baremetal_sched.placement.tables import AGGREGATES


def list_aggregates(session: Session, provider_id: int) -> list[str]:
    """UUIDs of the aggregates that the provider is in, sorted."""
    return list(
        session.scalars(
            select(Aggregate.uuid)
            .join(ProviderAggregate, ProviderAggregate.aggregate_id == Aggregate.id)
            .where(ProviderAggregate.provider_id == provider_id)
            .order_by(Aggregate.uuid)
        )
    )


def replace(session: Session, provider: LockedProvider, uuids: Sequence[str], generation: int | None) -> None:
    """Make these the provider's aggregates; new ones come into being.

    With a ``generation`` it is checked (GenerationConflict) and counted up, even if nothing changes; without, as
    clients before 1.19 do it, neither.
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
