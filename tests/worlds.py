"""Worlds of providers for tests of candidates, written straight into the tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sqlalchemy import insert, update
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Aggregate, Inventory, ProviderAggregate, ProviderTrait, ResourceProvider
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.names import ensure_class, ensure_traits

SHARES = "MISC_SHARES_VIA_AGGREGATE"
INT32 = 2147483647


def uuid_of(name: str) -> str:
    """The UUID of the provider or aggregate that tests call so."""
    return str(uuid5(NAMESPACE_OID, name))


@dataclass(frozen=True)
class Stock:
    """The inventory of a provider of a class."""

    total: int
    used: int = 0
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = INT32
    step_size: int = 1
    ratio: float = 1.0

    @property
    def capacity(self) -> int:
        return int((self.total - self.reserved) * self.ratio)


@dataclass(frozen=True)
class Spec:
    """A provider."""

    name: str
    parent: str | None = None
    has: Mapping[str, Stock] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


def spec(name: str, parent: str | None = None, traits: str = "", aggregates: str = "", **has: int | Stock) -> Spec:
    """``spec("cell", "host", VCPU=4)``: names of traits and aggregates are separated by blanks."""
    stocks = {key: value if isinstance(value, Stock) else Stock(value) for key, value in has.items()}
    return Spec(name, parent, stocks, frozenset(traits.split()), frozenset(aggregates.split()))


def build(session: Session, specs: Iterable[Spec]) -> dict[str, int]:
    """Insert the providers, with ids in this order; returns their ids by name."""
    now, specs = utcnow(), list(specs)
    aggregates = {name: i for i, name in enumerate(sorted({name for one in specs for name in one.aggregates}), 1)}
    classes = {name: ensure_class(session, name) for name in sorted({name for one in specs for name in one.has})}
    traits = ensure_traits(session, sorted({name for one in specs for name in one.traits}))
    ids: dict[str, int] = {}
    for one in specs:
        values = {"uuid": uuid_of(one.name), "name": one.name, "generation": 0, "created_at": now}
        values["trait_ids"] = trait_ids.text_of({traits[name] for name in one.traits})
        row = session.execute(insert(ResourceProvider).values(**values))
        assert row.inserted_primary_key is not None
        ids[one.name] = row.inserted_primary_key[0]
    parents = {one.name: one.parent for one in specs}
    for name, parent in parents.items():
        place = {"parent_id": ids[parent] if parent else None, "root_id": ids[_root(parents, name)]}
        session.execute(update(ResourceProvider).where(ResourceProvider.id == ids[name]).values(place))
    rows = [{"id": i, "uuid": uuid_of(name), "created_at": now} for name, i in aggregates.items()]
    _insert(session, Aggregate, rows)
    members = [(ids[one.name], aggregates[name]) for one in specs for name in one.aggregates]
    _insert(session, ProviderAggregate, [{"provider_id": row, "aggregate_id": other} for row, other in members])
    marks = [(ids[one.name], traits[name]) for one in specs for name in one.traits]
    _insert(session, ProviderTrait, [{"provider_id": row, "trait_id": other} for row, other in marks])
    _insert(session, Inventory, [_row(ids[one.name], classes[k], v) for one in specs for k, v in one.has.items()])
    return ids


def _root(parents: Mapping[str, str | None], name: str) -> str:
    parent = parents[name]
    return name if parent is None else _root(parents, parent)


def _row(provider_id: int, class_id: int, stock: Stock) -> dict[str, Any]:
    return {
        "provider_id": provider_id,
        "resource_class_id": class_id,
        "total": stock.total,
        "reserved": stock.reserved,
        "min_unit": stock.min_unit,
        "max_unit": stock.max_unit,
        "step_size": stock.step_size,
        "allocation_ratio": stock.ratio,
        "capacity": stock.capacity,
        "used": stock.used,
        "created_at": utcnow(),
    }


def _insert(session: Session, model: type[Any], rows: list[dict[str, Any]]) -> None:
    if rows:
        session.execute(insert(model), rows)
