"""Usages of projects and users, from a text in the row of each consumer.

``consumers.usages`` is what a consumer has, ``INSTANCE:5=1,7=2048,``: its type, and amounts by the ids of classes. An
index on project, user and text answers without the allocations of thousands of consumers, since most have the same
text. Every statement that changes allocations, or the type, changes the text in the same transaction; no transaction
waits for another, as with a sum in one row. ``db check`` compares the two.

The text is empty without allocations. It is NULL if it would be too long for the index, and where a release before
``FIRST_REVISION`` wrote the row: then the allocations are read. Such a release also leaves texts that are outdated, so
none is read until it has ended, and ``db upgrade --finish`` writes them anew.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, bindparam, distinct, func, select

from baremetal_sched.db import compiled, schema_state
from baremetal_sched.db.models import ResourceClass
from baremetal_sched.db.models.base import SchemaState, table_of
from baremetal_sched.db.types import Query
from baremetal_sched.placement import names
from baremetal_sched.placement.consumers import KEEP, text_of
from baremetal_sched.placement.tables import ALLOCATIONS, CONSUMERS

#: The schema of the first release that keeps the texts.
FIRST_REVISION = "0025"

#: Names for consumers without a type, and for all consumers.
UNKNOWN = "unknown"
ALL = "all"

#: The number of consumers whose texts are written in one transaction.
_AT_ONCE = 1000

#: Amounts by class id by type, and numbers of consumers by type.
_Totals = tuple[dict[str, Counter[int]], Counter[str]]

_COUNT = select(
    CONSUMERS.c.usages, func.count().label("number"), select(table_of(SchemaState).c.served_since).scalar_subquery()
).where(CONSUMERS.c.project_id == bindparam("project"))
# In the order of the index, so that the database neither sorts nor hashes: it counts runs of equal texts.
_RUNS = (CONSUMERS.c.user_id, CONSUMERS.c.usages)
_OF_PROJECT = _COUNT.group_by(*_RUNS)
_OF_USER = _COUNT.where(CONSUMERS.c.user_id == bindparam("user")).group_by(*_RUNS)


def by_class(connection: Connection, project_id: str, user_id: str | None) -> dict[str, int]:
    """Return the amounts used by the project, or by one of its users, by class; classes without usage are left out."""
    amounts, _ = _totals(connection, project_id, user_id)
    return _named(connection, sum(amounts.values(), Counter()))


def by_type(
    connection: Connection, project_id: str, user_id: str | None, wanted: str | None
) -> dict[str, dict[str, int]]:
    """The same by type of consumer, with the number of consumers as ``consumer_count``.

    ``wanted``: a type, UNKNOWN for consumers that have none, ALL for one group of all of them, None for every group.
    """
    amounts, counts = _totals(connection, project_id, user_id)
    if wanted == ALL and amounts:
        amounts, counts = {ALL: sum(amounts.values(), Counter())}, Counter({ALL: counts.total()})
    return {
        kind: _named(connection, amounts[kind]) | {"consumer_count": counts[kind]}
        for kind in sorted(amounts)
        if wanted in (None, kind)
    }


def _named(connection: Connection, amounts: Mapping[int, int]) -> dict[str, int]:
    found = names.names_of(connection, ResourceClass, amounts)
    return {found[class_id]: amounts[class_id] for class_id in sorted(amounts)}


def _totals(connection: Connection, project: str, user: str | None) -> _Totals:
    query = _OF_PROJECT if user is None else _OF_USER
    rows = compiled.run(connection, query, {"project": project, "user": user}).all()
    amounts: dict[str, Counter[int]] = defaultdict(Counter)
    counts: Counter[str] = Counter()
    is_kept = not rows or schema_state.is_since(rows[0][2], FIRST_REVISION)
    for text, number, _ in rows if is_kept else ():
        kind, _, parts = (text or "").partition(":")
        counts[kind or UNKNOWN] += number if parts else 0
        for class_id, amount in _amounts_in(parts):
            amounts[kind or UNKNOWN][class_id] += amount * number
    if not is_kept or any(text is None for text, *_ in rows):
        _add_from_allocations(connection, project, user, is_kept, (amounts, counts))
    return amounts, counts


def _amounts_in(parts: str) -> Iterable[tuple[int, int]]:
    for part in parts.split(",")[:-1]:
        class_id, _, amount = part.partition("=")
        yield int(class_id), int(amount)


def _add_from_allocations(
    connection: Connection, project: str, user: str | None, only_unknown: bool, totals: _Totals
) -> None:
    amounts, counts = totals
    conditions = [CONSUMERS.c.project_id == project]
    conditions += [CONSUMERS.c.user_id == user] if user is not None else []
    conditions += [CONSUMERS.c.usages.is_(None)] if only_unknown else []
    kind, class_id = func.coalesce(CONSUMERS.c.consumer_type, UNKNOWN), ALLOCATIONS.c.resource_class_id
    held = CONSUMERS.join(ALLOCATIONS, ALLOCATIONS.c.consumer_id == CONSUMERS.c.id)
    summed: Query = select(kind, class_id, func.sum(ALLOCATIONS.c.used)).select_from(held).where(*conditions)
    counted: Query = select(kind, func.count(distinct(CONSUMERS.c.id))).select_from(held).where(*conditions)
    for name, number in connection.execute(counted.group_by(kind)):
        counts[name] += number
    # Between the two statements consumers come and go: those of the one need not be those of the other.
    for name, found, used in connection.execute(summed.group_by(kind, class_id)):
        amounts[name][found] += int(used)


# -- keeping the texts -------------------------------------------------------------------------------------------------


def outdated(connection: Connection, consumer_ids: Sequence[int], *, locks: bool = False) -> dict[int, str | None]:
    """Return the texts of these consumers that are not what they should be, as they should be, by id."""
    query = select(CONSUMERS.c.id, CONSUMERS.c.consumer_type, CONSUMERS.c.usages).where(
        CONSUMERS.c.id.in_(consumer_ids)
    )
    consumers = connection.execute((query.with_for_update() if locks else query).order_by(CONSUMERS.c.id)).all()
    held: dict[int, Counter[int]] = defaultdict(Counter)
    columns = (ALLOCATIONS.c.consumer_id, ALLOCATIONS.c.resource_class_id, ALLOCATIONS.c.used)
    for consumer, class_id, used in connection.execute(
        select(*columns).where(ALLOCATIONS.c.consumer_id.in_(consumer_ids))
    ):
        held[consumer][class_id] += used
    texts = {consumer: text_of(kind, held[consumer]) for consumer, kind, _ in consumers}
    return {consumer: texts[consumer] for consumer, _, text in consumers if text != texts[consumer]}


def keep(connection: Connection, consumer_ids: Sequence[int]) -> None:
    """Write the texts of these consumers anew, after their allocations were changed."""
    texts = outdated(connection, consumer_ids, locks=True)
    compiled.change_all(connection, KEEP, [{"consumer": each, "text": text} for each, text in texts.items()])


def batch(connection: Connection, after: int) -> Sequence[int]:
    """Return the ids of the next consumers after this id; none if there are no more."""
    ids = select(CONSUMERS.c.id).where(CONSUMERS.c.id > after).order_by(CONSUMERS.c.id).limit(_AT_ONCE)
    return connection.scalars(ids).all()


def keep_next(connection: Connection, after: int) -> int | None:
    """Write the texts of the next consumers after this id anew; return the last one's id, None if there are no more."""
    ids = batch(connection, after)
    keep(connection, ids)
    return ids[-1] if ids else None
