"""A resource provider that mirrors something else: made to have just this inventory and these traits.

For whoever owns the truth (``baremetal.projection``). Everything here is the provider's side of another transaction.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, bindparam, delete, insert, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import (
    Allocation,
    Consumer,
    Inventory,
    ResourceProvider,
)
from baremetal_sched.db.packing import concatenated, joined, number
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors.placement import InventoryInUse
from baremetal_sched.placement import names, trait_ids, tree
from baremetal_sched.placement.tables import CLASSES, INVENTORIES, PROVIDER_TRAITS, PROVIDERS, TRAITS

# Made once: making a statement takes longer than running it.
_LOCK = select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == bindparam("provider")).with_for_update()
_CHANGE = (
    update(PROVIDERS)
    .where(PROVIDERS.c.id == bindparam("provider"))
    .values(generation=PROVIDERS.c.generation + 1, trait_ids=bindparam("text"))
)
_ADD_TRAITS = insert(PROVIDER_TRAITS)
_REMOVE_TRAITS = delete(PROVIDER_TRAITS).where(
    PROVIDER_TRAITS.c.provider_id == bindparam("provider"),
    PROVIDER_TRAITS.c.trait_id.in_(bindparam("traits", expanding=True)),
)


@dataclass(frozen=True)
class Unit:
    """An inventory of one indivisible thing of ``resource_class``: total 1, and reserved unless it can be had."""

    resource_class: str
    reserved: bool


def conform(session: Session, uuid: str, unit: Unit | None, traits: Collection[str]) -> list[str]:
    """Make provider ``uuid`` have just ``unit`` (None: no inventory) and ``traits``; it comes into being if need be.

    A new one is a root, and its UUID is its name too. Returns what had to change, in words; the provider's generation
    grows if anything did. Raises InventoryInUse if a class that has to go is allocated, DuplicateProvider if the name
    of a new one is taken.
    """
    provider_id = session.scalar(_LOCK, {"provider": uuid})
    changes = []
    if provider_id is None:
        provider_id = tree.create(session, uuid, name=uuid)
        changes.append("provider created")
    present, stocks = _present(session, provider_id)
    changes += _conform_inventory(session, provider_id, uuid, unit, stocks)
    ids, changes_of_traits = _conform_traits(session, provider_id, traits, present)
    changes += changes_of_traits
    if changes:
        text = trait_ids.text_of(ids)
        session.execute(_CHANGE, {"provider": provider_id, "text": text, "updated_at": utcnow()})
    return changes


def offer(session: Session, uuid: str, unit: Unit) -> None:
    """Make provider ``uuid`` offer its unit until ``conform`` says otherwise, so that it can be claimed meanwhile."""
    provider_id = session.scalars(select(ResourceProvider.id).where(ResourceProvider.uuid == uuid)).one()
    _, stocks = _present(session, provider_id)
    _conform_inventory(session, provider_id, uuid, replace(unit, reserved=False), stocks)


def consumers_of(session: Session, uuid: str) -> list[str]:
    """UUIDs of the consumers that hold allocations of provider ``uuid``."""
    return list(
        session.scalars(
            select(Consumer.uuid)
            .distinct()
            .join(Allocation, Allocation.consumer_id == Consumer.id)
            .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
            .where(ResourceProvider.uuid == uuid)
        )
    )


def remove(session: Session, uuid: str) -> None:
    """Remove provider ``uuid`` with everything that hangs on it, allocations included. Raises ProviderHasChildren."""
    provider_id = session.scalar(_LOCK, {"provider": uuid})
    if provider_id is None:
        return
    tree.require_childless(session, provider_id, uuid)
    consumer_ids = session.scalars(select(Allocation.consumer_id).where(Allocation.provider_id == provider_id)).all()
    session.execute(delete(Allocation).where(Allocation.provider_id == provider_id))
    if consumer_ids:
        # A consumer goes with its last allocation.
        session.execute(
            delete(Consumer).where(
                Consumer.id.in_(consumer_ids),
                ~select(Allocation.consumer_id).where(Allocation.consumer_id == Consumer.id).exists(),
            )
        )
    tree.erase(session, provider_id)


@dataclass(frozen=True)
class _Stock:
    """An inventory as it is: its class, its numbers in the order of ``_NUMBERS``, and how much of it is used."""

    class_id: int
    numbers: Sequence[float]
    used: int


_NUMBERS = (
    INVENTORIES.c.total,
    INVENTORIES.c.reserved,
    INVENTORIES.c.min_unit,
    INVENTORIES.c.max_unit,
    INVENTORIES.c.step_size,
    INVENTORIES.c.allocation_ratio,
)


def _spaced(name: SQLColumnExpression[str], *numbers: SQLColumnExpression[Any]) -> ColumnElement[str]:
    return concatenated(name, *(part for each in numbers for part in (" ", number(each))))


#: SELECT (SELECT group_concat(name || ' ' || id) FROM traits JOIN provider_traits … WHERE provider_id = :provider),
#:        (SELECT group_concat(name || ' ' || resource_class_id || ' ' || used || ' ' || total || …) FROM inventories …)
_PRESENT = select(
    select(joined(_spaced(TRAITS.c.name, TRAITS.c.id)))
    .join_from(TRAITS, PROVIDER_TRAITS, PROVIDER_TRAITS.c.trait_id == TRAITS.c.id)
    .where(PROVIDER_TRAITS.c.provider_id == bindparam("provider"))
    .scalar_subquery(),
    select(joined(_spaced(CLASSES.c.name, INVENTORIES.c.resource_class_id, INVENTORIES.c.used, *_NUMBERS)))
    .join_from(INVENTORIES, CLASSES, CLASSES.c.id == INVENTORIES.c.resource_class_id)
    .where(INVENTORIES.c.provider_id == bindparam("provider"))
    .scalar_subquery(),
)


def _present(session: Session, provider_id: int) -> tuple[dict[str, int], dict[str, _Stock]]:
    """The ids of the provider's traits, and its inventories, by name. In one statement: every change of a node asks."""
    traits, inventories = session.execute(_PRESENT, {"provider": provider_id}).one()
    ids = dict(line.split(" ") for line in (traits or "").split(",") if line)
    stocks = {}
    for line in (inventories or "").split(","):
        if line:
            name, class_id, used, *numbers = line.split(" ")
            stocks[name] = _Stock(int(class_id), [float(each) for each in numbers], int(used))
    return {name: int(trait_id) for name, trait_id in ids.items()}, stocks


def _conform_inventory(
    session: Session, provider_id: int, uuid: str, unit: Unit | None, found: Mapping[str, _Stock]
) -> list[str]:
    changes = []
    wanted = unit.resource_class if unit else None
    for name, stock in found.items():
        if name == wanted:
            continue
        if stock.used:
            raise InventoryInUse(resource_classes=name, provider=uuid)
        removed = session.execute(
            delete(Inventory).where(
                Inventory.provider_id == provider_id,
                Inventory.resource_class_id == stock.class_id,
                Inventory.used == 0,
            )
        )
        if not rows_changed(removed):
            raise StaleDataError("somebody claimed what was to be removed")
        changes.append(f"inventory of {name} removed")
    if unit is None:
        return changes
    return changes + _conform_unit(session, provider_id, unit, found.get(unit.resource_class))


def _conform_unit(session: Session, provider_id: int, unit: Unit, found: _Stock | None) -> list[str]:
    reserved = int(unit.reserved)
    values = {
        "total": 1,
        "reserved": reserved,
        "min_unit": 1,
        "max_unit": 1,
        "step_size": 1,
        "allocation_ratio": 1.0,
        "capacity": 1 - reserved,
    }
    if found is None:
        class_id = names.ensure_class(session, unit.resource_class)
        session.execute(
            insert(Inventory).values(
                provider_id=provider_id, resource_class_id=class_id, used=0, created_at=utcnow(), **values
            )
        )
        return [f"inventory of {unit.resource_class} added"]
    if [*found.numbers] == [1, reserved, 1, 1, 1, 1]:
        return []
    session.execute(
        update(Inventory)
        .where(Inventory.provider_id == provider_id, Inventory.resource_class_id == found.class_id)
        .values(updated_at=utcnow(), **values)
    )
    return [f"inventory of {unit.resource_class} {'reserved' if reserved else 'offered'}"]


def _conform_traits(
    session: Session, provider_id: int, traits: Collection[str], present: Mapping[str, int]
) -> tuple[Collection[int], list[str]]:
    """The ids of ``traits``, and what had to change."""
    missing = [name for name in traits if name not in present]
    surplus = [name for name in present if name not in set(traits)]
    if surplus:
        session.execute(_REMOVE_TRAITS, {"provider": provider_id, "traits": [present[name] for name in surplus]})
    ids = {present[name] for name in traits if name in present}
    if missing:
        added = set(names.traits_to_give(session, missing).values())
        session.execute(_ADD_TRAITS, [{"provider_id": provider_id, "trait_id": trait_id} for trait_id in added])
        ids |= added
    words = [f"trait {name} added" for name in sorted(missing)] + [f"trait {name} removed" for name in sorted(surplus)]
    return ids, words
