"""Aggregates: sets of providers that share something, identified by UUIDs that clients choose."""

from collections.abc import Collection, Mapping, Sequence, Set

from sqlalchemy import ColumnElement, bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.compiled import insert_missing
from baremetal_sched.db.models import Aggregate, ProviderAggregate
from baremetal_sched.placement import gate
from baremetal_sched.placement.locked import GENERATION_CHANGED, LockedProvider
from baremetal_sched.placement.tables import AGGREGATES, PROVIDER_AGGREGATES, PROVIDERS

_LEAVE = delete(PROVIDER_AGGREGATES).where(
    PROVIDER_AGGREGATES.c.provider_id == bindparam("provider"), PROVIDER_AGGREGATES.c.aggregate_id == bindparam("left")
)


def replace(session: Session, provider: LockedProvider, uuids: Sequence[str], generation: int | None) -> None:
    """Replace the provider's aggregates; missing ones are created.

    A given ``generation`` is checked (GenerationConflict) and incremented, even if nothing changes. Clients before 1.19
    give none.
    """
    if generation is not None:
        provider.require_generation(generation, GENERATION_CHANGED)
    ids = _ensure(session, uuids)
    wanted, column, of_provider = set(ids.values()), ProviderAggregate.aggregate_id, ProviderAggregate.provider_id
    present = set(session.scalars(select(column).where(of_provider == provider.id)))
    if surplus := present - wanted:
        session.execute(delete(ProviderAggregate).where(of_provider == provider.id, column.in_(surplus)))
    if missing := sorted(wanted - present):
        rows = [{"provider_id": provider.id, "aggregate_id": row_id} for row_id in missing]
        session.execute(insert(ProviderAggregate), rows)
    gate.freed(session, [provider.id])
    if generation is not None:
        provider.bump(session)


def _ensure(session: Session, uuids: Collection[str]) -> dict[str, int]:
    """Return the ids of these aggregates, by UUID; missing ones are created."""
    if not uuids:
        return {}
    insert_missing(session, AGGREGATES, [{"uuid": uuid, "created_at": utcnow()} for uuid in uuids])
    found = session.execute(select(Aggregate.uuid, Aggregate.id).where(Aggregate.uuid.in_(uuids)))
    return {uuid: row_id for uuid, row_id in found}


def follow(session: Session, wanted: Mapping[str, Set[str]], governed: ColumnElement[bool]) -> dict[str, list[str]]:
    """Put each provider (by UUID) into the aggregates that are ``wanted`` of it, and take it out of all others that are
    ``governed`` (a condition on aggregates). Return the changes in words, by UUID of the provider.

    The generation of a provider that is changed is incremented: a client that replaces aggregates which it read before
    is refused.
    """
    rows = select(PROVIDERS.c.id, PROVIDERS.c.uuid).where(PROVIDERS.c.uuid.in_(wanted)).order_by(PROVIDERS.c.id)
    providers: dict[int, str] = {row_id: uuid for row_id, uuid in session.execute(rows.with_for_update())}
    present: dict[int, dict[str, int]] = {row_id: {} for row_id in providers}
    for provider, uuid, row_id in session.execute(
        select(PROVIDER_AGGREGATES.c.provider_id, AGGREGATES.c.uuid, AGGREGATES.c.id)
        .join(AGGREGATES, AGGREGATES.c.id == PROVIDER_AGGREGATES.c.aggregate_id)
        .where(PROVIDER_AGGREGATES.c.provider_id.in_(providers), governed)
    ):
        present[provider][uuid] = row_id
    surplus = [(each, uuid) for each in providers for uuid in present[each].keys() - wanted[providers[each]]]
    missing = [(each, uuid) for each in providers for uuid in wanted[providers[each]] - present[each].keys()]
    changes: dict[str, list[str]] = {}
    for pairs, done in ((surplus, "taken out of"), (missing, "put into")):
        for each, uuid in sorted(pairs):
            changes.setdefault(providers[each], []).append(f"{done} aggregate {uuid}")
    connection = session.connection()
    if surplus:
        connection.execute(_LEAVE, [{"provider": each, "left": present[each][uuid]} for each, uuid in surplus])
    if missing:
        ids = _ensure(session, {uuid for _, uuid in missing})
        entered = [{"provider_id": each, "aggregate_id": ids[uuid]} for each, uuid in missing]
        connection.execute(insert(PROVIDER_AGGREGATES), entered)
    if changes:
        changed = {each for each, _ in surplus + missing}
        # A claim with member_of may have waited for one of them.
        gate.freed(connection, changed)
        own = update(PROVIDERS).where(PROVIDERS.c.id.in_(changed))
        connection.execute(own.values(generation=PROVIDERS.c.generation + 1, updated_at=utcnow()))
    return changes
