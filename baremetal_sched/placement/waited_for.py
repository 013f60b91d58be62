"""Newcomers do not overtake: a machine that a request waits for is handed over before a newcomer claims it."""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select

from baremetal_sched.db.notes import WaitedFor, notes_of
from baremetal_sched.placement.tables import CLASSES, INVENTORIES, first_waiting_for

_CLASS = select(CLASSES.c.name).where(CLASSES.c.id == INVENTORIES.c.resource_class_id).correlate(INVENTORIES)
#: SQL condition on an inventory: no request waits for machines of its class.
IS_UNWANTED = first_waiting_for(_CLASS.scalar_subquery()).is_(None)

_WANTED = (
    select(INVENTORIES.c.provider_id)
    .distinct()
    .where(INVENTORIES.c.provider_id.in_(bindparam("providers", expanding=True)), ~IS_UNWANTED)
)


def is_newcomer(connection: Connection, provider: int) -> bool:
    """Return whether a claim of this provider (an id) must come after waiting claims: it is not made for one of them,
    and the provider has not just been offered to them."""
    notes = notes_of(connection)
    return not notes.gives and provider not in notes.offered


def require_unwanted(connection: Connection, providers: Iterable[int]) -> None:
    """Raise WaitedFor if a request waits for one of these providers (ids), so that a newcomer cannot claim it."""
    newcomers = [each for each in providers if is_newcomer(connection, each)]
    wanted = connection.scalars(_WANTED, {"providers": newcomers}).all() if newcomers else ()
    if wanted:
        raise WaitedFor(wanted)
