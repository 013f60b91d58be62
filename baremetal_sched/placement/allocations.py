"""Allocations: who holds what. Writing them is a claim, all or nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Allocation, Consumer, Inventory, ResourceClass, ResourceProvider
from baremetal_sched.db.types import Rows
from baremetal_sched.errors import (
    CapacityExceeded,
    ConsumerConflict,
    InvalidInventory,
    InventoryConstraint,
    NoAllocations,
    UnknownClassForConsumer,
    UnknownProvider,
)
from baremetal_sched.placement import names


class Unset(Enum):
    """What an older client does not say."""

    ANY_GENERATION = "the consumer's generation is not checked"
    KEEP_TYPE = "the consumer's type stays as it is"


@dataclass
class ConsumerWrite:
    """What a consumer is to hold from now on: amounts by class by provider (UUID). Nothing frees it."""

    uuid: str
    allocations: Mapping[str, Mapping[str, int]]
    project_id: str
    user_id: str
    generation: int | Unset | None = Unset.ANY_GENERATION
    consumer_type: str | Unset = Unset.KEEP_TYPE


@dataclass
class _Stock:
    """An inventory that a write touches."""

    provider: str
    resource_class: str
    row: Any


#: Amounts by provider id and class id.
_Amounts = dict[tuple[int, int], int]


def write(session: Session, request: ConsumerWrite) -> None:
    """Replace what the consumer holds, in the order of checks that Placement has.

    Raises ConsumerConflict, UnknownProvider, UnknownClassForConsumer, InvalidInventory, InventoryConstraint and
    CapacityExceeded. Whoever loses a race against another claim raises StaleDataError, and the edge runs it again.
    """
    consumer = session.execute(
        select(Consumer.id, Consumer.generation).where(Consumer.uuid == request.uuid).with_for_update()
    ).first()
    _check_generation(request, consumer)
    providers = _provider_ids(session, request.allocations)
    classes = _class_ids(session, request)
    wanted = {
        (providers[provider], classes[name]): amount
        for provider, amounts in request.allocations.items()
        for name, amount in amounts.items()
    }
    held = _held(session, consumer.id) if consumer else {}
    _check_stock(session, wanted, held, request, providers)
    # Providers first, then inventories, each in the order of their ids: the same order everywhere, so few deadlocks.
    _bump_providers(session, {provider for provider, _ in wanted} or {provider for provider, _ in held})
    _move(session, wanted, held)
    if consumer is not None and held:
        session.execute(delete(Allocation).where(Allocation.consumer_id == consumer.id))
    if not wanted:
        if consumer is not None:
            session.execute(delete(Consumer).where(Consumer.id == consumer.id))
        return
    consumer_id = _save_consumer(session, request, consumer)
    session.execute(
        insert(Allocation),
        [
            {
                "consumer_id": consumer_id,
                "provider_id": provider_id,
                "resource_class_id": class_id,
                "used": amount,
                "created_at": utcnow(),
            }
            for (provider_id, class_id), amount in wanted.items()
        ],
    )


def _check_generation(request: ConsumerWrite, consumer: Any) -> None:
    if request.generation is Unset.ANY_GENERATION:
        return
    expected = consumer.generation if consumer else None
    if request.generation != expected:
        raise ConsumerConflict(expected="null" if expected is None else expected, given=request.generation)


def _provider_ids(session: Session, uuids: Iterable[str]) -> dict[str, int]:
    wanted = list(uuids)
    if not wanted:
        return {}
    rows = session.execute(select(ResourceProvider.uuid, ResourceProvider.id).where(ResourceProvider.uuid.in_(wanted)))
    ids = {uuid: provider_id for uuid, provider_id in rows}
    for uuid in wanted:
        if uuid not in ids:
            raise UnknownProvider(provider=uuid)
    return ids


def _class_ids(session: Session, request: ConsumerWrite) -> dict[str, int]:
    wanted = {name for amounts in request.allocations.values() for name in amounts}
    ids = names.ids_of_classes(session, wanted)
    unknown = sorted(wanted - ids.keys())
    if unknown:
        raise UnknownClassForConsumer(consumer=request.uuid, resource_class=", ".join(unknown))
    return ids


def _held(session: Session, consumer_id: int) -> _Amounts:
    rows = session.execute(
        select(Allocation.provider_id, Allocation.resource_class_id, Allocation.used).where(
            Allocation.consumer_id == consumer_id
        )
    )
    return {(provider_id, class_id): used for provider_id, class_id, used in rows}


def _check_stock(
    session: Session, wanted: _Amounts, held: _Amounts, request: ConsumerWrite, providers: Mapping[str, int]
) -> None:
    """Every amount against its inventory: there is one, the amount suits it, and there is enough left of it."""
    stocks = _stocks(session, wanted)
    missing = [uuid for uuid, provider_id in providers.items() if not any(key[0] == provider_id for key in stocks)]
    if missing:
        classes = sorted({name for amounts in request.allocations.values() for name in amounts})
        raise InvalidInventory(resource_classes=", ".join(classes), providers=", ".join(missing))
    for provider, amounts in request.allocations.items():
        for name, amount in amounts.items():
            key = next(
                (k for k, stock in stocks.items() if k[0] == providers[provider] and stock.resource_class == name), None
            )
            if key is None:
                raise InvalidInventory(resource_classes=name, providers=provider)
            _check_amount(stocks[key], amount, amount - held.get(key, 0))


def _stocks(session: Session, wanted: _Amounts) -> dict[tuple[int, int], _Stock]:
    if not wanted:
        return {}
    rows = session.execute(
        select(
            Inventory.provider_id,
            Inventory.resource_class_id,
            ResourceProvider.uuid,
            ResourceClass.name,
            Inventory.min_unit,
            Inventory.max_unit,
            Inventory.step_size,
            Inventory.free,
        )
        .join(ResourceProvider, ResourceProvider.id == Inventory.provider_id)
        .join(ResourceClass, ResourceClass.id == Inventory.resource_class_id)
        .where(
            Inventory.provider_id.in_({provider_id for provider_id, _ in wanted}),
            Inventory.resource_class_id.in_({class_id for _, class_id in wanted}),
        )
    )
    return {(row.provider_id, row.resource_class_id): _Stock(row.uuid, row.name, row) for row in rows}


def _check_amount(stock: _Stock, amount: int, growth: int) -> None:
    row = stock.row
    if not row.min_unit <= amount <= row.max_unit or amount % row.step_size:
        raise InventoryConstraint(resource_class=stock.resource_class, provider=stock.provider)
    # Whoever is over capacity already may still shrink.
    if growth > 0 and growth > row.free:
        raise CapacityExceeded(resource_class=stock.resource_class, provider=stock.provider)


def _bump_providers(session: Session, provider_ids: Iterable[int]) -> None:
    for provider_id in sorted(provider_ids):
        session.execute(
            update(ResourceProvider)
            .where(ResourceProvider.id == provider_id)
            .values(generation=ResourceProvider.generation + 1)
        )


def _move(session: Session, wanted: _Amounts, held: _Amounts) -> None:
    """Book the difference. The UPDATE itself asks whether there is enough: what was read before may be old.

    UPDATE inventories SET used = used + :growth WHERE … AND (:growth <= 0 OR capacity - used >= :growth)
    """
    for key in sorted(wanted.keys() | held.keys()):
        growth = wanted.get(key, 0) - held.get(key, 0)
        if not growth:
            continue
        statement = (
            update(Inventory)
            .where(Inventory.provider_id == key[0], Inventory.resource_class_id == key[1])
            .values(used=Inventory.used + growth)
        )
        if growth > 0:
            statement = statement.where(Inventory.capacity - Inventory.used >= growth)
        if not session.execute(statement).rowcount:  # type: ignore[attr-defined]
            raise StaleDataError("another claim was faster")


def _save_consumer(session: Session, request: ConsumerWrite, consumer: Any) -> int:
    values: dict[str, Any] = {"project_id": request.project_id, "user_id": request.user_id}
    if not isinstance(request.consumer_type, Unset):
        values["consumer_type"] = request.consumer_type
    if consumer is None:
        result = session.execute(
            insert(Consumer).values(uuid=request.uuid, generation=1, created_at=utcnow(), **values)
        )
        consumer_id: int = result.inserted_primary_key[0]  # type: ignore[attr-defined]
        return consumer_id
    saved = session.execute(
        update(Consumer)
        .where(Consumer.id == consumer.id, Consumer.generation == consumer.generation)
        .values(generation=consumer.generation + 1, updated_at=utcnow(), **values)
    )
    if not saved.rowcount:  # type: ignore[attr-defined]
        raise StaleDataError("the consumer was changed meanwhile")
    row_id: int = consumer.id
    return row_id


def release(session: Session, consumer_uuid: str) -> None:
    """Remove all that the consumer holds, and the consumer. Generations of providers stay. Raises NoAllocations."""
    consumer_id = session.scalar(select(Consumer.id).where(Consumer.uuid == consumer_uuid).with_for_update())
    held = _held(session, consumer_id) if consumer_id is not None else {}
    if consumer_id is None or not held:
        raise NoAllocations(consumer=consumer_uuid)
    _move(session, {}, held)
    session.execute(delete(Allocation).where(Allocation.consumer_id == consumer_id))
    session.execute(delete(Consumer).where(Consumer.id == consumer_id))


def held_by(session: Session, consumer_uuid: str) -> Rows:
    """What the consumer holds: provider uuid and generation, class name, used, and the consumer's own columns."""
    return session.execute(
        select(
            ResourceProvider.uuid.label("provider"),
            ResourceProvider.generation.label("provider_generation"),
            ResourceClass.name.label("resource_class"),
            Allocation.used,
            Allocation.created_at,
            Consumer.project_id,
            Consumer.user_id,
            Consumer.generation,
            Consumer.consumer_type,
        )
        .join(Consumer, Consumer.id == Allocation.consumer_id)
        .join(ResourceProvider, ResourceProvider.id == Allocation.provider_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(Consumer.uuid == consumer_uuid)
        .order_by(Allocation.provider_id, Allocation.resource_class_id)
    ).all()


def held_of(session: Session, provider_id: int) -> Rows:
    """Who holds the provider: consumer uuid and generation, class name, used, created_at."""
    return session.execute(
        select(
            Consumer.uuid.label("consumer"),
            Consumer.generation,
            ResourceClass.name.label("resource_class"),
            Allocation.used,
            Allocation.created_at,
        )
        .join(Consumer, Consumer.id == Allocation.consumer_id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(Allocation.provider_id == provider_id)
        .order_by(Allocation.consumer_id, Allocation.resource_class_id)
    ).all()
