"""A world, written into the tables of either side."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from random import Random
from typing import Any

from baremetal_sched.placement import trait_ids
from tests.benchmarks.placement.worlds import Fleet, InventoryRow, World
from tests.benchmarks.stores import Store, random_uuid

NOW = "2026-01-01 00:00:00"
PROJECT = "11111111-1111-4111-8111-111111111111"
USER = "22222222-2222-4222-8222-222222222222"

#: Of an inventory: reserved, min_unit, max_unit, step_size, allocation_ratio. max_unit is the total.
_UNITS = "total, reserved, min_unit, max_unit, step_size, allocation_ratio"


def aggregate_uuid(number: int) -> str:
    return f"aaaaaaaa-aaaa-4aaa-8aaa-{number:012}"


def seed_ours(store: Store, world: World) -> None:
    classes, traits = ids_of_names(store, world)
    pairs = [(row_id, traits[name]) for row_id, name in world.provider_traits()]
    texts = {row_id: trait_ids.text_of([own for _, own in rows]) for row_id, rows in groupby(pairs, itemgetter(0))}
    store.load(
        "resource_providers",
        "id, uuid, name, parent_id, root_id, generation, created_at, trait_ids",
        ((*row, 1, NOW, texts.get(row[0], "")) for row in world.providers()),
    )
    store.load("provider_traits", "provider_id, trait_id", pairs)
    store.load(
        "inventories",
        f"provider_id, resource_class_id, {_UNITS}, capacity, used, created_at",
        (
            (row_id, classes[name], total, 0, 1, total, 1, 1.0, total, used, NOW)
            for row_id, name, total, used in world.inventories()
        ),
    )
    numbers = sorted({number for _, number in world.aggregates()})
    store.load("aggregates", "id, uuid, created_at", ((number, aggregate_uuid(number), NOW) for number in numbers))
    store.load("provider_aggregates", "provider_id, aggregate_id", world.aggregates())
    _take_of_ours(store, classes, world.inventories(), 0)
    store.analyze()


def take_more_of_ours(store: Store, fleet: Fleet, taken: float) -> None:
    """Take nodes of a fleet that is there until ``taken`` of all are."""
    classes, _ = ids_of_names(store, fleet)
    (held,) = store.rows("SELECT count(*) FROM consumers")
    _take_of_ours(store, classes, fleet.taken_later(taken), held[0])
    store.execute(
        "UPDATE inventories SET used = 1 WHERE used = 0"
        " AND EXISTS (SELECT 1 FROM allocations a WHERE a.provider_id = inventories.provider_id)"
    )
    store.analyze()


def _take_of_ours(store: Store, classes: dict[str, int], rows: Iterable[InventoryRow], before: int) -> None:
    held = [(number, *row) for number, row in enumerate(_used(rows), before + 1)]
    uuids = _consumer_uuids(before)
    store.load(
        "consumers",
        "id, uuid, project_id, user_id, generation, created_at, usages",
        (
            (number, next(uuids), PROJECT, USER, 1, NOW, f":{classes[name]}={used},")
            for number, _, name, _, used in held
        ),
    )
    store.load(
        "allocations",
        "consumer_id, provider_id, resource_class_id, used, created_at",
        ((number, row_id, classes[name], used, NOW) for number, row_id, name, _, used in held),
    )


def seed_original(store: Store, world: World) -> None:
    """Rows for openstack-placement, whose schema and standard names are there."""
    classes, traits = ids_of_names(store, world)
    store.load(
        "resource_providers",
        "id, uuid, name, parent_provider_id, root_provider_id, generation, created_at",
        ((*row, 1, NOW) for row in world.providers()),
    )
    store.load(
        "resource_provider_traits",
        "resource_provider_id, trait_id, created_at",
        ((row_id, traits[name], NOW) for row_id, name in world.provider_traits()),
    )
    store.load(
        "inventories",
        f"resource_provider_id, resource_class_id, {_UNITS}, created_at",
        ((row_id, classes[name], total, 0, 1, total, 1, 1.0, NOW) for row_id, name, total, _ in world.inventories()),
    )
    numbers = sorted({number for _, number in world.aggregates()})
    store.load("placement_aggregates", "id, uuid", ((number, aggregate_uuid(number)) for number in numbers))
    store.load("resource_provider_aggregates", "resource_provider_id, aggregate_id", world.aggregates())
    store.load("projects", "id, external_id", [(1, PROJECT)])
    store.load("users", "id, external_id", [(1, USER)])
    held = list(zip(_consumer_uuids(0), _used(world.inventories()), strict=False))
    store.load(
        "consumers",
        "uuid, project_id, user_id, generation, created_at",
        ((uuid, 1, 1, 1, NOW) for uuid, _ in held),
    )
    store.load(
        "allocations",
        "consumer_id, resource_provider_id, resource_class_id, used, created_at",
        ((uuid, row_id, classes[name], used, NOW) for uuid, (row_id, name, _, used) in held),
    )
    store.analyze()


def _used(rows: Iterable[InventoryRow]) -> Iterator[InventoryRow]:
    return (row for row in rows if row[3])


def _consumer_uuids(before: int) -> Iterator[str]:
    random = Random(f"consumers after {before}")
    while True:
        yield random_uuid(random)


def ids_of_names(store: Store, world: World) -> tuple[dict[str, int], dict[str, int]]:
    """Ids of classes and traits, by name; those of the world that do not exist come into being."""
    result: list[dict[str, int]] = []
    for table, wanted in (("resource_classes", world.classes), ("traits", world.traits)):
        known = _ids(store, table)
        missing = [name for name in wanted if name not in known]
        # With ids: the original enters its own with ids too, and then PostgreSQL's sequence starts too low.
        store.load(
            table,
            "id, name, created_at",
            ((row_id, name, NOW) for row_id, name in enumerate(missing, max(known.values()) + 1)),
        )
        result.append(_ids(store, table))
    return result[0], result[1]


def _ids(store: Store, table: str) -> dict[str, int]:
    rows: list[Any] = store.rows(f"SELECT name, id FROM {table}")
    return {name: row_id for name, row_id in rows}
