"""The claim of one class of one provider by a new consumer: what Nova requests for each bare metal server.

Nothing is read first. The UPDATE itself checks all conditions; if one does not hold, the general claim determines the
error.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, DateTime, Integer, String, and_, bindparam, insert, or_, select, update
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.handover import notes_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.sql_functions import as_digits, concat
from baremetal_sched.placement import closing
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.tables import (
    ALLOCATIONS,
    CLASSES,
    CONSUMERS,
    INVENTORIES,
    PROVIDERS,
    first_waiting_for,
    is_open,
)

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
#: INSERT INTO allocations SELECT k.id, p.id, c.id, :amount, :now FROM consumers k, resource_providers p,
#: resource_classes c WHERE k.id = :consumer AND p.uuid = :provider AND c.name = :resource_class AND k.usages = … c.id …
#: The class is that of the consumer's text, whatever is renamed meanwhile.
_BOOK = insert(ALLOCATIONS).from_select(
    ["consumer_id", "provider_id", "resource_class_id", "used", "created_at"],
    select(CONSUMERS.c.id, PROVIDERS.c.id, CLASSES.c.id, _AMOUNT, bindparam("now", type_=DateTime)).where(
        CONSUMERS.c.id == bindparam("consumer"),
        _PROVIDER,
        _CLASS,
        CONSUMERS.c.usages == concat(bindparam("usages_type"), as_digits(CLASSES.c.id), bindparam("usages_amount")),
    ),
)


def is_single(requests: Sequence[ConsumerWrite]) -> bool:
    """Return whether the requests consist of one amount of one class."""
    amounts = [amount for request in requests for named in request.allocations.values() for amount in named.values()]
    is_one = len(requests) == len(requests[0].allocations) == len(amounts) == 1
    return is_one and requests[0].usages is not None and amounts[0] <= _LARGEST


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
    given |= {"consumer": consumer_id, "now": utcnow(), **(request.usages or {})}
    if not rows_changed(compiled.change(connection, _BOOK, given)):
        raise StaleDataError("the class was renamed meanwhile")
    return True


def _take(connection: Connection, given: dict[str, Any]) -> bool:
    """Update the provider before its inventory, as everywhere, to avoid deadlocks."""
    gives = notes_of(connection).gives
    if connection.dialect.name in ("mysql", "mariadb"):
        both = _BUMP_AND_TAKE if gives else _BUMP_AND_TAKE_UNWANTED
        return rows_changed(compiled.change(connection, both, given)) > 0
    bumped = rows_changed(compiled.change(connection, _BUMP, given))
    return bool(bumped and closing.take(connection, _TAKE if gives else _TAKE_UNWANTED, INVENTORIES, given))
