"""The claim of one class of one provider by a new consumer: what Nova requests for each bare metal server.

Nothing is read first. The UPDATE itself checks all conditions; if one does not hold, the general claim determines the
error.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Integer, String, and_, bindparam, insert, or_, select, update

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.handover import notes_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.placement import closing
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.tables import ALLOCATIONS, CLASSES, INVENTORIES, PROVIDERS, first_waiting_for, is_open

#: Maximum of an amount: columns hold no more.
_LARGEST = 2**31 - 1

_PROVIDER = PROVIDERS.c.uuid == bindparam("provider")
_CLASS = CLASSES.c.name == bindparam("resource_class")
_PROVIDER_ID = select(PROVIDERS.c.id).where(_PROVIDER).scalar_subquery()
_CLASS_ID = select(CLASSES.c.id).where(_CLASS).scalar_subquery()
_AMOUNT = bindparam("amount", type_=Integer)
_FITS = and_(
    INVENTORIES.c.min_unit <= _AMOUNT,
    INVENTORIES.c.max_unit >= _AMOUNT,
    _AMOUNT % INVENTORIES.c.step_size == 0,
    INVENTORIES.c.free >= _AMOUNT,
    is_open(INVENTORIES),
)
#: A node offers only its own class; an indivisible tree needs more than this claim does.
_IS_PLAIN = and_(
    ~PROVIDERS.c.indivisible, or_(PROVIDERS.c.mirrored_class_id.is_(None), PROVIDERS.c.mirrored_class_id == _CLASS_ID)
)

_BUMP = update(PROVIDERS).where(_PROVIDER, _IS_PLAIN).values(generation=PROVIDERS.c.generation + 1)
_TAKE = (
    update(INVENTORIES)
    .where(INVENTORIES.c.provider_id == _PROVIDER_ID, INVENTORIES.c.resource_class_id == _CLASS_ID, _FITS)
    .values(used=INVENTORIES.c.used + _AMOUNT)
)
#: No request waits for a machine of this class. ``waited_for`` looks up whether this provider is one.
_IS_UNWANTED = first_waiting_for(bindparam("resource_class", type_=String)).is_(None)
_TAKE_UNWANTED = _TAKE.where(_IS_UNWANTED)
# MariaDB and MySQL do both in one statement, which saves a round trip:
# UPDATE inventories i, resource_providers p, resource_classes c SET i.used = i.used + :amount,
# p.generation = p.generation + 1 WHERE p.uuid = … AND c.name = … AND i.provider_id = p.id AND …
_BUMP_AND_TAKE = (
    update(INVENTORIES)
    .where(_PROVIDER, INVENTORIES.c.provider_id == PROVIDERS.c.id)
    .where(_CLASS, INVENTORIES.c.resource_class_id == CLASSES.c.id)
    .where(_FITS, ~PROVIDERS.c.indivisible)
    .where(or_(PROVIDERS.c.mirrored_class_id.is_(None), PROVIDERS.c.mirrored_class_id == CLASSES.c.id))
    .values({INVENTORIES.c.used: INVENTORIES.c.used + _AMOUNT, PROVIDERS.c.generation: PROVIDERS.c.generation + 1})
)
_BUMP_AND_TAKE_UNWANTED = _BUMP_AND_TAKE.where(_IS_UNWANTED)
# inline: the ids that the database generates are not needed.
_BOOK = (
    insert(ALLOCATIONS)
    .inline()
    .values(
        consumer_id=bindparam("consumer"),
        provider_id=_PROVIDER_ID,
        resource_class_id=_CLASS_ID,
        used=_AMOUNT,
        created_at=bindparam("now"),
    )
)


def is_single(requests: Sequence[ConsumerWrite]) -> bool:
    """Return whether the requests consist of one amount of one class."""
    amounts = [amount for request in requests for named in request.allocations.values() for amount in named.values()]
    return len(requests) == 1 and len(requests[0].allocations) == 1 and len(amounts) == 1 and amounts[0] <= _LARGEST


def claim(connection: Connection, request: ConsumerWrite, consumer_id: int) -> bool:
    """Claim ``request`` for the consumer, which is new; return whether that succeeded.

    If not, nothing is claimed, but the provider's generation may have been incremented. After machines were offered to
    waiting claims, the general claim knows which.
    """
    if notes_of(connection).offered:
        return False
    ((provider, amounts),) = request.allocations.items()
    ((resource_class, amount),) = amounts.items()
    given: dict[str, Any] = {"provider": provider, "resource_class": resource_class, "amount": amount}
    if not _take(connection, given):
        return False
    compiled.change(connection, _BOOK, {**given, "consumer": consumer_id, "now": utcnow()})
    return True


def _take(connection: Connection, given: dict[str, Any]) -> bool:
    """Update the provider before its inventory, as everywhere, to avoid deadlocks."""
    gives = notes_of(connection).gives
    if connection.dialect.name in ("mysql", "mariadb"):
        both = _BUMP_AND_TAKE if gives else _BUMP_AND_TAKE_UNWANTED
        return rows_changed(compiled.change(connection, both, given)) > 0
    bumped = rows_changed(compiled.change(connection, _BUMP, given))
    return bool(bumped and closing.take(connection, _TAKE if gives else _TAKE_UNWANTED, INVENTORIES, given))
