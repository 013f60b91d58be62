"""A provider that a transaction is about to change, with its row locked and its generation known."""

from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.handover import notes_of
from baremetal_sched.db.models import ResourceProvider
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors.placement import GenerationConflict, ProviderNotFound

#: Message for another generation than the client's, where aggregates, traits or inventories are replaced.
GENERATION_CHANGED = "Resource provider's generation already changed. Please update the generation and try again."


@dataclass
class LockedProvider:
    """A row of resource_providers in its current state."""

    id: int
    uuid: str
    generation: int
    root_id: int
    mirrored_class_id: int | None
    indivisible: bool

    @property
    def mirrors_node(self) -> bool:
        """Return whether the provider mirrors a node, which determines its inventory."""
        return self.mirrored_class_id is not None

    def require_generation(self, given: int, message: str) -> None:
        """Raise GenerationConflict with ``message`` if ``given`` is not the current generation."""
        if given != self.generation:
            raise GenerationConflict(message=message)

    def bump(self, session: Session, **values: str) -> None:
        """Increment the generation by compare-and-swap, so that only one of two concurrent changes succeeds.

        ``values`` are other columns to update.
        """
        changed = session.execute(
            update(ResourceProvider)
            .where(ResourceProvider.id == self.id, ResourceProvider.generation == self.generation)
            .values(generation=self.generation + 1, updated_at=utcnow(), **values)
        )
        if not rows_changed(changed):
            raise StaleDataError("the provider was changed meanwhile")
        self.generation += 1
        notes_of(session.connection()).providers.add(self.id)


def replace_associations(
    session: Session, provider: LockedProvider, column: InstrumentedAttribute[int], ids: set[int]
) -> bool:
    """Associate the provider with exactly these ``ids``; return whether that changes anything.

    ``column`` is the one of provider_traits or provider_aggregates that holds them.
    """
    model = column.class_
    of_provider = model.provider_id == provider.id
    present = set(session.scalars(select(column).where(of_provider)))
    surplus, missing = present - ids, ids - present
    if surplus:
        session.execute(delete(model).where(of_provider, column.in_(surplus)))
    if missing:
        rows = [{"provider_id": provider.id, column.key: row_id} for row_id in sorted(missing)]
        session.execute(insert(model), rows)
    return bool(surplus or missing)


def lock(session: Session, uuid: str) -> LockedProvider:
    """Return the provider, locked for a change. Raises ProviderNotFound."""
    row = session.execute(
        select(
            ResourceProvider.id,
            ResourceProvider.generation,
            ResourceProvider.root_id,
            ResourceProvider.mirrored_class_id,
            ResourceProvider.indivisible,
        )
        .where(ResourceProvider.uuid == uuid)
        .with_for_update()
    ).first()
    if row is None:
        raise ProviderNotFound(provider=uuid)
    return LockedProvider(row.id, uuid, row.generation, row.root_id, row.mirrored_class_id, row.indivisible)
