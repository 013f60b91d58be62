"""Resource providers that mirror something else: given exactly one inventory and a set of traits.

Called by the owner of the data (``baremetal.provider.projection``), within its transaction.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Integer, and_, bindparam, delete, insert, null, select, type_coerce, update
from sqlalchemy.orm import Session

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.json_text import arrays
from baremetal_sched.db.models import (
    Allocation,
    Consumer,
    Inventory,
    ResourceProvider,
)
from baremetal_sched.db.results import require_changed
from baremetal_sched.db.sql_functions import concat
from baremetal_sched.db.types import Query
from baremetal_sched.errors.placement import InventoryInUse
from baremetal_sched.placement import allocations, indivisible, names, trait_ids, tree
from baremetal_sched.placement.names import is_scheduler_trait
from baremetal_sched.placement.tables import CLASSES, INVENTORIES, PROVIDER_TRAITS, PROVIDERS, TRAITS


class Copies(NamedTuple):
    """The columns of the mirrored node that its inventory repeats, only for counting: columns of ``inventories``."""

    node_class: str
    node_group: str
    node_state: str | None


#: The columns of the provider that follow from what it mirrors.
_MARKS = ("mirrored_class_id", "withheld", "closes_at")

# Created once: creating a statement takes longer than running it. An UPDATE sets the columns that it is given.
_LOCK = select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == bindparam("provider")).with_for_update()
_MARK = update(PROVIDERS).where(PROVIDERS.c.id == bindparam("provider"))
_CHANGE = _MARK.values(generation=PROVIDERS.c.generation + 1)
_ADD = insert(INVENTORIES)
_STORE = update(INVENTORIES).where(
    INVENTORIES.c.provider_id == bindparam("provider"), INVENTORIES.c.resource_class_id == bindparam("class_id")
)
#: Besides, when the machine can be claimed changes: see ``calendars``.
_STORE_AND_TURN = _STORE.values(calendar=INVENTORIES.c.calendar + 1)
_ADD_TRAITS = insert(PROVIDER_TRAITS)
_REMOVE_TRAITS = delete(PROVIDER_TRAITS).where(
    PROVIDER_TRAITS.c.provider_id == bindparam("provider"),
    PROVIDER_TRAITS.c.trait_id.in_(bindparam("traits", expanding=True)),
)


@dataclass(frozen=True)
class SingleUnit:
    """An inventory of one indivisible unit of ``resource_class``: total 1, and reserved unless it is available.

    ``closes_at``: from when it cannot be claimed in any case, in seconds since 1970; None: never.
    """

    resource_class: str
    reserved: bool
    copies: Copies
    closes_at: float | None = None


def sync_provider(session: Session, uuid: str, unit: SingleUnit | None, reading: Query) -> list[str]:
    """Give provider ``uuid`` exactly ``unit`` (None: no inventory) and the traits that ``reading``, a statement of
    ``reading_with``, finds; create it if necessary.

    It is a root, and a new one has its UUID as its name. Traits of schedulers (Nova) are kept. Returns
    descriptions of the changes; the provider's generation is incremented if there are any. Raises InventoryInUse if its
    previous class must be removed but has allocations, DuplicateProvider if the name of a new provider is taken.
    """
    changes = []
    provider = _read(session, uuid, reading)
    is_new = provider is None
    if provider is None:
        tree.create(session, uuid, name=uuid)
        changes.append("provider created")
        provider = _read(session, uuid, reading)
    elif provider.root_id != provider.id:
        tree.make_root(session, provider.id, uuid)
        changes.append("provider made a root")
        provider = _read(session, uuid, reading)
    present, stocks = _present(provider)
    class_id, changes_of_inventory = _sync_inventory(session, provider, uuid, unit, stocks)
    traits = frozenset(name for (name,) in orjson.loads(provider.wanted or "[]"))
    ids, changes_of_traits = _sync_traits(session, provider, traits, present)
    changes += changes_of_inventory + changes_of_traits
    closes_at = unit.closes_at if unit else None
    marks = {"mirrored_class_id": class_id, "withheld": unit is None or unit.reserved, "closes_at": closes_at}
    if changes:
        values = {"trait_ids": trait_ids.text_of(ids), "updated_at": utcnow(), **marks}
        compiled.change(session.connection(), _CHANGE, {"provider": provider.id, **values})
    elif _marks_of(provider) != marks:
        compiled.change(session.connection(), _MARK, {"provider": provider.id, **marks})
    becomes_mirror = provider.mirrored_class_id is None and not is_new
    if becomes_mirror or (provider.indivisible and (changes_of_inventory or _marks_of(provider) != marks)):
        indivisible.settle(session, provider.id)
    return changes


def unreserve(session: Session, uuid: str, unit: SingleUnit) -> None:
    """Make the unit of provider ``uuid`` available until the next ``sync_provider``: until then it can be claimed."""
    provider = _read(session, uuid, _READING)
    _, stocks = _present(provider)
    offered = replace(unit, reserved=False, closes_at=None)
    class_id, _ = _sync_inventory(session, provider, uuid, offered, stocks)
    marks = {"mirrored_class_id": class_id, "withheld": False, "closes_at": None}
    compiled.change(session.connection(), _MARK, {"provider": provider.id, **marks})
    if provider.indivisible:
        indivisible.settle(session, provider.id)


def _marks_of(provider: Any) -> dict[str, Any]:
    return {name: getattr(provider, name) for name in _MARKS}


def consumers_of(session: Session, uuid: str) -> list[str]:
    """Return the UUIDs of the consumers with allocations from provider ``uuid``."""
    return list(
        session.scalars(
            select(Consumer.uuid)
            .distinct()
            .join(Allocation, Allocation.consumer_id == Consumer.id)
            .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
            .where(ResourceProvider.uuid == uuid)
        )
    )


def lock(session: Session, uuid: str) -> None:
    """Lock provider ``uuid``, if it exists, until the transaction ends: others neither claim nor change it."""
    session.execute(_LOCK, {"provider": uuid})


def remove(session: Session, uuid: str, *, force: bool) -> None:
    """Delete provider ``uuid`` with its associations; with ``force`` also with the allocations from it.

    Raises ProviderHasChildren; StaleDataError if something of it is in use, unless ``force``.
    """
    provider = session.execute(_LOCK, {"provider": uuid}).first()
    if provider is None:
        return
    tree.require_childless(session, provider.id, uuid)
    if force:
        allocations.remove_from(session.connection(), provider.id)
    tree.erase(session, provider.id, force=force)


@dataclass(frozen=True)
class _Stock:
    """A stored inventory: its class, its numbers in the order of ``_NUMBERS``, the used amount, whether it is withheld;
    of the mirrored class also when it closes, and its copies."""

    class_id: int
    numbers: Sequence[float]
    used: int
    withheld: bool
    closes_at: float | None
    copies: Copies | None


_STOCK = INVENTORIES.c
#: The inventory of the mirrored class.
_OWN = INVENTORIES.alias("own")
_NUMBERS = (
    *(_STOCK.total, _STOCK.reserved, _STOCK.min_unit, _STOCK.max_unit, _STOCK.step_size, _STOCK.allocation_ratio),
)


def _json(name: ColumnElement[str]) -> ColumnElement[str]:
    """Return the name of a trait or class as JSON, which escapes none of its characters."""
    return concat('"', name, '"')


#: The same row without its lock: as it was when the statement began.
_BEFORE = PROVIDERS.alias("before")


def reading_with(traits: ColumnElement[Any]) -> Query:
    """Return the statement with which ``sync_provider`` locks and reads a provider, whose UUID is the parameter
    ``provider``; for each such statement there is one object. ``traits``: the names of the traits that it is to have,
    an expression like ``arrays``.

    SELECT p.…, <traits>, (SELECT (name, id of all) FROM traits JOIN provider_traits … WHERE provider_id = p.id),
    (SELECT (name, resource_class_id, used, withheld, total, … of all) FROM inventories …),
    own.resource_class_id, own.closes_at, own.node_class, …, (SELECT generation FROM resource_providers WHERE id = p.id)
    FROM resource_providers p LEFT JOIN inventories own ON … AND own.resource_class_id = p.mirrored_class_id
    WHERE p.uuid = :provider FOR UPDATE OF p
    """
    is_own = and_(_OWN.c.provider_id == PROVIDERS.c.id, _OWN.c.resource_class_id == PROVIDERS.c.mirrored_class_id)
    present = select(arrays(_json(TRAITS.c.name), TRAITS.c.id)).join_from(
        TRAITS, PROVIDER_TRAITS, PROVIDER_TRAITS.c.trait_id == TRAITS.c.id
    )
    stocks = select(
        arrays(_json(CLASSES.c.name), _STOCK.resource_class_id, _STOCK.used, _STOCK.withheld, *_NUMBERS)
    ).join_from(INVENTORIES, CLASSES, CLASSES.c.id == INVENTORIES.c.resource_class_id)
    return (
        select(
            *(PROVIDERS.c[name] for name in ("id", "root_id", "mirrored_class_id", "closes_at", "generation")),
            # The driver's value, which is true or false either way.
            *(type_coerce(PROVIDERS.c[name], Integer).label(name) for name in ("withheld", "indivisible")),
            traits.label("wanted"),
            present.where(PROVIDER_TRAITS.c.provider_id == PROVIDERS.c.id).scalar_subquery().label("traits"),
            stocks.where(INVENTORIES.c.provider_id == PROVIDERS.c.id).scalar_subquery().label("stocks"),
            _OWN.c.resource_class_id.label("own_class_id"),
            _OWN.c.closes_at.label("own_closes_at"),
            *(_OWN.c[name] for name in Copies._fields),
            select(_BEFORE.c.generation).where(_BEFORE.c.id == PROVIDERS.c.id).scalar_subquery().label("seen"),
        )
        .select_from(PROVIDERS.outerjoin(_OWN, is_own))
        .where(PROVIDERS.c.uuid == bindparam("provider"))
        .with_for_update(of=PROVIDERS)
    )


_READING = reading_with(null())


def _read(session: Session, uuid: str, reading: Query) -> Any:
    """Lock and read a provider; None if it does not exist.

    If the statement waited for the lock, PostgreSQL has the new row of the provider beside older traits and inventories
    (seen on 15). Changes of these increment the generation, except what an indivisible tree changes.
    """
    connection = session.connection()
    provider = compiled.run(connection, reading, {"provider": uuid}).first()
    if provider is not None and (provider.indivisible or provider.generation != provider.seen):
        provider = compiled.run(connection, reading, {"provider": uuid}).first()
    return provider


def _present(provider: Any) -> tuple[dict[str, int], dict[str, _Stock]]:
    """Return the ids of the provider's traits, and its inventories, by name."""
    copies = Copies(*(getattr(provider, name) for name in Copies._fields))
    own = (provider.own_closes_at, copies)
    stocks = {
        name: _Stock(
            class_id, numbers, used, bool(withheld), *(own if class_id == provider.own_class_id else (None, None))
        )
        for name, class_id, used, withheld, *numbers in orjson.loads(provider.stocks or "[]")
    }
    return dict(orjson.loads(provider.traits or "[]")), stocks


def _sync_inventory(
    session: Session, provider: Any, uuid: str, unit: SingleUnit | None, found: Mapping[str, _Stock]
) -> tuple[int, list[str]]:
    """Return the id of the class of ``unit`` (0 for none), and descriptions of the changes."""
    changes = []
    wanted = unit.resource_class if unit else None
    for name, stock in found.items():
        if name == wanted:
            continue
        if not stock.used:
            _remove(session, provider.id, stock)
            changes.append(f"inventory of {name} removed")
        elif provider.mirrored_class_id in (None, stock.class_id):
            raise InventoryInUse(resource_classes=name, provider=uuid)
        elif not stock.withheld:
            # Existing allocations remain until they are released, but no more can be made.
            _store(session, provider.id, stock.class_id, {"withheld": 1, **dict.fromkeys(Copies._fields)})
            changes.append(f"inventory of {name} withheld")
    if unit is None:
        return 0, changes
    class_id, changes_of_unit = _sync_unit(session, provider, unit, found.get(unit.resource_class))
    return class_id, changes + changes_of_unit


def _remove(session: Session, provider_id: int, stock: _Stock) -> None:
    removed = delete(Inventory).where(
        Inventory.provider_id == provider_id,
        Inventory.resource_class_id == stock.class_id,
        Inventory.used == 0,
    )
    require_changed(session.execute(removed), "what was to be removed was claimed")


def _store(
    session: Session, provider_id: int, class_id: int, values: Mapping[str, Any], *, turns: bool = False
) -> None:
    statement = _STORE_AND_TURN if turns else _STORE
    compiled.change(session.connection(), statement, {"provider": provider_id, "class_id": class_id, **values})


def _sync_unit(session: Session, provider: Any, unit: SingleUnit, found: _Stock | None) -> tuple[int, list[str]]:
    reserved = int(unit.reserved)
    hidden = {"closes_at": unit.closes_at, **unit.copies._asdict()}  # what clients of placement do not see
    values = {
        "total": 1,
        "reserved": reserved,
        "min_unit": 1,
        "max_unit": 1,
        "step_size": 1,
        "allocation_ratio": 1.0,
        "capacity": 1 - reserved,
        **hidden,
    }
    if found is None:
        class_id = names.ensure_class(session, unit.resource_class)
        row = {"provider_id": provider.id, "resource_class_id": class_id, "used": 0, "created_at": utcnow(), **values}
        compiled.change(session.connection(), _ADD, row)
        return class_id, [f"inventory of {unit.resource_class} added"]
    turns = found.closes_at != unit.closes_at
    if [*found.numbers] == [1, reserved, 1, 1, 1, 1] and found.withheld <= provider.indivisible:
        if turns or found.copies != unit.copies:
            _store(session, provider.id, found.class_id, hidden, turns=turns)
        return found.class_id, []
    withheld = int(found.withheld and provider.indivisible)
    values |= {"updated_at": utcnow(), "withheld": withheld}
    _store(session, provider.id, found.class_id, values, turns=turns)
    return found.class_id, [f"inventory of {unit.resource_class} {'reserved' if reserved else 'offered'}"]


def _sync_traits(
    session: Session, provider: Any, traits: Set[str], present: Mapping[str, int]
) -> tuple[Collection[int], list[str]]:
    """Return the ids of the provider's traits, and descriptions of the changes."""
    follows = provider.mirrored_class_id is None  # it mirrored nothing before: all of its traits come from the node
    missing = [name for name in traits - present.keys() if follows or not is_scheduler_trait(name)]
    surplus = [name for name in present.keys() - traits if not is_scheduler_trait(name)]
    if surplus:
        session.execute(_REMOVE_TRAITS, {"provider": provider.id, "traits": [present[name] for name in surplus]})
    ids = {trait_id for name, trait_id in present.items() if name not in surplus}
    if missing:
        added = set(names.traits_to_give(session, missing).values())
        session.execute(_ADD_TRAITS, [{"provider_id": provider.id, "trait_id": trait_id} for trait_id in added])
        ids |= added
    words = [f"trait {name} added" for name in sorted(missing)] + [f"trait {name} removed" for name in sorted(surplus)]
    return ids, words
