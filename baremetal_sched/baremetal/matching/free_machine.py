"""Machines that are free: how they are read, and how their rows are locked.

Most requests in a queue are for another machine than the one that is free now, so reading one costs one statement.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Select, String, bindparam, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.opening import Opening
from baremetal_sched.baremetal.provider import availability
from baremetal_sched.db import compiled
from baremetal_sched.db.models import Node, table_of
from baremetal_sched.db.notes import MachineLocked
from baremetal_sched.db.sql_functions import string_agg
from baremetal_sched.db.types import Query
from baremetal_sched.placement import gate
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.sql import conditions, single_provider
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.trees.candidate import Found
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.tables import (
    AGGREGATES,
    INVENTORIES,
    PROVIDER_AGGREGATES,
    PROVIDER_TRAITS,
    PROVIDERS,
    TRAITS,
)

#: Amounts by class by provider (UUID).
Amounts = dict[str, dict[str, int]]

_NODES = table_of(Node)
_KEPT = BOOKED.alias("kept")

_PROVIDER = bindparam("provider", type_=Integer)
_NODE = bindparam("node", type_=String)


def _facts(provider: ColumnElement[int], node: ColumnElement[str]) -> Select[Any]:
    """Return the query of a node and its provider:

    SELECT n.uuid, n.owner, …, (SELECT string_agg(t.name, ',') FROM traits t JOIN provider_traits pt …
    WHERE pt.provider_id = <the provider>), (… of its aggregates) FROM nodes n WHERE n.uuid = <the node>
    """
    aggregates = select(string_agg(AGGREGATES.c.uuid)).join_from(
        AGGREGATES, PROVIDER_AGGREGATES, PROVIDER_AGGREGATES.c.aggregate_id == AGGREGATES.c.id
    )
    traits = select(string_agg(TRAITS.c.name)).join_from(
        TRAITS, PROVIDER_TRAITS, PROVIDER_TRAITS.c.trait_id == TRAITS.c.id
    )
    return select(
        _NODES.c.uuid,
        _NODES.c.owner,
        _NODES.c.lessee,
        _NODES.c.conductor_group,
        _NODES.c.resource_class,
        _NODES.c.reservation,
        traits.where(PROVIDER_TRAITS.c.provider_id == provider).scalar_subquery().label("traits"),
        aggregates.where(PROVIDER_AGGREGATES.c.provider_id == provider).scalar_subquery().label("aggregates"),
    ).where(_NODES.c.uuid == node)


#: By subqueries, so that PostgreSQL without statistics does not begin with all nodes.
_READ = _facts(_PROVIDER, select(PROVIDERS.c.uuid).where(PROVIDERS.c.id == _PROVIDER).scalar_subquery())
_LOCK = _READ.with_for_update(of=_NODES, skip_locked=True)
_FIND = _facts(select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == _NODE).scalar_subquery(), _NODE)


@dataclass(frozen=True)
class FreeMachine:
    """A machine that is free. ``traits`` are those of its provider: the node's, and a scheduler's."""

    uuid: str
    owner: str | None
    lessee: str | None
    conductor_group: str
    resource_class: str
    traits: frozenset[str]
    aggregates: frozenset[str]


def lock(connection: Connection, provider: int) -> FreeMachine | None:
    """Return the machine of a root provider (an id), the row of its node locked; None if a conductor works on it.

    Raises MachineLocked if another transaction is changing it, StaleDataError if it was deleted.
    """
    row = compiled.run(connection, _LOCK, {"provider": provider}).first()
    if row is None:
        uuid = connection.scalar(select(PROVIDERS.c.uuid).where(PROVIDERS.c.id == provider))
        raise StaleDataError("a machine was deleted") if uuid is None else MachineLocked(uuid)
    return _machine(row) if row.reservation is None else None


def read(connection: Connection, provider: int) -> FreeMachine | None:
    """Return the machine like ``lock``; nothing is locked. None also if it was deleted."""
    row = compiled.run(connection, _READ, {"provider": provider}).first()
    return None if row is None or row.reservation is not None else _machine(row)


def lock_all(connection: Connection, nodes: Collection[str]) -> None:
    """Lock the machines with these UUIDs, their providers and inventories, and wait for transactions that have locked
    them.

    One row after the other: with several in a statement, a database would choose the order.
    """
    found = connection.execute(select(_NODES.c.id, _NODES.c.uuid).where(_NODES.c.uuid.in_(nodes)))
    uuids = [uuid for _, uuid in sorted(tuple(row) for row in found)]
    for uuid in uuids:
        connection.execute(select(_NODES.c.id).where(_NODES.c.uuid == uuid).with_for_update())
    for uuid in uuids:
        provider = connection.scalar(select(PROVIDERS.c.id).where(PROVIDERS.c.uuid == uuid).with_for_update())
        inventories = select(INVENTORIES.c.resource_class_id).where(INVENTORIES.c.provider_id == provider)
        connection.execute(inventories.order_by(INVENTORIES.c.resource_class_id).with_for_update())


def find(connection: Connection, node: str) -> FreeMachine | None:
    """Return the machine with this UUID, as if it were free. Nothing is locked."""
    row = compiled.run(connection, _FIND, {"node": node}).first()
    return None if row is None else _machine(row)


def _machine(row: Any) -> FreeMachine:
    traits, aggregates = (frozenset(text.split(",") if text else ()) for text in (row.traits, row.aggregates))
    return FreeMachine(row.uuid, row.owner, row.lessee, row.conductor_group, row.resource_class, traits, aggregates)


# -- rows of machines that are free ------------------------------------------------------------------------------------

#: Of this many machines, chosen at random, the first that can be taken is: concurrent choices on several servers of a
#: cluster, which do not see each other's locks, rarely choose the same.
_SAMPLE = 16

#: Databases limit the size of a statement; this is the number of machines in one.
BATCH = 1000


def lock_first(
    session: Session, roots: list[int], clauses: list[ColumnElement[bool]], *, in_order: bool = False
) -> tuple[Node, int] | None:
    """Return the first machine that no other transaction is about to take, with the id of its provider; with
    ``in_order``, the first of the few roots.

    Raises StaleDataError if others take all that fit.

    SELECT n.*, p.id FROM nodes n JOIN resource_providers p ON p.uuid = n.uuid
    JOIN inventories i ON i.provider_id = p.id AND i.resource_class_id = p.mirrored_class_id
    WHERE p.id IN (…) AND i.free = 1 AND … LIMIT 1 FOR UPDATE OF n, i SKIP LOCKED
    """
    # The machines that fit no request in the queue.
    noted = gate.offered(session)
    offered = [root for root in roots if root in noted]
    parts = ([root] for root in roots) if in_order else (*batches_of(offered), *batches_of(roots))
    for part in parts:
        locked = of_roots(part, clauses).limit(1).with_for_update(of=(Node, INVENTORIES), skip_locked=True)
        row = session.execute(locked).first()
        if row is not None:
            return row[0], row[1]
    for part in batches_of(roots):
        if session.execute(of_roots(part, clauses).with_only_columns(Node.id).limit(1)).first():
            raise StaleDataError("the machines that fit are being taken by others")
    return None


def batches_of(roots: list[int]) -> Iterable[list[int]]:
    """Yield the roots in parts, each for one statement: first a few, then many at a time."""
    if roots:
        yield roots[:_SAMPLE]
    for start in range(_SAMPLE, len(roots), BATCH):
        yield roots[start : start + BATCH]


def properties_of(session: Session, roots: list[int]) -> Iterable[Any]:
    """Yield the root providers (ids) that are machines, each with the properties of its node."""
    query = select(PROVIDERS.c.id, Node.properties).join(Node, Node.uuid == PROVIDERS.c.uuid)
    for part in batches_of(roots):
        yield from session.execute(query.where(one_of(PROVIDERS.c.id, part)))


def of_roots(roots: list[int], clauses: Iterable[ColumnElement[bool]]) -> Query:
    """Return the query of ``idle_nodes`` whose providers are among these roots."""
    return idle_nodes(PROVIDERS.c.id.in_(roots) if len(roots) <= _SAMPLE else one_of(PROVIDERS.c.id, roots), *clauses)


def free_nodes(*clauses: ColumnElement[bool]) -> Query:
    """Return the query of nodes that are free now, and open to everybody, with their providers and the inventories of
    their own class."""
    return idle_nodes(availability.IS_OPEN, *clauses)


def idle_nodes(*clauses: ColumnElement[bool]) -> Query:
    """Return the same of nodes that may be closed by planned holds and bookings."""
    return (
        select(Node, PROVIDERS.c.id)
        .select_from(INVENTORIES)
        .join(PROVIDERS, PROVIDERS.c.id == INVENTORIES.c.provider_id)
        .join(Node, Node.uuid == PROVIDERS.c.uuid)
        .where(
            INVENTORIES.c.resource_class_id == PROVIDERS.c.mirrored_class_id,
            INVENTORIES.c.free == 1,
            availability.IS_AVAILABLE,
            Node.reservation.is_(None),
            *clauses,
        )
    )


def lock_free(session: Session, uuid: str) -> Node | None:
    """Return the node, its row and the inventory of its own class locked; None if it is not free. It may be closed to
    others than its next user.

    Raises MachineLocked if another transaction is changing it.
    """
    free = idle_nodes(Node.uuid == uuid).with_only_columns(Node)
    node: Node | None = session.scalars(free.with_for_update(of=(Node, INVENTORIES), skip_locked=True)).first()
    if node is None and session.execute(free.with_only_columns(Node.id)).first() is not None:
        raise MachineLocked(uuid)
    return node


def opened_roots(session: Session, opening: Opening, *clauses: ColumnElement[bool]) -> list[int]:
    """Return the providers (ids) of machines that are free and closed to others, and open to a request with this
    ``opening``; the one whose next booking begins first comes first.

    SELECT p.id FROM inventories i JOIN … JOIN booked_machines kept ON kept.node_id = n.id WHERE <it is free, and open>
    ORDER BY kept.starts_at
    """
    query = idle_nodes(*opening.clauses(), *clauses).join(_KEPT, _KEPT.c.node_id == Node.id)
    rows = session.scalars(query.with_only_columns(PROVIDERS.c.id).order_by(_KEPT.c.starts_at, PROVIDERS.c.id))
    return list(dict.fromkeys(rows))


def of_one_provider(resolved: ResolvedRequest) -> list[ColumnElement[bool]]:
    """Return the conditions on ``free_nodes`` of a request for one class, which one provider serves."""
    (group,) = resolved.groups
    (class_id,) = group.resources
    return [
        INVENTORIES.c.resource_class_id == class_id,
        *conditions.has_traits(PROVIDERS.c.id, group.required, group.forbidden),
        *conditions.has_traits(PROVIDERS.c.id, resolved.root_required, resolved.root_forbidden),
        *single_provider.in_aggregates(PROVIDERS, group),
        *([] if group.tree is None else [PROVIDERS.c.id == group.tree]),
    ]


# -- the candidate that a machine is -----------------------------------------------------------------------------------


def root_of(candidate: Found) -> int | None:
    """Return the id of the root of the candidate's tree; None if its providers are in several trees, none read."""
    if candidate.anchor is not None:
        return candidate.anchor.root_id
    return next(iter(candidate.roots)) if len(candidate.roots) == 1 else None


def claim_of(session: Session, node: Node, root: int, candidate: Found) -> Amounts:
    """Return the amounts of the candidate, completed by 1 of the machine's own class."""
    claim = amounts_of(session, candidate, {root: node.uuid})
    claim.setdefault(node.uuid, {}).setdefault(resource_class_of(node.resource_class or ""), 1)
    return claim


def amounts_of(session: Session, candidate: Found, known: Mapping[int, str]) -> Amounts:
    """Return the amounts of the candidate by UUID; some UUIDs are ``known``. Raises StaleDataError."""
    others = candidate.allocations.keys() - known.keys()
    rows = session.execute(select(PROVIDERS.c.id, PROVIDERS.c.uuid).where(PROVIDERS.c.id.in_(others))) if others else ()
    uuids = {**known, **{row_id: uuid for row_id, uuid in rows}}
    if not uuids.keys() >= candidate.allocations.keys():
        raise StaleDataError("a provider was deleted")
    return {uuids[row_id]: dict(amounts) for row_id, amounts in candidate.allocations.items()}
