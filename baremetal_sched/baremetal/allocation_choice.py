"""Which node an allocation gets: conditions, the search, and why there was none."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, case, exists, func, not_, or_, select, true
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal import availability, projection
from baremetal_sched.baremetal.trait_conditions import has_all, has_any
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.models import Inventory, Node, ResourceProvider
from baremetal_sched.db.types import Query
from baremetal_sched.errors.baremetal import SuitableNodesLocked
from baremetal_sched.placement import names
from baremetal_sched.placement.candidates.conditions import FEW, by_index, unjoined
from baremetal_sched.placement.tables import INVENTORIES

#: Conditions on Node by a label for people, in the order in which a failure counts.
Conditions = dict[str, ColumnElement[bool]]

_FORBIDDEN = "!"
_ANY_OF = "in:"

#: How many nodes that fit are looked for at a time, one of which is then taken.
_BATCH = 20


@dataclass(frozen=True)
class TraitEntry:
    """An entry of an allocation's traits: ``A`` (has it), ``!A`` (has it not) or ``in:A,B`` (has at least one)."""

    text: str

    @property
    def forbidden(self) -> bool:
        """Must the node lack the trait?"""
        return self.text.startswith(_FORBIDDEN)

    @property
    def names(self) -> list[str]:
        """The traits that it names, whether they are any or not."""
        if self.text.startswith(_ANY_OF):
            return [name.strip() for name in self.text.removeprefix(_ANY_OF).split(",")]
        return [self.text.removeprefix(_FORBIDDEN)]

    def condition(self) -> ColumnElement[bool]:
        """The entry as a condition on Node."""
        found = has_any(self.names)
        return not_(found) if self.forbidden else found

    def granted(self, traits: Sequence[str]) -> list[str]:
        """What of ``traits``, the node's, the entry asks for: nothing if it forbids, one trait if any of several do."""
        return [] if self.forbidden else [name for name in self.names if name in traits][:1]

    def fits(self, traits: Sequence[str]) -> bool:
        """Is it satisfied by a node that has ``traits``?"""
        return any(name in traits for name in self.names) is not self.forbidden


@dataclass(frozen=True)
class Wanted:
    """What an allocation asks for. ``candidates`` are UUIDs of nodes, empty for all; of others than ``eligible`` ones
    nothing is said."""

    resource_class: str
    traits: Sequence[TraitEntry] = ()
    candidates: Sequence[str] = ()
    owner: str | None = None
    name: str | None = None
    eligible: Visibility = EVERYTHING


@dataclass(frozen=True)
class Failure:
    """No node fits: why, how many nodes there are, and how many each condition removed of those that were left."""

    reason: str
    total: int
    removed: Mapping[str, int]

    def __str__(self) -> str:
        counts = ", ".join(f"{label}: {count}" for label, count in self.removed.items() if count)
        return f"{self.reason}. Of {self.total} nodes, so many were ruled out by each condition: {counts or 'none'}."


def conditions(wanted: Wanted) -> Conditions:
    """All that a node has to meet to be chosen, besides being eligible, in the order in which a failure counts."""
    return {**_base(wanted), **_free(), **_traits(wanted), **_unlocked()}


def choose(session: Session, wanted: Wanted) -> Node | Failure:
    """A free node that fits, its row and its inventory locked; the one that is called like the allocation, if it fits.

    Raises StaleDataError if those that fit are being changed by others at this moment, SuitableNodesLocked if
    conductors are working on them.
    """
    class_name = projection.resource_class_of(wanted.resource_class)
    class_id = names.ids_of_classes(session, [class_name]).get(class_name)
    if class_id is not None:
        fitting = _fitting(class_id, wanted)
        for node_ids in _batches(session, fitting, class_id, wanted):
            node = _lock_one(session, fitting, node_ids)
            if node is not None:
                return node
    return _explain(session, wanted)


def _fitting(class_id: int, wanted: Wanted) -> Query:
    """SELECT n.id, i.provider_id FROM inventories i JOIN resource_providers p … JOIN nodes n ON n.uuid = p.uuid
    WHERE i.resource_class_id = :class AND i.free = 1 AND …

    The index over free capacity gives the free machines one by one (the inventory of a node is one of one).
    """
    traits = _traits(wanted).values() if len(wanted.traits) <= FEW else _traits_together(wanted)
    clauses = [*wanted.eligible.conditions(), *_base(wanted).values(), *traits, *_unlocked().values()]
    return (
        select(Node.id, INVENTORIES.c.provider_id)
        .select_from(INVENTORIES)
        .join(ResourceProvider, ResourceProvider.id == INVENTORIES.c.provider_id)
        .join(Node, Node.uuid == ResourceProvider.uuid)
        .where(INVENTORIES.c.resource_class_id == class_id, INVENTORIES.c.free == 1, *clauses)
    )


def _batches(session: Session, fitting: Query, class_id: int, wanted: Wanted) -> Iterator[list[int]]:
    """Ids of nodes that fit, a few at a time: the one with the allocation's name; the candidates, or all from a random
    place on and around the end. So machines wear evenly, and those who choose at the same time on several servers of a
    cluster, which do not see each other's locks, rarely choose the same."""
    if wanted.name is not None:
        yield list(session.scalars(fitting.where(Node.name == wanted.name)))
    if wanted.candidates:
        node_ids = list(session.scalars(fitting))
        random.shuffle(node_ids)
        yield node_ids
        return
    provider_id = INVENTORIES.c.provider_id
    lowest, highest = session.execute(
        select(func.min(provider_id), func.max(provider_id)).where(
            INVENTORIES.c.resource_class_id == class_id, INVENTORIES.c.free == 1
        )
    ).one()
    if lowest is None:
        return
    start = random.randint(lowest, highest)  # noqa: S311 - spreading, not a secret
    for first, last in ((start, highest), (lowest, start - 1)):
        while first <= last:
            ordered = fitting.where(provider_id.between(first, last)).order_by(INVENTORIES.c.free, provider_id)
            part = by_index(ordered, INVENTORIES).limit(_BATCH)
            rows = session.execute(part).all()
            yield [node_id for node_id, _ in rows]
            first = rows[-1][1] + 1 if len(rows) == _BATCH else last + 1


def _lock_one(session: Session, fitting: Query, node_ids: Sequence[int]) -> Node | None:
    """SELECT n.* … WHERE n.id IN (…) AND <it still fits> LIMIT 1 FOR UPDATE OF n, i SKIP LOCKED

    One that somebody else is about to take is passed over. (SQLite has no row locks: there a transaction that writes is
    alone. On several servers the conditional update of the claim finds out, and the whole is run again.)
    """
    if not node_ids:
        return None
    node: Node | None = session.scalars(
        fitting.with_only_columns(Node)
        .where(Node.id.in_(node_ids))
        .limit(1)
        .with_for_update(of=(Node, INVENTORIES), skip_locked=True)
    ).first()
    return node


def _base(wanted: Wanted) -> Conditions:
    asked: Conditions = {"resource class": Node.resource_class == wanted.resource_class}
    if wanted.candidates:
        asked["candidate nodes"] = Node.uuid.in_(wanted.candidates)
    if wanted.owner is not None:
        asked["owner"] = or_(Node.owner == wanted.owner, Node.lessee == wanted.owner)
    return asked | {condition.label: condition.clause for condition in availability.CONDITIONS}


def _traits(wanted: Wanted) -> Conditions:
    return {f"trait {entry.text}": entry.condition() for entry in wanted.traits}


def _traits_together(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    """The same as ``_traits`` for more than a few: all that have to be there in one condition, all that must not in
    another."""
    required = [entry.names[0] for entry in wanted.traits if len(entry.names) == 1 and not entry.forbidden]
    forbidden = [entry.names[0] for entry in wanted.traits if entry.forbidden]
    yield from has_all(required)
    if forbidden:
        yield not_(has_any(forbidden))
    yield from unjoined([entry.condition() for entry in wanted.traits if len(entry.names) > 1])


def _unlocked() -> Conditions:
    return {"lock": Node.reservation.is_(None)}


def _free() -> Conditions:
    return {
        "allocation in placement": exists().where(
            ResourceProvider.uuid == Node.uuid, Inventory.provider_id == ResourceProvider.id, Inventory.free == 1
        )
    }


def _explain(session: Session, wanted: Wanted) -> Failure:
    """Why no node fits. Raises like ``choose`` if some do after all."""
    others = conditions(wanted)
    by_class = others.pop("resource class")
    counts, remaining = _count(session, and_(by_class, *wanted.eligible.conditions()), others)
    if remaining:
        raise StaleDataError("the nodes that fit are being changed by others")
    locked = counts.pop("lock")
    if locked:
        raise SuitableNodesLocked(count=locked)
    total = session.scalar(select(func.count()).select_from(Node).where(*wanted.eligible.conditions())) or 0
    removed = {"resource class": total - sum(counts.values()), **counts}
    if any(removed[label] for label in _traits(wanted)):
        reason = f"no suitable nodes have the requested traits {', '.join(entry.text for entry in wanted.traits)}"
    elif wanted.candidates:
        reason = f"none of the requested nodes are available and match the resource class {wanted.resource_class}"
    else:
        reason = f"no available nodes match the resource class {wanted.resource_class}"
    return Failure(reason, total, removed)


def _count(session: Session, start: ColumnElement[bool], asked: Conditions) -> tuple[dict[str, int], int]:
    """How many nodes each condition removes of those that the ones before it left, and how many remain.

    SELECT CASE WHEN <first> IS NOT true THEN 0 WHEN <second> IS NOT true THEN 1 … END, count(*) FROM nodes … GROUP BY 1

    One flat CASE: SQLite cannot read as many in each other as there may be traits.
    """
    remaining = len(asked)
    failed = [(condition.is_not(true()), number) for number, condition in enumerate(asked.values())]
    place: Any = case(*failed, else_=remaining)
    inner = select(place.label("place")).where(start).subquery()
    rows = session.execute(select(inner.c.place, func.count()).group_by(inner.c.place)).all()
    found = {number: count for number, count in rows}
    return {label: found.get(number, 0) for number, label in enumerate(asked)}, found.get(remaining, 0)
