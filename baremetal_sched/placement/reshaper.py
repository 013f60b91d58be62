"""The reshaper: moves inventories and allocations between providers in one transaction."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy.orm import Session

from baremetal_sched.db.models import ResourceClass
from baremetal_sched.errors.placement import (
    GenerationConflict,
    ProviderNotFound,
    ReshapedProviderNotFound,
    UnknownClassInAllocation,
)
from baremetal_sched.placement import allocations, inventories, names
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.inventories import InventoryValues
from baremetal_sched.placement.locked import LockedProvider, lock

_MALFORMED = "malformed reshaper data:"


@dataclass(frozen=True)
class ReshapedState:
    """The final inventories of a provider, and the generation known to the client."""

    stocks: Mapping[str, InventoryValues]
    generation: int


def reshape(session: Session, shapes: Mapping[str, ReshapedState], writes: Sequence[ConsumerWrite]) -> None:
    """Give each provider (by UUID) its new inventories and each consumer its new allocations.

    Temporarily, a provider has both its old and new classes, so that allocations can move from one to the other. Raises
    ReshapedProviderNotFound, GenerationConflict, UnknownClassInAllocation, InventoryInUse, MirrorsNode, and what
    ``allocations.write`` raises.
    """
    providers = _lock(session, shapes)
    allocations.check(session, writes)
    classes = _class_ids(session, shapes)
    for provider, shape in providers:
        if shape.stocks and not provider.mirrors_node:
            used = inventories.used_by_class(session, provider.id)
            for name, stock in shape.stocks.items():
                inventories.put(session, provider.id, classes[name], stock, exists=classes[name] in used)
            inventories.count(session, provider)
    allocations.write(session, writes, _MALFORMED)
    for provider, shape in providers:
        # Writing allocations has incremented generations, too.
        settled = lock(session, provider.uuid)
        inventories.set_exactly(session, settled, {classes[name]: stock for name, stock in shape.stocks.items()})
        if not settled.mirrors_node:
            inventories.count(session, settled)


def _lock(session: Session, shapes: Mapping[str, ReshapedState]) -> list[tuple[LockedProvider, ReshapedState]]:
    """Return the providers in the client's order; they are locked in the order of their UUIDs, as everywhere."""
    locked: dict[str, LockedProvider] = {}
    for uuid in sorted(shapes):
        with suppress(ProviderNotFound):
            locked[uuid] = lock(session, uuid)
    for uuid, shape in shapes.items():
        if uuid not in locked:
            raise ReshapedProviderNotFound(provider=uuid)
        if inventories.says_the_same(session, locked[uuid], shape.stocks):
            continue
        if locked[uuid].generation != shape.generation:
            raise GenerationConflict(
                message=f"resource provider generation conflict for provider {uuid}: "
                f"actual: {locked[uuid].generation}, given: {shape.generation}"
            )
    return [(locked[uuid], shape) for uuid, shape in shapes.items()]


def _class_ids(session: Session, shapes: Mapping[str, ReshapedState]) -> dict[str, int]:
    wanted = {name for shape in shapes.values() for name in shape.stocks}
    ids = names.ids_of(session, ResourceClass, wanted)
    unknown = sorted(wanted - ids.keys())
    if unknown:
        raise UnknownClassInAllocation(where=_MALFORMED, resource_class=unknown[0])
    return ids
