"""A request of a bare metal allocation: which node it gets, and the conditions on nodes."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.matching.conditions import (
    CLASS,
    Condition,
    availability_conditions,
    available,
    of_candidates,
    of_claim,
    of_conductor,
    of_forbidden,
    of_lock,
    of_node_class,
    of_owner,
    of_traits,
)
from baremetal_sched.baremetal.matching.free_machine import FreeMachine
from baremetal_sched.baremetal.matching.opening import Opening
from baremetal_sched.baremetal.matching.question import Names, Question, Scope, nodes_source
from baremetal_sched.baremetal.matching.request import Amounts, FreeMachines, Host, MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.spreading import STRICT_END, Several, with_group
from baremetal_sched.baremetal.nodes.traits import has_any
from baremetal_sched.baremetal.schemas.allocations import TraitEntry
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.models import Node, ResourceClass, ResourceProvider
from baremetal_sched.db.types import Query
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import SuitableNodesLocked
from baremetal_sched.placement import gate, names
from baremetal_sched.placement.candidates.sql.conditions import by_index, unjoined
from baremetal_sched.placement.names import resource_class_of
from baremetal_sched.placement.tables import INVENTORIES

#: How many suitable nodes are read at a time; one of them is then taken.
_BATCH = 20


@dataclass(frozen=True)
class NodeRequest(MachineRequest):
    """The requirements of an allocation.

    ``resource_class`` is called as nodes have it. ``candidates`` are UUIDs of nodes, empty for all. ``name``: the node
    with this name is preferred. Only ``eligible`` nodes are considered and mentioned.
    """

    resource_class: str
    traits: Sequence[TraitEntry] = ()
    candidates: Sequence[str] = ()
    owner: str | None = None
    name: str | None = None
    eligible: Visibility = EVERYTHING

    served = False

    @property
    def project(self) -> str | None:
        """The project whose nodes are considered; None: all nodes are."""
        return None if self.eligible.everything else self.eligible.project or ""

    def of_anyone(self) -> Self:
        """Return the same request without a project and a group."""
        return replace(self, eligible=EVERYTHING, several=None)

    def may_use(self, owner: str | None, lessee: str | None) -> bool:
        """Return whether it considers a machine with this owner and this lessee."""
        return self.eligible.covers(owner, lessee)

    def document(self) -> dict[str, Any]:
        """Return it as JSON: equal documents ask for the same. The preferred name is not part of it."""
        own = {
            "resource_class": self.resource_class,
            "traits": sorted(entry.text for entry in self.traits),
            "candidates": sorted(self.candidates),
            "owner": self.owner,
            "project": self.project,
        }
        return with_group(own, self.several, strict_end=self.strict_end)

    def needed_trait(self) -> str | None:
        """Return a trait that every node must have; None if there is none."""
        plain = (each.names for each in self.traits if not each.forbidden and len(each.names) == 1)
        return min((name for names in plain for name in names), default=None)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "NodeRequest":
        """Return what ``document`` was made of."""
        project = document["project"]
        return cls(
            document["resource_class"],
            [TraitEntry(text) for text in document["traits"]],
            document["candidates"],
            document["owner"],
            eligible=EVERYTHING if project is None else Visibility(project),
            several=Several.read(document),
            strict_end=document.get(STRICT_END, False),
        )

    def machine_class(self) -> str:
        """Return the class of the node in placement, which may not exist yet."""
        return resource_class_of(self.resource_class)

    def on(self, node: str) -> Self | None:
        """Return the request for this node (UUID) only; None if it is not among the candidates."""
        return replace(self, candidates=(node,)) if node in (self.candidates or (node,)) else None

    def choose(self, context: MachineContext) -> Host | None:
        """Return a free node that fits, like ``choose_unlocked``; None if conductors work on all that fit."""
        try:
            return self.choose_unlocked(context)
        except SuitableNodesLocked:
            return None

    def choose_unlocked(self, context: MachineContext) -> Host | None:
        """Return a free node that fits, preferably the one with the allocation's name, with its row and its inventory
        locked; None if no node fits. If the context has an end, nodes without a hold that is planned before it come
        first.

        Raises StaleDataError if all nodes that fit are being changed by other transactions, SuitableNodesLocked if
        conductors are working on them.
        """
        *preferred, last = self.turns(context)
        for each in preferred:
            with suppress(SuitableNodesLocked):
                if (host := self._unlocked(each)) is not None:
                    return host
        return self._unlocked(last)

    def _unlocked(self, context: MachineContext) -> Host | None:
        session = context.session
        class_id = self._class_id(session)
        if class_id is None:
            return None
        fitting = free_nodes_of(class_id, self, context.opening)
        unlocked = fitting.where(of_lock(counts=True).holds)
        batches: Iterable[list[int]] = _batches(session, unlocked, class_id, self)
        if context.opening.is_of_gaps:
            batches = [[node_id] for node_id in _by_gap(session, unlocked, context.opening)]
            if not batches:
                return None
        for node_ids in batches:
            node = _lock_one(session, unlocked, node_ids)
            if node is not None:
                calendar = context.calendars([node.id]).get(node.id)
                return Host(node, {node.uuid: {self.machine_class(): 1}}, calendar)
        _require_none(session, fitting)
        return None

    def hosts(self, context: MachineContext, limit: int) -> list[tuple[str, Amounts]]:
        """Return free nodes that fit, at most ``limit``, and the amounts to claim. Nothing is locked."""
        free = self.free_machines(self.bound(context))
        query = None if free is None else free.query.with_only_columns(Node.uuid).limit(limit)
        found = () if query is None else context.session.scalars(query)
        return [(uuid, {uuid: {self.machine_class(): 1}}) for uuid in found]

    def free_machines(self, context: MachineContext, *, remembers: bool = False) -> FreeMachines | None:
        """Return the nodes that fit and are free and unlocked; None if there is no such class."""
        class_id, own = self._class_id(context.session), self.machine_class()
        if class_id is None:
            return None
        query = free_nodes_of(class_id, self, context.opening).where(Node.reservation.is_(None))
        return FreeMachines(query, lambda node, root: {node.uuid: {own: 1}}, class_id)

    def _class_id(self, session: Session) -> int | None:
        own = self.machine_class()
        return names.ids_of(session, ResourceClass, [own]).get(own)

    def question(self, context: MachineContext | None) -> Question:
        """Return the question which nodes an allocation can get. Locks count; conductors are only reported, and only
        with a context."""
        served = [] if context is None else [of_conductor(context.membership, counts=False)]
        traits = {name for entry in self.traits for name in entry.names}
        return Question(
            [
                *self.places,
                *self.of_traits,
                *availability_conditions(None if context is None else self.bound(context).opening),
                of_claim(),
                of_lock(counts=True),
                *served,
            ],
            nodes_source(),
            tuple(self.eligible.conditions()),
            Names([self.resource_class], sorted(traits), of_nodes=True),
            scope=_scope(self.resource_class),
        )

    @cached_property
    def places(self) -> list[Condition]:
        """The conditions other than traits."""
        return [
            of_node_class(self.resource_class),
            *([of_candidates(self.candidates)] if self.candidates else []),
            *([] if self.owner is None else [of_owner(self.owner)]),
        ]

    @cached_property
    def of_traits(self) -> list[Condition]:
        """The conditions on traits. Traits that a scheduler has added are not the node's."""
        return [
            of_forbidden(entry.names[0], has=has_any, own=True)
            if entry.forbidden
            else of_traits(frozenset(entry.names), has=has_any)
            for entry in self.traits
        ]

    def may_fit(self, machine: FreeMachine) -> bool:
        """Return False if the machine certainly does not fit; True if the search must tell."""
        is_seen = self.eligible.covers(machine.owner, machine.lessee)
        return is_seen and all(condition.met_by(machine) for condition in (*self.places, *self.of_traits))

    def is_decided(self) -> bool:
        """Return False: traits that only a scheduler has are not the node's."""
        return False


def uuids_of(session: Session, idents: Sequence[str], visible: Visibility) -> list[str]:
    """Return the UUIDs of the visible nodes that are named by UUID or name, in this order. Raises InvalidValue for
    nodes that do not exist."""
    canonical = {ident: canonical_uuid(ident) for ident in idents}
    rows = session.execute(
        select(Node.uuid, Node.name).where(
            Node.uuid.in_([uuid for uuid in canonical.values() if uuid])
            | Node.name.in_([ident for ident, uuid in canonical.items() if not uuid]),
            *visible.conditions(),
        )
    ).all()
    known = {uuid: uuid for uuid, _ in rows} | {name: uuid for uuid, name in rows if name is not None}
    missing = [ident for ident in idents if (canonical[ident] or ident) not in known]
    if missing:
        raise InvalidValue(message=f"Nodes cannot be found: {', '.join(missing)}")
    return list(dict.fromkeys(known[canonical[ident] or ident] for ident in idents))


def _scope(resource_class: str) -> Scope:
    of_class = Node.resource_class == resource_class
    return Scope(
        (f"{CLASS}{resource_class}",), of_class, Node.id, select(func.count()).where(of_class).select_from(Node)
    )


def _require_none(session: Session, fitting: Query) -> None:
    """Raise like ``choose`` if nodes do fit, whether conductors have locked them or not."""
    locked = Node.reservation.is_not(None)
    rows = session.execute(fitting.with_only_columns(locked, func.count()).group_by(locked)).all()
    found = {bool(is_locked): count for is_locked, count in rows}
    if found.get(False):
        raise StaleDataError("the nodes that fit are being changed by others")
    if found:
        raise SuitableNodesLocked(count=found[True])


def free_nodes_of(class_id: int, request: NodeRequest, opening: Opening) -> Query:
    """Return the query of the free nodes that fit, as far as holds and bookings leave them to the request, locked by
    conductors or not:

    SELECT n.id, i.provider_id FROM inventories i JOIN resource_providers p … JOIN nodes n ON n.uuid = p.uuid WHERE
    i.resource_class_id = :class AND i.free = 1 AND …

    The index over free capacity yields the free nodes one by one (the inventory of a node has a total of 1).
    """
    traits = unjoined([each.holds for each in request.of_traits])
    others = [*(each.holds for each in request.places), *available(opening)]
    return (
        select(Node.id, INVENTORIES.c.provider_id)
        .select_from(INVENTORIES)
        .join(ResourceProvider, ResourceProvider.id == INVENTORIES.c.provider_id)
        .join(Node, Node.uuid == ResourceProvider.uuid)
        .where(INVENTORIES.c.resource_class_id == class_id, INVENTORIES.c.free == 1)
        .where(*request.eligible.conditions(), *others, *traits)
    )


def _by_gap(session: Session, fitting: Query, opening: Opening) -> list[int]:
    """Return ids of some nodes that fit, those with the shortest gaps first."""
    return list(dict.fromkeys(session.scalars(opening.by_gap(fitting).limit(_BATCH))))


def _batches(session: Session, fitting: Query, class_id: int, request: NodeRequest) -> Iterator[list[int]]:
    """Yield ids of nodes that fit, a few at a time: first the one with the allocation's name, then the candidates, or
    all nodes from a random starting point and around the end. So machines wear evenly, and concurrent searches on
    different servers of a cluster, which do not see each other's locks, rarely choose the same node."""
    offered = gate.offered(session)
    if offered:  # the nodes that fit no request in the queue
        yield list(session.scalars(fitting.where(INVENTORIES.c.provider_id.in_(offered))))
    if request.name is not None:
        yield list(session.scalars(fitting.where(Node.name == request.name)))
    if request.candidates:
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

    A node that another transaction is about to take is skipped. (SQLite has no row locks: there, a transaction that
    writes is alone. On several servers of a cluster, the conditional update of the claim detects the conflict, and the
    transaction is retried.)
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
