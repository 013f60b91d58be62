"""Indivisible trees, which belong to one consumer at a time: a provider that mirrors a node, and all below it.

For a provider without children, its single unit ensures this. With children the tree is ``indivisible``: a claim of
anything in it makes the consumer the ``holder``, in the row of the root, and withholds all inventories of the tree from
the searches for candidates; so does a node that is not available. What clients wrote into these inventories stays
unchanged.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Update, and_, bindparam, case, or_, select, update
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.results import require_changed, rows_changed
from baremetal_sched.db.types import Writer, connection_of
from baremetal_sched.errors.placement import TreeHeld
from baremetal_sched.placement import gate
from baremetal_sched.placement.tables import (
    ALLOCATIONS,
    CLASSES,
    CONSUMERS,
    GROUP_MEMBERS,
    INVENTORIES,
    PROVIDERS,
    first_waiting_for,
    is_open,
    queue_of,
    take_any,
)
from baremetal_sched.placement.waiting_requests import CLAIM

#: Amounts by provider id and class id.
Amounts = Mapping[tuple[int, int], int]

_CLASS = select(CLASSES.c.name).where(CLASSES.c.id == PROVIDERS.c.mirrored_class_id).correlate(PROVIDERS)


def _taking(*conditions: ColumnElement[bool]) -> Update:
    is_free = and_(PROVIDERS.c.holder.is_(None), ~PROVIDERS.c.withheld, *conditions)
    is_given = PROVIDERS.c.holder.in_(bindparam("givers", expanding=True))
    of_root = update(PROVIDERS).where(PROVIDERS.c.id == bindparam("root"), or_(is_free, is_given))
    return of_root.values(holder=bindparam("consumer"))


#: Of a newcomer: no request waits for machines of its class; or in its queue, which may be that of a booking.
_IS_UNWANTED = first_waiting_for(_CLASS.scalar_subquery()).is_(None)
_QUEUE = _CLASS.with_only_columns(queue_of(PROVIDERS, CLASSES.c.name))
_IS_UNWANTED_OPENED = first_waiting_for(_QUEUE.scalar_subquery()).is_(None)
#: By whether it is for a newcomer, and whether the machine may be closed to others.
_TAKES = {
    (False, False): _taking(is_open(PROVIDERS)),
    (True, False): _taking(is_open(PROVIDERS), _IS_UNWANTED),
    (False, True): _taking(),
    (True, True): _taking(_IS_UNWANTED_OPENED),
}
_CONFIRM = (
    update(PROVIDERS)
    .where(PROVIDERS.c.id == bindparam("provider"), PROVIDERS.c.root_id == bindparam("root"), PROVIDERS.c.indivisible)
    .values(generation=PROVIDERS.c.generation + bindparam("growth", type_=Integer), updated_at=bindparam("now"))
)
_CONSUMERS = (
    select(CONSUMERS.c.uuid)
    .distinct()
    .join_from(CONSUMERS, ALLOCATIONS, ALLOCATIONS.c.consumer_id == CONSUMERS.c.id)
    .join(PROVIDERS, PROVIDERS.c.id == ALLOCATIONS.c.provider_id)
    .order_by(CONSUMERS.c.uuid)
)
_CONSUMERS_IN = _CONSUMERS.where(PROVIDERS.c.root_id == bindparam("root"))
_ROOT = PROVIDERS.alias("root")
_CONSUMERS_BESIDE = (
    _CONSUMERS.add_columns(CONSUMERS.c.request_kind, GROUP_MEMBERS.c.claim)
    .outerjoin(GROUP_MEMBERS, GROUP_MEMBERS.c.consumer_id == CONSUMERS.c.id)
    .where(
        PROVIDERS.c.root_id == select(_ROOT.c.root_id).where(_ROOT.c.uuid == bindparam("provider")).scalar_subquery()
    )
)


@dataclass
class Trees:
    """The indivisible trees among the providers of a transaction: ids of their roots by provider id."""

    roots: dict[int, int] = field(default_factory=dict)

    def note(self, provider_id: int, root_id: int, indivisible: bool) -> None:
        """Add a provider that was read."""
        if indivisible:
            self.roots[provider_id] = root_id

    def roots_of(self, amounts: Amounts) -> set[int]:
        """Return the roots of the indivisible trees of these amounts' providers; a provider in none is its own."""
        return {self.roots.get(provider_id, provider_id) for provider_id, _ in amounts}

    def take(
        self,
        writer: Writer,
        wanted: Mapping[str, Amounts],
        held: Mapping[str, Amounts],
        opened: Collection[int] = (),
    ) -> None:
        """Make each consumer that gets more of a tree its holder; ``wanted`` and ``held`` are by consumer. The roots
        that are ``opened`` may be closed to others.

        A tree may pass from one consumer to another of the same request. Raises TreeHeld if another consumer holds the
        tree, or it is not available; WaitedFor if a request waits for it.

        UPDATE resource_providers SET holder = :consumer
        WHERE id = :root
        AND (holder IS NULL AND NOT withheld AND <it is open> AND <no request waits for its class>
        OR holder IN (the consumers of the request))
        """
        for root in sorted(set(self.roots.values())):
            takers = [name for name, amounts in wanted.items() if self._grows(root, amounts, held.get(name, {}))]
            if not takers:
                continue
            owners = [name for name, amounts in wanted.items() if self._part(root, amounts)]
            given = {"root": root, "consumer": takers[0], "givers": list(wanted)}
            connection = connection_of(writer)
            had_it = any(self._part(root, amounts) for amounts in held.values())
            takes = _TAKES[gate.is_newcomer(connection, root), root in opened]
            if len(owners) > 1 or not _take(connection, takes, given, may_be_closed=had_it or root in opened):
                gate.require_unwanted(connection, [root])
                uuid = writer.scalar(select(PROVIDERS.c.uuid).where(PROVIDERS.c.id == root))
                several = " The request gives it to several." if len(owners) > 1 else ""
                raise TreeHeld(provider=uuid, why=several)

    def confirm(self, writer: Writer, counted: Collection[int] = ()) -> None:
        """Keep the providers in their trees until the end of the transaction; ``counted`` are those whose generation is
        incremented. Raises StaleDataError if one has been moved since it was read.

        UPDATE resource_providers SET generation = generation + …, updated_at = … (so that a cluster certifies it)
        WHERE id = :provider AND root_id = :root AND indivisible
        """
        for provider_id, root in sorted(self.roots.items()):
            given = {"provider": provider_id, "root": root, "growth": int(provider_id in counted), "now": utcnow()}
            require_changed(writer.execute(_CONFIRM, given), "the provider went to another tree")

    def settle(self, writer: Writer) -> None:
        """Update derived columns of the trees after allocations were added or removed."""
        for root in sorted(set(self.roots.values())):
            settle(writer, root)

    def _part(self, root: int, amounts: Amounts) -> dict[tuple[int, int], int]:
        return {key: amount for key, amount in amounts.items() if self.roots.get(key[0]) == root}

    def _grows(self, root: int, after: Amounts, before: Amounts) -> bool:
        return any(amount > before.get(key, 0) for key, amount in self._part(root, after).items())


def _take(connection: Connection, take: Update, given: Mapping[str, Any], *, may_be_closed: bool) -> bool:
    still_open = take_any(connection, take, PROVIDERS, given)
    if still_open is False and not may_be_closed:
        raise StaleDataError("a hold of the machine has started")
    return still_open is not None


def consumers_in(writer: Writer, root_id: int) -> list[str]:
    """Return the UUIDs of the consumers with allocations in the tree, sorted."""
    return list(writer.scalars(_CONSUMERS_IN, {"root": root_id}))


def consumers_beside(writer: Writer, provider: str) -> dict[str, str | None]:
    """Return the same for the tree of a provider (a UUID), each with the claim of the scheduling API that it belongs
    to, if it is of one; empty if there is none."""
    rows = writer.execute(_CONSUMERS_BESIDE, {"provider": provider})
    return {uuid: (claim or uuid) if kind == CLAIM else None for uuid, kind, claim in rows}


def settle(writer: Writer, root_id: int) -> None:
    """Update the derived columns of a tree from its members and their allocations.

    To be called when providers are added or removed, when inventories are written in an indivisible tree, and when the
    availability or the closing time of the tree's node changes. Trees that never mirrored a node are left alone.
    """
    root = writer.execute(select(PROVIDERS).where(PROVIDERS.c.id == root_id).with_for_update()).one()
    rows = writer.execute(select(PROVIDERS.c.id, PROVIDERS.c.indivisible).where(PROVIDERS.c.root_id == root_id))
    members = {row_id: indivisible for row_id, indivisible in rows}
    is_mirror = root.mirrored_class_id is not None
    indivisible = is_mirror and len(members) > 1
    consumers = consumers_in(writer, root_id) if indivisible else []
    holder = root.holder if root.holder in consumers else next(iter(consumers), None)
    wrong = [row_id for row_id, flag in members.items() if flag != indivisible]
    if wrong:
        writer.execute(update(PROVIDERS).where(PROVIDERS.c.id.in_(wrong)).values(indivisible=indivisible))
    if holder != root.holder:
        if holder is not None:
            _require_still_there(writer, root_id, holder)
        writer.execute(update(PROVIDERS).where(PROVIDERS.c.id == root_id).values(holder=holder))
    _withhold(writer, members, root, indivisible and (root.withheld or holder is not None))


def _require_still_there(writer: Writer, root_id: int, consumer: str) -> None:
    """Raise StaleDataError if the consumer is releasing its part of the tree at this moment, as it may not know of this
    change.

    Every change of a consumer's allocations locks the consumer's row first, so this waits for the end of it. A cluster
    needs a write to notice.
    """
    touched = writer.execute(update(CONSUMERS).where(CONSUMERS.c.uuid == consumer).values(updated_at=utcnow()))
    if not rows_changed(touched) or consumer not in consumers_in(writer, root_id):
        raise StaleDataError("the consumer gave its part back")


def _withhold(writer: Writer, members: Collection[int], root: Any, withheld: bool) -> None:
    """UPDATE inventories SET withheld = …, closes_at = … WHERE provider_id IN (the members) AND <one is different>

    Of the root, only the mirrored class can ever be claimed.
    """
    wanted: Any = int(withheld)
    if not withheld:
        gate.freed(writer, [root.id])
    if root.mirrored_class_id is not None:
        foreign = and_(INVENTORIES.c.provider_id == root.id, INVENTORIES.c.resource_class_id != root.mirrored_class_id)
        wanted = case((foreign, 1), else_=int(withheld))
    writer.execute(
        update(INVENTORIES)
        .where(
            INVENTORIES.c.provider_id.in_(sorted(members)),
            or_(INVENTORIES.c.withheld != wanted, INVENTORIES.c.closes_at.is_distinct_from(root.closes_at)),
        )
        .values(withheld=wanted, closes_at=root.closes_at)
    )
