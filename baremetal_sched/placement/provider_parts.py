"""The traits of a single provider, read together with its generation: one statement, which is compiled once.

SELECT p.generation, t.name, t.created_at
FROM resource_providers p LEFT JOIN provider_traits pt ON … LEFT JOIN traits t ON …
WHERE p.uuid = :provider ORDER BY t.name

A provider without any has one row, of NULLs.
"""

from sqlalchemy import bindparam, select

from baremetal_sched.db import compiled
from baremetal_sched.db.models import (
    Aggregate,
    Inventory,
    ProviderAggregate,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
)
from baremetal_sched.db.types import Query, Reader, Rows, connection_of
from baremetal_sched.errors.placement import ProviderNotFound

#: The fields of an inventory in documents.
INVENTORY_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")

_OF_ONE = ResourceProvider.uuid == bindparam("provider")

_TRAITS: Query = (
    select(ResourceProvider.generation, Trait.name, Trait.created_at)
    .outerjoin(ProviderTrait, ProviderTrait.provider_id == ResourceProvider.id)
    .outerjoin(Trait, Trait.id == ProviderTrait.trait_id)
    .where(_OF_ONE)
    .order_by(Trait.name)
)
_AGGREGATES: Query = (
    select(ResourceProvider.generation, Aggregate.uuid)
    .outerjoin(ProviderAggregate, ProviderAggregate.provider_id == ResourceProvider.id)
    .outerjoin(Aggregate, Aggregate.id == ProviderAggregate.aggregate_id)
    .where(_OF_ONE)
    .order_by(Aggregate.uuid)
)
_INVENTORIES: Query = (
    select(
        ResourceProvider.generation,
        ResourceClass.name,
        *(getattr(Inventory, field) for field in INVENTORY_FIELDS),
        Inventory.used,
        Inventory.created_at,
        Inventory.updated_at,
    )
    .outerjoin(Inventory, Inventory.provider_id == ResourceProvider.id)
    .outerjoin(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
    .where(_OF_ONE)
    .order_by(Inventory.resource_class_id)
)


def traits(reader: Reader, provider: str) -> tuple[int, Rows]:
    """Return a provider's generation and its traits: name and created_at, sorted. Raises ProviderNotFound."""
    return _parts(reader, _TRAITS, provider)


def aggregates(reader: Reader, provider: str) -> tuple[int, list[str]]:
    """Return a provider's generation and the UUIDs of its aggregates, sorted. Raises ProviderNotFound."""
    generation, rows = _parts(reader, _AGGREGATES, provider)
    return generation, [row.uuid for row in rows]


def inventories(reader: Reader, provider: str) -> tuple[int, Rows]:
    """Return a provider's generation and its inventories, ordered by class: name, the INVENTORY_FIELDS, used,
    created_at, updated_at. Raises ProviderNotFound."""
    return _parts(reader, _INVENTORIES, provider)


def _parts(reader: Reader, query: Query, provider: str) -> tuple[int, Rows]:
    rows = compiled.run(connection_of(reader), query, {"provider": provider}).all()
    if not rows:
        raise ProviderNotFound(provider=provider)
    return rows[0].generation, [] if rows[0][1] is None else rows
