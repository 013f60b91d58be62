"""Inventories in claims: constraints, free capacity, and booking."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, case, select, update
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.types import Writer, connection_of
from baremetal_sched.errors.placement import (
    CapacityExceeded,
    InvalidInventory,
    InventoryConstraint,
    UnknownClassInAllocation,
    UnknownProvider,
)
from baremetal_sched.placement import gate
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.tables import CLASSES, INVENTORIES, PROVIDERS, is_open, take

#: Columns needed for every claim, created once: creating a statement takes longer than running it.
_FIND = (
    select(
        PROVIDERS.c.uuid,
        CLASSES.c.name,
        INVENTORIES.c.provider_id,
        INVENTORIES.c.resource_class_id,
        INVENTORIES.c.min_unit,
        INVENTORIES.c.max_unit,
        INVENTORIES.c.step_size,
        case((is_open(INVENTORIES), INVENTORIES.c.free), else_=0).label("free"),
        (INVENTORIES.c.capacity - INVENTORIES.c.used).label("left"),
        PROVIDERS.c.root_id,
        PROVIDERS.c.indivisible,
        PROVIDERS.c.mirrored_class_id,
    )
    .join_from(INVENTORIES, PROVIDERS, PROVIDERS.c.id == INVENTORIES.c.provider_id)
    .join(CLASSES, CLASSES.c.id == INVENTORIES.c.resource_class_id)
    .where(
        PROVIDERS.c.uuid.in_(bindparam("uuids", expanding=True)),
        CLASSES.c.name.in_(bindparam("names", expanding=True)),
    )
)
_GIVE_BACK = (
    update(INVENTORIES)
    .where(INVENTORIES.c.provider_id == bindparam("provider"), INVENTORIES.c.resource_class_id == bindparam("class_id"))
    .values(used=INVENTORIES.c.used + bindparam("growth"))
)
_TAKE_OPENED = _GIVE_BACK.where(INVENTORIES.c.free >= bindparam("growth"))
_TAKE = _TAKE_OPENED.where(is_open(INVENTORIES))
#: For newcomers, by whether the machine is closed to others.
_UNWANTED = {True: _TAKE_OPENED.where(gate.IS_UNWANTED_OPENED), False: _TAKE.where(gate.IS_UNWANTED)}
#: For the holder of a tree: its inventories are withheld from others.
_TAKE_WITHHELD = _GIVE_BACK.where(INVENTORIES.c.capacity - INVENTORIES.c.used >= bindparam("growth"))


@dataclass
class InventoryLookup:
    """The providers and classes in requests, by UUID and name, and their inventories, by both ids."""

    providers: dict[str, int] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    rows: dict[tuple[int, int], Any] = field(default_factory=dict)


def find(writer: Writer, requests: Sequence[ConsumerWrite], unknown_class: str) -> InventoryLookup:
    """Return the inventories that the requests allocate from. Raises UnknownProvider, UnknownClassInAllocation.

    SELECT … FROM inventories i JOIN resource_providers p … JOIN resource_classes c …
    WHERE p.uuid IN (…) AND c.name IN (…): one statement where everything exists, which is nearly always.
    """
    uuids = _uuids(requests)
    wanted = {name for request in requests for amounts in request.allocations.values() for name in amounts}
    stocks = InventoryLookup()
    if not uuids:
        return stocks
    for row in writer.execute(_FIND, {"uuids": uuids, "names": sorted(wanted)}):
        stocks.providers[row.uuid] = row.provider_id
        stocks.classes[row.name] = row.resource_class_id
        # From a node only its own class can be claimed, whatever else its provider may have.
        if row.mirrored_class_id in (None, row.resource_class_id):
            stocks.rows[row.provider_id, row.resource_class_id] = row
    if len(stocks.providers) < len(uuids):
        _find_providers(writer, stocks, uuids)
    if len(stocks.classes) < len(wanted):
        _find_classes(writer, stocks, requests, unknown_class)
    stocks.providers = {uuid: stocks.providers[uuid] for uuid in uuids}
    return stocks


def require_providers(writer: Writer, requests: Sequence[ConsumerWrite]) -> None:
    """Raise UnknownProvider if the requests name a provider that does not exist."""
    _find_providers(writer, InventoryLookup(), _uuids(requests))


def _uuids(requests: Sequence[ConsumerWrite]) -> list[str]:
    return list(dict.fromkeys(uuid for request in requests for uuid in request.allocations))


def _find_providers(writer: Writer, stocks: InventoryLookup, uuids: Sequence[str]) -> None:
    rows = writer.execute(select(PROVIDERS.c.uuid, PROVIDERS.c.id).where(PROVIDERS.c.uuid.in_(uuids)))
    stocks.providers.update({uuid: provider_id for uuid, provider_id in rows})
    for uuid in uuids:
        if uuid not in stocks.providers:
            raise UnknownProvider(provider=uuid)


def _find_classes(
    writer: Writer, stocks: InventoryLookup, requests: Sequence[ConsumerWrite], unknown_class: str
) -> None:
    for request in requests:
        wanted = {name for amounts in request.allocations.values() for name in amounts}
        if missing := wanted - stocks.classes.keys():
            rows = writer.execute(select(CLASSES.c.name, CLASSES.c.id).where(CLASSES.c.name.in_(missing)))
            stocks.classes.update({name: class_id for name, class_id in rows})
        unknown = sorted(wanted - stocks.classes.keys())
        if unknown:
            raise UnknownClassInAllocation(
                where=unknown_class.format(consumer=request.uuid), resource_class=", ".join(unknown)
            )


def check(
    stocks: InventoryLookup,
    requests: Sequence[ConsumerWrite],
    held: Mapping[tuple[int, int], int],
    opened: Collection[int] = (),
) -> None:
    """Check every amount against its inventory: it must exist, allow the amount, and have enough capacity left.

    ``held`` is what the consumers give back, by provider id and class id. Machines that are ``opened`` (ids of
    providers) may be closed to others. Amounts add up in the order of the requests, which determines the reported
    error. Raises InvalidInventory, InventoryConstraint, CapacityExceeded.
    """
    stocked = {provider_id for provider_id, _ in stocks.rows}
    missing = [uuid for uuid, provider_id in stocks.providers.items() if provider_id not in stocked]
    if missing:
        raise InvalidInventory(resource_classes=", ".join(sorted(stocks.classes)), providers=", ".join(missing))
    growth = {key: -amount for key, amount in held.items()}
    for request in requests:
        for provider, amounts in request.allocations.items():
            for name, amount in amounts.items():
                key = (stocks.providers[provider], stocks.classes[name])
                if key not in stocks.rows:
                    raise InvalidInventory(resource_classes=name, providers=provider)
                growth[key] = growth.get(key, 0) + amount
                _check_amount(stocks.rows[key], amount, growth[key], name, provider, is_opened=key[0] in opened)


def _check_amount(row: Any, amount: int, growth: int, resource_class: str, provider: str, *, is_opened: bool) -> None:
    if not row.min_unit <= amount <= row.max_unit or amount % row.step_size:
        raise InventoryConstraint(resource_class=resource_class, provider=provider)
    # A consumer that is over capacity already may still shrink. Indivisible trees are checked separately.
    if growth > 0 and growth > (row.left if row.indivisible or is_opened else row.free):
        raise CapacityExceeded(resource_class=resource_class, provider=provider, why="")


def move(
    writer: Writer,
    growth: Mapping[tuple[int, int], int],
    own: Collection[int] = (),
    opened: Collection[int] = (),
) -> None:
    """Book the amounts. The UPDATE itself checks the capacity, because earlier reads may be outdated.

    ``own`` are the ids of providers in indivisible trees held by the consumer; those of machines that are ``opened``
    may be closed to others. Raises StaleDataError if another claim was faster, WaitedFor if a request waits for a
    machine among them.

    UPDATE inventories SET used = used + :growth WHERE … AND (:growth <= 0 OR free >= :growth AND <it is open>
    AND <no request waits for the class>)
    """
    connection = connection_of(writer)
    for key in sorted(growth):
        amount = growth[key]
        if not amount:
            continue
        given = {"provider": key[0], "class_id": key[1], "growth": amount}
        if amount > 0 and key[0] not in own:
            changed = _take(connection, given, is_opened=key[0] in opened)
        else:
            statement = _TAKE_WITHHELD if amount > 0 else _GIVE_BACK
            changed = rows_changed(compiled.change(connection, statement, given)) > 0
        if not changed:
            gate.require_unwanted(connection, {each for (each, _), more in growth.items() if more > 0})
            raise StaleDataError("another claim was faster")


def _take(connection: Connection, given: Mapping[str, Any], *, is_opened: bool) -> bool:
    """Book an amount of a provider that is in no tree of the consumer; return whether that succeeded."""
    is_newcomer = gate.is_newcomer(connection, given["provider"])
    if is_opened:
        statement = _UNWANTED[True] if is_newcomer else _TAKE_OPENED
        return rows_changed(compiled.change(connection, statement, given)) > 0
    return take(connection, _UNWANTED[False] if is_newcomer else _TAKE, INVENTORIES, given)
