"""Allocations of consumers. Writing them is a claim, which succeeds or fails as a whole."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Integer, bindparam, delete, insert, select, type_coerce, update

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.results import require_changed
from baremetal_sched.db.types import Writer, connection_of
from baremetal_sched.errors.placement import (
    CapacityExceeded,
    ConsumerConflict,
    ConsumerWaits,
    NoAllocations,
    TreeHeld,
)
from baremetal_sched.placement import calendars, ending, ends, gate, indivisible, stock, usages
from baremetal_sched.placement.consumers import FIRST, KEEP, PLACEMENT, ConsumerWrite, Taken, Unset, save, text_of
from baremetal_sched.placement.indivisible import Trees
from baremetal_sched.placement.stock import InventoryLookup
from baremetal_sched.placement.tables import ALLOCATIONS, CONSUMERS, PROVIDERS, SERVES_MACHINES, first_waiting, is_open

_ROOT = PROVIDERS.alias("root")


def explained(writer: Writer, error: CapacityExceeded, requests: Sequence[ConsumerWrite]) -> CapacityExceeded:
    """Return the error of these requests; if the provider is a machine, it names the holder.

    SELECT p.id, r.id, r.mirrored_class_id FROM resource_providers p JOIN resource_providers r ON r.id = p.root_id
    WHERE p.uuid = :provider
    """
    query = (
        select(PROVIDERS.c.id, _ROOT.c.id.label("root_id"), _ROOT.c.mirrored_class_id, is_open(_ROOT).label("is_open"))
        .join_from(PROVIDERS, _ROOT, _ROOT.c.id == PROVIDERS.c.root_id)
        .where(PROVIDERS.c.uuid == error.details["provider"])
    )
    found = writer.execute(query).one()
    if found.mirrored_class_id is None or error.details["why"]:
        return error
    own = {request.uuid for request in requests}
    others = [uuid for uuid in indivisible.consumers_in(writer, found.root_id) if uuid not in own]
    why = ""
    if others:
        why = f" It is in use by consumer {', '.join(others)}."
    elif not found.is_open:
        why = " The node is booked, or a hold of it is planned: it is given out only for as long as that allows."
    elif isinstance(error, TreeHeld) or found.id == found.root_id:
        why = " The node is not available."
    return type(error)(**{**error.details, "why": why})


#: Amounts by provider id and class id.
_Amounts = dict[tuple[int, int], int]

# Statements of every claim, created once: creating one takes longer than running it.
_OF_CONSUMER = (CONSUMERS.c.id, CONSUMERS.c.generation, CONSUMERS.c.request_kind, *gate.OWN_COLUMNS)
_CONSUMERS = (
    select(CONSUMERS.c.uuid, CONSUMERS.c.consumer_type, *_OF_CONSUMER)
    .where(CONSUMERS.c.uuid.in_(bindparam("uuids", expanding=True)))
    .order_by(CONSUMERS.c.id)
    .with_for_update()
)
_CONSUMER = select(*_OF_CONSUMER).where(CONSUMERS.c.uuid == bindparam("uuid")).with_for_update()
_HOLDINGS = select(
    ALLOCATIONS.c.consumer_id,
    ALLOCATIONS.c.provider_id,
    ALLOCATIONS.c.resource_class_id,
    ALLOCATIONS.c.used,
    PROVIDERS.c.root_id,
    # The driver's value, which is true or false either way.
    type_coerce(PROVIDERS.c.indivisible, Integer).label("indivisible"),
    gate.GROUP_OF_HOLDER,
    ending.STATE_OF_HOLDER,
).join_from(ALLOCATIONS, PROVIDERS, PROVIDERS.c.id == ALLOCATIONS.c.provider_id)
_HELD = _HOLDINGS.where(ALLOCATIONS.c.consumer_id.in_(bindparam("consumers", expanding=True)))
#: Besides: who waits for a machine of its class, and whether any machine can use what the provider gives.
_HELD_BY_ONE = _HOLDINGS.add_columns(
    first_waiting(PROVIDERS.c.root_id).label("first_waiting"),
    type_coerce(SERVES_MACHINES, Integer).label("serves_machines"),
).where(ALLOCATIONS.c.consumer_id == bindparam("consumer"))
_FREE = delete(ALLOCATIONS).where(ALLOCATIONS.c.consumer_id.in_(bindparam("consumers", expanding=True)))
_FREE_ONE = delete(ALLOCATIONS).where(ALLOCATIONS.c.consumer_id == bindparam("consumer"))
_FORGET = delete(CONSUMERS).where(CONSUMERS.c.id == bindparam("consumer"))
_BUMP = (
    update(PROVIDERS)
    .where(PROVIDERS.c.id == bindparam("provider"), ~PROVIDERS.c.indivisible)
    .values(generation=PROVIDERS.c.generation + 1)
)
_NEW = insert(ALLOCATIONS)


def write(writer: Writer, requests: Sequence[ConsumerWrite], unknown_class: str) -> None:
    """Replace the allocations of the consumers, all or nothing, in Placement's order of checks.

    ``unknown_class`` is the beginning of the error message for an unknown resource class; ``{consumer}`` in it is
    replaced by the consumer. Raises ConsumerConflict, ConsumerWaits, UnknownProvider, UnknownClassInAllocation,
    InvalidInventory, InventoryConstraint, CapacityExceeded and TreeHeld. A claim that loses a race against another
    raises StaleDataError, and the edge retries it.
    """
    # A connection does less work per statement than a session, and there are no entities here.
    connection = connection_of(writer)
    entered, is_claimed = gate.enter(connection, requests)
    if is_claimed:
        return
    consumers = _lock_consumers(connection, [request for request in requests if request.uuid not in entered])
    opened = calendars.turn_seen(connection, {uuid: seen for each in requests for uuid, seen in each.calendars.items()})
    stocks = stock.find(connection, requests, unknown_class)
    wanted = {request.uuid: _wanted(request, stocks) for request in requests}
    trees = Trees()
    for row in stocks.rows.values():
        trees.note(row.provider_id, row.root_id, row.indivisible)
    holders = [consumer.id for consumer in consumers.values()]
    held, over = _held(connection, connection.execute(_HELD, {"consumers": holders}) if holders else (), trees)
    had = {uuid: held.get(consumer.id, {}) for uuid, consumer in consumers.items()}
    released, growth = _sum(held.values()), _sum(wanted.values())
    try:
        stock.check(stocks, requests, released, opened)
        trees.take(connection, wanted, had, opened)
    except CapacityExceeded as error:
        raise explained(connection, error, requests) from error
    growth.subtract(released)
    # Providers first, then inventories, each ordered by id: the same order everywhere avoids most deadlocks.
    # A generation is incremented of each provider that is named; for a consumer that is emptied, of those it held.
    touched = {provider for uuid in wanted for provider, _ in wanted[uuid] or had.get(uuid, {})}
    _bump_providers(connection, touched - trees.roots.keys())
    trees.confirm(connection, counted=touched)
    gate.freed(connection, {provider for (provider, _), amount in growth.items() if amount < 0})
    stock.move(connection, growth, trees.roots, opened)
    moves = _moves(trees, wanted, had)
    passing = ends.with_machines(connection, [*held]) if moves else ()
    written = _replace_rows(connection, requests, entered, consumers, wanted, held)
    if passing:
        kept = {consumer.id for uuid, consumer in consumers.items() if uuid in written}
        ends.pass_on(connection, passing, {machine: written[uuid] for machine, uuid in moves.items()}, kept)
    for request in requests:
        before, after = trees.roots_of(had.get(request.uuid, {})), trees.roots_of(wanted[request.uuid])
        consumer = consumers.get(request.uuid)
        gate.changed(connection, request, consumer, before, after)
        gate.ended(connection, over.get(consumer and consumer.id), {*before} - {*after} - {*moves})
    trees.settle(connection)


def check(writer: Writer, requests: Sequence[ConsumerWrite]) -> None:
    """Run the first checks of ``write``, for callers with checks of their own after them. Raises ConsumerConflict,
    ConsumerWaits, UnknownProvider."""
    _lock_consumers(writer, requests)
    stock.require_providers(writer, requests)


def _lock_consumers(writer: Writer, requests: Sequence[ConsumerWrite]) -> dict[str, Any]:
    """Lock the existing consumers and return them by UUID. Raises ConsumerConflict for an unexpected generation,
    ConsumerWaits for a UUID that is reserved."""
    if not requests:
        return {}
    rows = writer.execute(_CONSUMERS, {"uuids": [request.uuid for request in requests]})
    consumers = {row.uuid: row for row in rows}
    for request in requests:
        _check_generation(request, consumers.get(request.uuid))
    return consumers


def _check_generation(request: ConsumerWrite, consumer: Any) -> None:
    if consumer is not None and Taken(consumer.generation, consumer.request_kind).waits:
        raise ConsumerWaits(consumer=request.uuid, kind=consumer.request_kind)
    if request.generation is Unset.ANY_GENERATION:
        return
    expected = consumer.generation if consumer else None
    if request.generation != expected:
        shown = "null" if expected is None else expected
        raise ConsumerConflict(expected=shown, given=request.generation, consumer=request.uuid)


def _wanted(request: ConsumerWrite, stocks: InventoryLookup) -> _Amounts:
    return {
        (stocks.providers[provider], stocks.classes[name]): amount
        for provider, amounts in request.allocations.items()
        for name, amount in amounts.items()
    }


def _held(
    connection: Connection, holdings: Iterable[Any], trees: Trees
) -> tuple[dict[int, _Amounts], Mapping[int | None, Any]]:
    """Return the amounts in rows of ``_HOLDINGS``, and the ends that have come, by consumer id. The providers are added
    to ``trees``, the machine groups of the consumers to the transaction's notes: these are about to change."""
    held: dict[int, _Amounts] = {}
    groups, over = set[int](), set[int]()
    for consumer_id, provider_id, class_id, used, root_id, is_indivisible, group_id, end_state in holdings:
        held.setdefault(consumer_id, {})[provider_id, class_id] = used
        trees.note(provider_id, root_id, is_indivisible)
        groups |= set() if group_id is None else {group_id}
        over |= {consumer_id} if end_state in ends.OVER else set()
    gate.freed(connection, groups=groups)
    return held, {each: ending.find(connection, each) for each in over}


def _sum(many: Iterable[_Amounts]) -> Counter[tuple[int, int]]:
    total: Counter[tuple[int, int]] = Counter()
    for amounts in many:
        total.update(amounts)
    return total


def _bump_providers(writer: Writer, provider_ids: Iterable[int]) -> None:
    """Increment the generations. A provider whose tree has just become indivisible must be claimed differently."""
    for provider_id in sorted(provider_ids):
        require_changed(writer.execute(_BUMP, {"provider": provider_id}), "the tree of the provider was changed")


def _moves(trees: Trees, wanted: Mapping[str, _Amounts], had: Mapping[str, _Amounts]) -> dict[int, str]:
    """Return the machines (ids) that pass from one consumer of the request to another, with the latter's UUID."""
    if len(wanted) < 2:
        return {}
    owners = {root: uuid for uuid, amounts in had.items() for root in trees.roots_of(amounts)}
    takers = {root: uuid for uuid, amounts in wanted.items() for root in trees.roots_of(amounts)}
    return {root: uuid for root, uuid in takers.items() if owners.get(root, uuid) != uuid}


def _replace_rows(
    connection: Connection,
    requests: Sequence[ConsumerWrite],
    entered: Mapping[str, int],
    consumers: Mapping[str, Any],
    wanted: Mapping[str, _Amounts],
    held: Mapping[int, _Amounts],
) -> dict[str, int]:
    """Return the ids of the consumers that have something, by UUID."""
    if held:
        connection.execute(_FREE, {"consumers": list(held)})
    rows: list[dict[str, Any]] = []
    written: dict[str, int] = {}
    for request in requests:
        consumer = consumers.get(request.uuid)
        if not wanted[request.uuid]:
            if consumer is not None:
                connection.execute(_FORGET, {"consumer": consumer.id})
            continue
        used: Counter[int] = Counter()
        for (_, class_id), amount in wanted[request.uuid].items():
            used[class_id] += amount
        text = text_of(request.type_beside(consumer and consumer.consumer_type), used)
        consumer_id = entered.get(request.uuid)
        if consumer_id is None:
            consumer_id = save(connection, request, consumer, text)
        else:  # the classes in its text are those of the rows, whatever has been renamed
            compiled.change(connection, KEEP, {"consumer": consumer_id, "text": text})
        written[request.uuid] = consumer_id
        rows += [
            {
                "consumer_id": consumer_id,
                "provider_id": provider_id,
                "resource_class_id": class_id,
                "used": amount,
                "created_at": utcnow(),
            }
            for (provider_id, class_id), amount in wanted[request.uuid].items()
        ]
    if rows:
        connection.execute(_NEW, rows)
    for request in requests:
        if request.end is not None and request.uuid in written:
            ends.enter(connection, written[request.uuid], request.end)
            calendars.turn(connection, written[request.uuid])
    return written


def release(writer: Writer, consumer_uuid: str, kind: str | None = None) -> None:
    """Remove the consumer and all its allocations. Generations of providers do not change.

    ``kind``: only what belongs to a request of this kind, made for it or through the placement API. Raises
    NoAllocations.
    """
    _release(
        writer,
        consumer_uuid,
        lambda found: kind is None or found.request_kind in (None, PLACEMENT, kind),
    )


def release_given(writer: Writer, consumer_uuid: str, kind: str) -> None:
    """Remove the consumer and its allocations if they are what the request of this ``kind`` was given: they were not
    written since through the placement API. Raises NoAllocations."""
    _release(writer, consumer_uuid, lambda found: found.generation == FIRST and found.request_kind in (None, kind))


def _release(writer: Writer, consumer_uuid: str, is_own: Callable[[Any], bool]) -> None:
    connection, trees = connection_of(writer), Trees()
    found = compiled.run(connection, _CONSUMER, {"uuid": consumer_uuid}).first()
    is_known = found is not None and is_own(found)
    holdings = compiled.run(connection, _HELD_BY_ONE, {"consumer": found.id}).all() if is_known else ()
    if not holdings:
        raise NoAllocations(consumer=consumer_uuid)
    by_consumer, over = _held(connection, (row[:-2] for row in holdings), trees)
    held = by_consumer[found.id]
    trees.confirm(connection)
    roots = trees.roots_of(held)
    gate.ended(connection, over.get(found.id), roots)
    if not gate.give_all_back(connection, consumer_uuid, found, holdings, roots):
        stock.move(connection, {key: -amount for key, amount in held.items()})
        for statement in (_FREE_ONE, _FORGET):
            compiled.change(connection, statement, {"consumer": found.id})
    trees.settle(connection)


def remove_from(connection: Connection, provider: int) -> None:
    """Delete the allocations from a provider (an id) that is about to be deleted, and consumers that have no others.
    Whose they were is noted before (``gate.lost``)."""
    consumers = connection.scalars(select(ALLOCATIONS.c.consumer_id).where(ALLOCATIONS.c.provider_id == provider)).all()
    connection.execute(delete(ALLOCATIONS).where(ALLOCATIONS.c.provider_id == provider))
    if consumers:
        others = select(ALLOCATIONS.c.consumer_id).where(ALLOCATIONS.c.consumer_id == CONSUMERS.c.id)
        connection.execute(delete(CONSUMERS).where(CONSUMERS.c.id.in_(consumers), ~others.exists()))
        usages.keep(connection, consumers)
