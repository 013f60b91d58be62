"""Inventories as claims see them: does an amount suit, is there enough left, and booking it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.models import Inventory
from baremetal_sched.errors import CapacityExceeded, InvalidInventory, InventoryConstraint
from baremetal_sched.placement.consumers import ConsumerWrite


def check(
    session: Session,
    requests: Sequence[ConsumerWrite],
    providers: Mapping[str, int],
    classes: Mapping[str, int],
    growth: Mapping[tuple[int, int], int],
) -> None:
    """Every amount against its inventory: there is one, the amount suits it, and there is enough left of it.

    ``providers`` and ``classes`` are ids by UUID and name; ``growth`` is by how much usage grows in all, by provider id
    and class id. Raises InvalidInventory, InventoryConstraint, CapacityExceeded.
    """
    rows = _rows(session, providers, classes)
    stocked = {provider_id for provider_id, _ in rows}
    missing = [uuid for uuid, provider_id in providers.items() if provider_id not in stocked]
    if missing:
        raise InvalidInventory(resource_classes=", ".join(sorted(classes)), providers=", ".join(missing))
    for request in requests:
        for provider, amounts in request.allocations.items():
            for name, amount in amounts.items():
                key = (providers[provider], classes[name])
                if key not in rows:
                    raise InvalidInventory(resource_classes=name, providers=provider)
                _check_amount(rows[key], amount, growth[key], name, provider)


def _rows(session: Session, providers: Mapping[str, int], classes: Mapping[str, int]) -> dict[tuple[int, int], Any]:
    if not providers:
        return {}
    rows = session.execute(
        select(
            Inventory.provider_id,
            Inventory.resource_class_id,
            Inventory.min_unit,
            Inventory.max_unit,
            Inventory.step_size,
            Inventory.free,
        ).where(
            Inventory.provider_id.in_(providers.values()),
            Inventory.resource_class_id.in_(classes.values()),
        )
    )
    return {(row.provider_id, row.resource_class_id): row for row in rows}


def _check_amount(row: Any, amount: int, growth: int, resource_class: str, provider: str) -> None:
    if not row.min_unit <= amount <= row.max_unit or amount % row.step_size:
        raise InventoryConstraint(resource_class=resource_class, provider=provider)
    # Whoever is over capacity already may still shrink.
    if growth > 0 and growth > row.free:
        raise CapacityExceeded(resource_class=resource_class, provider=provider)


def move(session: Session, growth: Mapping[tuple[int, int], int]) -> None:
    """Book it. The UPDATE itself asks whether there is enough: what was read before may be old.

    UPDATE inventories SET used = used + :growth WHERE … AND (:growth <= 0 OR capacity - used >= :growth)
    Raises StaleDataError if another claim was faster.
    """
    for key in sorted(growth):
        amount = growth[key]
        if not amount:
            continue
        statement = (
            update(Inventory)
            .where(Inventory.provider_id == key[0], Inventory.resource_class_id == key[1])
            .values(used=Inventory.used + amount)
        )
        if amount > 0:
            statement = statement.where(Inventory.capacity - Inventory.used >= amount)
        if not session.execute(statement).rowcount:  # type: ignore[attr-defined]
            raise StaleDataError("another claim was faster")
