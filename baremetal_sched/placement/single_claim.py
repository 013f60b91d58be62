"""The claim of one class of one provider by a new consumer, and its release: the statements of both forms (``gate``).

Nothing is read first. The UPDATE itself checks all conditions; if one does not hold, the general claim determines the
error. On PostgreSQL one statement also enters the consumer, or removes it, and writes the event.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, DateTime, Integer, String, and_, bindparam, delete, insert, or_, select, true, update
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.compiled import if_missing
from baremetal_sched.db.notes import insert_within
from baremetal_sched.db.results import require_changed, rows_changed
from baremetal_sched.db.sql_functions import as_digits, concat
from baremetal_sched.placement import ends
from baremetal_sched.placement.consumers import OF_SINGLE, ConsumerWrite, new_row
from baremetal_sched.placement.tables import (
    ALLOCATIONS,
    CLAIM_ENDS,
    CLASSES,
    CONSUMERS,
    INVENTORIES,
    PROVIDERS,
    first_waiting_for,
    is_open,
    take,
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
#: No request waits for a machine of this class. The gate looks up whether this provider is one.
_IS_UNWANTED = first_waiting_for(bindparam("resource_class", type_=String)).is_(None)
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


@lru_cache
def _take_of(*, gives: bool, ends: bool, bumps: bool = False) -> Any:
    """Return the UPDATE that takes the amount; ``gives``: also if other requests wait; ``ends``: for a consumer with an
    end; ``bumps``: it increments the generation of the provider as well."""
    statement = _BUMP_AND_TAKE if bumps else _TAKE
    statement = statement if gives else statement.where(_IS_UNWANTED)
    return statement.values({INVENTORIES.c.calendar: INVENTORIES.c.calendar + 1}) if ends else statement


#: INSERT INTO allocations SELECT k.id, p.id, c.id, :amount, :now FROM consumers k, resource_providers p,
#: resource_classes c WHERE k.id = :consumer AND p.uuid = :provider AND c.name = :resource_class AND k.usages = … c.id …
#: The class is that of the consumer's text, whatever has been renamed.
_COLUMNS = ["consumer_id", "provider_id", "resource_class_id", "used", "created_at"]
_BOOK = insert(ALLOCATIONS).from_select(
    _COLUMNS,
    select(CONSUMERS.c.id, PROVIDERS.c.id, CLASSES.c.id, _AMOUNT, bindparam("now", type_=DateTime)).where(
        CONSUMERS.c.id == bindparam("consumer"),
        _PROVIDER,
        _CLASS,
        CONSUMERS.c.usages == concat(bindparam("usages_type"), as_digits(CLASSES.c.id), bindparam("usages_amount")),
    ),
)
#: WITH returned AS (UPDATE inventories SET used = used - :amount … RETURNING …), freed AS (DELETE FROM allocations …)
#: DELETE FROM consumers WHERE id = :consumer AND EXISTS (SELECT … FROM returned)
_RETURNED = (
    update(INVENTORIES)
    .where(INVENTORIES.c.provider_id == bindparam("provider"), INVENTORIES.c.resource_class_id == bindparam("class_id"))
    .values(used=INVENTORIES.c.used - _AMOUNT)
    .returning(INVENTORIES.c.provider_id)
    .cte("returned")
)
_FREED = delete(ALLOCATIONS).where(ALLOCATIONS.c.consumer_id == bindparam("consumer")).cte("freed")
_RELEASE = (
    delete(CONSUMERS)
    .where(CONSUMERS.c.id == bindparam("consumer"), select(_RETURNED.c.provider_id).exists())
    .add_cte(_FREED)
)
_UUID = select(PROVIDERS.c.uuid).where(PROVIDERS.c.id == bindparam("root", type_=Integer)).scalar_subquery()
#: Besides: its event.
_RELEASE_AND_NOTE = _RELEASE.add_cte(insert_within(_UUID, select(_RETURNED.c.provider_id).exists()).cte("noted"))


@lru_cache
def _enter_and_claim(
    columns: tuple[str, ...], *, gives: bool, notes: bool, told_before: tuple[float, ...] | None
) -> Any:
    """WITH entered AS (INSERT INTO consumers … ON CONFLICT DO NOTHING RETURNING id),
    counted AS (UPDATE resource_providers … WHERE … AND EXISTS (SELECT … FROM entered) RETURNING id),
    taken AS (UPDATE inventories … FROM counted … RETURNING …, <it is still open>),
    booked AS (INSERT INTO allocations SELECT … FROM entered, taken),
    noted AS (INSERT INTO event_notes … WHERE EXISTS (SELECT … FROM taken)),
    ended AS (INSERT INTO claim_ends SELECT … FROM entered, taken), unless ``told_before`` (that of its end) is None
    SELECT entered.id, taken.still_open FROM entered LEFT JOIN taken ON true

    Each part reads those before it, which determines the order of locks."""
    new: dict[str, Any] = {name: bindparam(f"new_{name}") for name in columns}
    statement = if_missing(CONSUMERS, "postgresql", usages=OF_SINGLE).values(new)
    entered = statement.returning(CONSUMERS.c.id).cte("entered")
    counted = _BUMP.where(select(entered.c.id).exists()).returning(PROVIDERS.c.id).cte("counted")
    take = _take_of(gives=gives, ends=told_before is not None).where(INVENTORIES.c.provider_id == counted.c.id)
    row = INVENTORIES.c.provider_id, INVENTORIES.c.resource_class_id
    taken = take.returning(*row, is_open(INVENTORIES).label("still_open")).cte("taken")
    amounts = select(entered.c.id, *list(taken.c)[:2], _AMOUNT, bindparam("now", type_=DateTime)).join(taken, true())
    booked = insert(ALLOCATIONS).from_select(_COLUMNS, amounts).cte("booked")
    found = select(entered.c.id, taken.c.still_open).outerjoin(taken, true()).add_cte(booked)
    if told_before is not None:
        end = select(*ends.new_row(entered.c.id, told_before).values()).join(taken, true())
        found = found.add_cte(insert(CLAIM_ENDS).from_select([*ends.COLUMNS], end).cte("ended"))
    if not notes:
        return found
    is_taken = select(taken.c.provider_id).exists()
    return found.add_cte(insert_within(bindparam("provider", type_=String), is_taken).cte("noted"))


def is_single(requests: Sequence[ConsumerWrite]) -> bool:
    """Return whether the requests consist of one amount of one class, of a provider that is open to all."""
    amounts = [amount for request in requests for named in request.allocations.values() for amount in named.values()]
    is_one = len(requests) == 1 == len(requests[0].allocations) == len(amounts) and not requests[0].calendars
    return is_one and requests[0].usages is not None and amounts[0] <= _LARGEST


def enter(
    connection: Connection, request: ConsumerWrite, *, gives: bool, event: dict[str, Any]
) -> tuple[int | None, bool]:
    """Enter the consumer and claim ``request`` for it, on PostgreSQL. ``event``: the parameters of its event, if any.

    Return the id, None if there is one with this UUID, and whether the claim succeeded. Otherwise like ``claim``.
    """
    row = new_row(request)
    given = {**_given(request), **{f"new_{name}": value for name, value in row.items()}, **event}
    told_before = None if request.end is None else request.end.told_before
    statement = _enter_and_claim(tuple(row), gives=gives, notes=bool(event), told_before=told_before)
    found = compiled.change(connection, statement, given).first()
    if found is None:
        return None, False
    if found.still_open is False:
        raise StaleDataError("a hold of the machine has started")
    return found.id, found.still_open is not None


def _given(request: ConsumerWrite) -> dict[str, Any]:
    ((provider, amounts),) = request.allocations.items()
    ((resource_class, amount),) = amounts.items()
    others = {**(request.usages or {}), **(request.end.parameters() if request.end else {})}
    return {"provider": provider, "resource_class": resource_class, "amount": amount, "now": utcnow(), **others}


def release(connection: Connection, held: Any, root: int, event: dict[str, Any]) -> None:
    """Remove a consumer, which is locked, and the one amount that it has (a row of its allocations), on PostgreSQL.
    ``root``: the provider (an id) that may be a machine; ``event``: as for ``enter``."""
    given = {"consumer": held.consumer_id, "provider": held.provider_id, "class_id": held.resource_class_id}
    given |= {"amount": held.used, "root": root, **event}
    released = compiled.change(connection, _RELEASE_AND_NOTE if event else _RELEASE, given)
    require_changed(released, "the inventory was removed")


def claim(connection: Connection, request: ConsumerWrite, consumer: int, *, gives: bool) -> bool:
    """Claim ``request`` for the consumer (an id), which is new; return whether that succeeded. ``gives``: also if other
    requests wait.

    If not, nothing is claimed, but the provider's generation may have been incremented.
    """
    given = {**_given(request), "consumer": consumer}
    if not _take(connection, given, gives=gives, ends=request.end is not None):
        return False
    require_changed(compiled.change(connection, _BOOK, given), "the class was renamed")
    if request.end is not None:
        ends.enter(connection, consumer, request.end)
    return True


def _take(connection: Connection, given: dict[str, Any], *, gives: bool, ends: bool) -> bool:
    """Update the provider before its inventory, as everywhere, to avoid deadlocks."""
    if connection.dialect.name in ("mysql", "mariadb"):
        both = _take_of(gives=gives, ends=ends, bumps=True)
        return rows_changed(compiled.change(connection, both, given)) > 0
    bumped = rows_changed(compiled.change(connection, _BUMP, given))
    return bool(bumped and take(connection, _take_of(gives=gives, ends=ends), INVENTORIES, given))
