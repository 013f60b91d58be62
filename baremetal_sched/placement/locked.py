"""A provider that a transaction is about to change, with its row locked and its generation known."""

from dataclasses import dataclass

from sqlalchemy import Integer, bindparam, select, type_coerce, update
from sqlalchemy.orm import Session

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.results import require_changed
from baremetal_sched.errors.placement import GenerationConflict, ProviderNotFound
from baremetal_sched.placement import gate
from baremetal_sched.placement.tables import PROVIDERS, SERVES_MACHINES, first_waiting

#: Message for another generation than the client's, where aggregates, traits or inventories are replaced.
GENERATION_CHANGED = "Resource provider's generation already changed. Please update the generation and try again."


# Made once: making a statement takes longer than running it.
_LOCK = (
    select(
        *(PROVIDERS.c[name] for name in ("id", "uuid", "generation", "root_id", "mirrored_class_id")),
        type_coerce(PROVIDERS.c.indivisible, Integer),  # the driver's value, which is true or false either way
        PROVIDERS.c.trait_ids,
        first_waiting(PROVIDERS.c.root_id).label("waiting"),
        type_coerce(SERVES_MACHINES, Integer),
    )
    .where(PROVIDERS.c.uuid == bindparam("provider"))
    .with_for_update(of=PROVIDERS)
)
_BUMP = (
    update(PROVIDERS)
    .where(PROVIDERS.c.id == bindparam("provider"), PROVIDERS.c.generation == bindparam("before"))
    .values(generation=PROVIDERS.c.generation + 1, updated_at=bindparam("now"))
)


@dataclass
class LockedProvider:
    """A row of resource_providers in its current state."""

    id: int
    uuid: str
    generation: int
    root_id: int
    mirrored_class_id: int | None
    indivisible: bool
    trait_ids: str
    #: A claim that waits for what this tree may give.
    waiting: int | None
    #: Whether it belongs to a machine, or may share with one.
    serves_machines: bool

    @property
    def mirrors_node(self) -> bool:
        """Return whether the provider mirrors a node, which determines its inventory."""
        return self.mirrored_class_id is not None

    def require_generation(self, given: int, message: str) -> None:
        """Raise GenerationConflict with ``message`` if ``given`` is not the current generation."""
        if given != self.generation:
            raise GenerationConflict(message=message)

    def bump(self, session: Session) -> None:
        """Increment the generation by compare-and-swap, so that only one of two concurrent changes succeeds."""
        given = {"provider": self.id, "before": self.generation, "now": utcnow()}
        require_changed(compiled.change(session.connection(), _BUMP, given), "the provider was changed")
        self.has_changed(session)

    def has_changed(self, session: Session) -> None:
        """Note that the generation has been incremented, and that a request may have waited for the change."""
        self.generation += 1
        own = [self.id]
        gate.freed(session, own if self.serves_machines else (), unwanted=own if self.waiting is None else ())


def lock(session: Session, uuid: str) -> LockedProvider:
    """Return the provider, locked for a change. Raises ProviderNotFound."""
    row = compiled.run(session.connection(), _LOCK, {"provider": uuid}).first()
    if row is None:
        raise ProviderNotFound(provider=uuid)
    return LockedProvider(*row)
