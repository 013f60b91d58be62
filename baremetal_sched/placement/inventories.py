"""Inventories of providers: reading and writing them."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Inventory, ResourceClass
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Query
from baremetal_sched.errors.placement import (
    InventoryExists,
    InventoryInUse,
    InventoryInUseOnDelete,
    InventoryInvalid,
    InventoryNotFoundForDelete,
    MirrorsNode,
    NoInventoryRecord,
    OneInventoryInUse,
    ResourceClassNotFound,
    UnknownClassInInventory,
)
from baremetal_sched.placement import indivisible, names
from baremetal_sched.placement.locked import LockedProvider
from baremetal_sched.placement.provider_parts import INVENTORY_FIELDS
from baremetal_sched.placement.tables import INVENTORIES

#: Capacities are stored as integers; higher ratios make no difference.
_LARGEST_CAPACITY = 2**62

_OF_PROVIDER = INVENTORIES.c.provider_id == bindparam("provider")
_USED: Query = select(INVENTORIES.c.resource_class_id, INVENTORIES.c.used).where(_OF_PROVIDER)
_UPDATE = (
    update(INVENTORIES)
    .where(_OF_PROVIDER, INVENTORIES.c.resource_class_id == bindparam("class_id"))
    .values(updated_at=bindparam("now"))
)
_INSERT = insert(INVENTORIES).values(
    provider_id=bindparam("provider"),
    resource_class_id=bindparam("class_id"),
    used=0,
    created_at=bindparam("now"),
    updated_at=bindparam("now"),
)

_GENERATION_CONFLICT = "resource provider generation conflict"


@dataclass(frozen=True)
class InventoryValues:
    """An inventory as written by a client, with the API's defaults."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2147483647
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """int((total - reserved) * allocation_ratio)"""
        exact = (self.total - self.reserved) * self.allocation_ratio
        return int(max(-_LARGEST_CAPACITY, min(_LARGEST_CAPACITY, exact)))

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "InventoryValues":
        """Return the inventory in a document that fits the schema; other members are ignored."""
        # JSON's 5.0 is an integer, too.
        whole = {part: int(document[part]) for part in INVENTORY_FIELDS[:-1] if part in document}
        return cls(**whole, allocation_ratio=float(document.get("allocation_ratio", 1.0)))


def _check(stock: InventoryValues, resource_class: str, provider: str, *, doing: str, may_be_full: bool) -> None:
    """Raise InventoryInvalid if nothing could ever be allocated. ``may_be_full``: all of it may be reserved."""
    if stock.capacity < 0 or (stock.capacity == 0 and not may_be_full):
        than = "than total" if may_be_full else "than or equal to total"
        raise InventoryInvalid(
            doing=doing,
            provider=provider,
            reason=f"Invalid inventory for '{resource_class}' on resource provider '{provider}'. "
            f"The reserved value is greater {than}.",
        )


def add(
    session: Session, provider: LockedProvider, resource_class: str, stock: InventoryValues, *, may_be_full: bool
) -> None:
    """Add an inventory (POST). Raises InventoryInvalid, also for an unknown class, InventoryExists and MirrorsNode."""
    _check(stock, resource_class, provider.uuid, doing="create", may_be_full=may_be_full)
    _refuse_node(provider)
    try:
        class_id = names.class_id(session, resource_class)
    except ResourceClassNotFound as error:
        raise InventoryInvalid(doing="create", provider=provider.uuid, reason=str(error)) from None
    if class_id in used_by_class(session, provider.id):
        raise InventoryExists(resource_class=resource_class, provider=provider.uuid)
    _insert(session, provider.id, class_id, stock)
    count(session, provider)


def change(
    session: Session,
    provider: LockedProvider,
    resource_class: str,
    stock: InventoryValues,
    generation: int,
    *,
    may_be_full: bool,
) -> None:
    """Change one inventory (PUT). Raises GenerationConflict, InventoryInvalid, ResourceClassNotFound,
    NoInventoryRecord, MirrorsNode."""
    if says_the_same(session, provider, {resource_class: stock}):
        return
    provider.require_generation(generation, _GENERATION_CONFLICT)
    _check(stock, resource_class, provider.uuid, doing="update", may_be_full=may_be_full)
    class_id = names.class_id(session, resource_class)
    if class_id not in used_by_class(session, provider.id):
        raise NoInventoryRecord(provider=provider.uuid, resource_class=resource_class)
    if provider.mirrors_node:
        _require_similar(session, provider, {class_id: stock})
        return
    put(session, provider.id, class_id, stock, exists=True)
    count(session, provider)


def replace(
    session: Session,
    provider: LockedProvider,
    stocks: Mapping[str, InventoryValues],
    generation: int,
    *,
    may_be_full: bool,
) -> dict[str, InventoryValues] | None:
    """Replace all inventories of the provider with ``stocks`` (PUT of the set). Return them ordered by class, as they
    are listed; None if the node has a say in them, so that they must be read.

    Raises GenerationConflict, InventoryInvalid, UnknownClassInInventory, MirrorsNode, and InventoryInUse for a removed
    class with allocations.
    """
    if says_the_same(session, provider, stocks):
        return None
    provider.require_generation(generation, _GENERATION_CONFLICT)
    for name, stock in stocks.items():
        _check(stock, name, provider.uuid, doing="update", may_be_full=may_be_full)
    ids = names.ids_of(session, ResourceClass, stocks)
    for name in stocks:
        if name not in ids:
            raise UnknownClassInInventory(provider=provider.uuid, resource_class=name)
    set_exactly(session, provider, {ids[name]: stock for name, stock in stocks.items()})
    if provider.mirrors_node:
        return None
    count(session, provider)
    return {name: stocks[name] for name in sorted(ids, key=ids.__getitem__)}


def set_exactly(session: Session, provider: LockedProvider, stocks: Mapping[int, InventoryValues]) -> None:
    """Replace all inventories of the provider with ``stocks``, by class id. Raises InventoryInUse.

    The provider of a node keeps its inventory. Raises MirrorsNode if ``stocks`` differ in more than ``reserved``.
    """
    if provider.mirrors_node:
        _require_similar(session, provider, stocks)
        return
    used = used_by_class(session, provider.id)
    surplus = used.keys() - stocks.keys()
    in_use = [class_id for class_id in surplus if used[class_id]]
    if in_use:
        raise InventoryInUse(resource_classes=_names(session, in_use), provider=provider.uuid)
    _delete(session, provider.id, surplus)
    for class_id, stock in stocks.items():
        put(session, provider.id, class_id, stock, exists=class_id in used)


def put(session: Session, provider_id: int, class_id: int, stock: InventoryValues, *, exists: bool) -> None:
    """Write one inventory."""
    if exists:
        compiled.change(session.connection(), _UPDATE, _values(provider_id, class_id, stock))
    else:
        _insert(session, provider_id, class_id, stock)


def remove_one(session: Session, provider: LockedProvider, resource_class: str) -> None:
    """Delete one inventory. Raises InventoryNotFoundForDelete, MirrorsNode, OneInventoryInUse."""
    used = used_by_class(session, provider.id)
    try:
        class_id = names.class_id(session, resource_class)
    except ResourceClassNotFound as error:
        raise InventoryNotFoundForDelete(resource_class=resource_class, reason=str(error)) from None
    if class_id not in used:
        raise InventoryNotFoundForDelete(
            resource_class=resource_class, reason=f"No inventory of class {resource_class} found for delete"
        )
    _refuse_node(provider)
    if used[class_id]:
        raise OneInventoryInUse(resource_class=resource_class, provider=provider.uuid)
    _delete(session, provider.id, [class_id])
    count(session, provider)


def remove_all(session: Session, provider: LockedProvider) -> None:
    """Delete all inventories. Raises MirrorsNode, InventoryInUseOnDelete."""
    used = used_by_class(session, provider.id)
    if used:
        _refuse_node(provider)
    in_use = [class_id for class_id, amount in used.items() if amount]
    if in_use:
        raise InventoryInUseOnDelete(resource_classes=_names(session, in_use), provider=provider.uuid)
    _delete(session, provider.id, used)
    count(session, provider)


def says_the_same(session: Session, provider: LockedProvider, stocks: Mapping[str, InventoryValues]) -> bool:
    """Return whether the provider mirrors a node and its inventory equals ``stocks``, by class name.

    A write of equal inventories changes nothing, so the client's generation does not matter.
    """
    if not provider.mirrors_node:
        return False
    ids = names.ids_of(session, ResourceClass, stocks)
    return len(ids) == len(stocks) and {ids[name]: stock for name, stock in stocks.items()} == _own(session, provider)


def _own(session: Session, provider: LockedProvider) -> dict[int, InventoryValues]:
    """Return the inventory that the node gives its provider, by class id. Other inventories may exist, but cannot be
    claimed."""
    parts = [getattr(Inventory, part) for part in INVENTORY_FIELDS]
    row = session.execute(
        select(*parts).where(
            Inventory.provider_id == provider.id, Inventory.resource_class_id == provider.mirrored_class_id
        )
    ).first()
    return {} if row is None or not provider.mirrored_class_id else {provider.mirrored_class_id: InventoryValues(*row)}


def _require_similar(session: Session, provider: LockedProvider, stocks: Mapping[int, InventoryValues]) -> None:
    """Raise MirrorsNode if ``stocks`` differ from the node's inventory in more than ``reserved``."""

    def unreserved(some: Mapping[int, InventoryValues]) -> dict[int, InventoryValues]:
        return {class_id: dataclasses.replace(stock, reserved=0) for class_id, stock in some.items()}

    if unreserved(stocks) != unreserved(_own(session, provider)):
        _refuse_node(provider)


def _refuse_node(provider: LockedProvider) -> None:
    if provider.mirrors_node:
        raise MirrorsNode(provider=provider.uuid, what="inventories")


def count(session: Session, provider: LockedProvider) -> None:
    """Increment the generation after a change of inventories. New inventories in an indivisible tree may have to be
    withheld."""
    provider.bump(session)
    if provider.indivisible:
        indivisible.settle(session, provider.root_id)


def used_by_class(session: Session, provider_id: int) -> dict[int, int]:
    """Return the used amounts of the provider's inventories, by class id."""
    return dict(compiled.run(session.connection(), _USED, {"provider": provider_id}).all())


def _names(session: Session, class_ids: Iterable[int]) -> str:
    """Return the names of the classes, ordered by id: the standard order."""
    query = select(ResourceClass.name).where(ResourceClass.id.in_(class_ids)).order_by(ResourceClass.id)
    return ", ".join(session.scalars(query))


def _values(provider_id: int, class_id: int, stock: InventoryValues) -> dict[str, Any]:
    parts = {part: getattr(stock, part) for part in (*INVENTORY_FIELDS, "capacity")}
    return {"provider": provider_id, "class_id": class_id, "now": utcnow(), **parts}


def _insert(session: Session, provider_id: int, class_id: int, stock: InventoryValues) -> None:
    compiled.change(session.connection(), _INSERT, _values(provider_id, class_id, stock))


def _delete(session: Session, provider_id: int, class_ids: Iterable[int]) -> None:
    wanted = list(class_ids)
    if not wanted:
        return
    # A claim may be made between the check and this: then fewer rows are deleted than expected.
    deleted = session.execute(
        delete(Inventory).where(
            Inventory.provider_id == provider_id, Inventory.resource_class_id.in_(wanted), Inventory.used == 0
        )
    )
    if rows_changed(deleted) != len(wanted):
        raise StaleDataError("what was to be removed was claimed")
