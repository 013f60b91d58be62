"""The trees that an explanation examines, busy or not. Trees that look the same to a request are one shape."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    and_,
    case,
    exists,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
)
from sqlalchemy.orm import aliased

from baremetal_sched.baremetal.matching import free_machine
from baremetal_sched.baremetal.matching.conditions import CLASS, Condition, of_class, of_forbidden, of_traits
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.db.models import Node
from baremetal_sched.db.types import Query
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates.request.query import CandidateRequest
from baremetal_sched.placement.candidates.request.resolve import look_up, with_unknown
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, ResolvedRequest
from baremetal_sched.placement.candidates.sql import conditions, provider_rows
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.sql.provider_rows import ByText
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider, ProviderRow, TreeInventory
from baremetal_sched.placement.names import is_custom
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import (
    CLASSES,
    INVENTORIES,
    PROVIDER_AGGREGATES,
    PROVIDER_TRAITS,
    PROVIDERS,
    SHARING_TRAIT,
    TRAITS,
)

_STOCK = INVENTORIES.c


def _rows(offered: ColumnElement[int]) -> Query:
    """Return the query of providers, with columns of each inventory: the amount now, if it is ``offered``, and the
    amount if nothing of it were used, reserved, withheld or closed."""
    now = (_STOCK.capacity, _STOCK.used, _STOCK.min_unit, _STOCK.max_unit * offered, _STOCK.step_size)
    inventory = (_STOCK.resource_class_id, *now, _STOCK.total, _STOCK.allocation_ratio, _STOCK.max_unit)
    return select(*provider_rows.columns_of(PROVIDERS, traits=True, inventory=inventory)).order_by(PROVIDERS.c.id)


_ROWS = _rows(provider_rows.OFFERED)
_SHARING = PROVIDER_TRAITS.alias("sharing")

#: Inventories as they are, and as they would be if everything were free.
Both = tuple[Mapping[int, TreeInventory], Mapping[int, TreeInventory]]


@dataclass
class Tree:
    """A tree, with the id and the UUID of its root: its providers, and those of other trees that share with it."""

    root_id: int
    uuid: str
    members: list[ProviderRow]
    guests: list[ProviderRow]


@dataclass
class Shape:
    """Trees that look the same to a request, by UUID: ``now`` is the first, ``free`` the same as if all were free.

    ``rows`` are those of its providers, and of the providers that share with it; ``providers`` are the same as they
    are, and as they would be if they were free.
    """

    now: Anchor
    free: Anchor
    rows: list[ProviderRow]
    providers: list[tuple[Provider, Provider]]
    trees: list[Tree]

    @property
    def uuid(self) -> str:
        """The UUID of the root of ``now``."""
        return self.trees[0].uuid


class Forest:
    """The trees that the project of the context may use, or the ones that meet ``roots``, a condition on
    ``PROVIDERS.c.root_id``.

    If there are more providers than an explanation looks at, a sample is loaded: each tree whose root has an id that
    ``step`` divides. ``trees`` and ``providers`` count all of them. Raises TookTooLong.
    """

    def __init__(
        self,
        context: MachineContext,
        resolved: ResolvedRequest,
        roots: ColumnElement[bool] | None,
        limit: TimeLimit,
    ) -> None:
        self._session = session = context.session
        which = _usable(context) if roots is None else [roots]
        number_of_roots = func.sum(case((PROVIDERS.c.parent_id.is_(None), 1), else_=0))
        counted = select(func.count(), func.coalesce(number_of_roots, 0)).select_from(PROVIDERS).where(*which)
        self.providers, trees = session.execute(counted).one()
        self.trees = int(trees)
        self.step = max(1, -(-self.providers // context.settings.scheduling.explain_max_nodes))
        if self.step > 1:
            which.append(PROVIDERS.c.root_id % literal(self.step, Integer) == 0)
        groups, classes = resolved.groups, frozenset(resolved.class_names)
        traits = resolved.root_forbidden.union(
            *resolved.root_required, *(group.forbidden.union(*group.required) for group in groups)
        )
        self._stock = ByText(lambda text: _stock(classes, text))
        self._traits = ByText(lambda text: traits.intersection(trait_ids.ids_in(text)))
        self._pinned = {group.tree for group in groups if group.tree is not None}
        self._aggregates: dict[int, set[int]] = defaultdict(set)
        self._rows = _ROWS
        if not context.opening.is_plain:
            opened = one_of(PROVIDERS.c.root_id, free_machine.opened_roots(session, context.opening))
            self._rows = _rows(case((opened, literal_column("1") - _STOCK.withheld), else_=provider_rows.OFFERED))
        self._sharing = {row.id: row for row in self._read(_guests(context))}
        self._sharing_in: dict[int, list[ProviderRow]] = defaultdict(list)
        if self._sharing:
            self._read_aggregates(one_of(PROVIDERS.c.id, self._sharing))
        for row in self._sharing.values():
            for aggregate in self._aggregates[row.id]:
                self._sharing_in[aggregate].append(row)
        self._mentioned = {*self._sharing_in}.union(*(group.not_member_of.union(*group.member_of) for group in groups))
        self._above = self._parents() if resolved.same_subtrees and self._sharing else {}
        self.shapes = self._shapes(which, limit)

    @property
    def sample(self) -> int | None:
        """How many trees were looked at, if not all were."""
        return sum(len(shape.trees) for shape in self.shapes) if self.step > 1 else None

    def _read(self, which: Sequence[ColumnElement[bool]]) -> list[ProviderRow]:
        return [ProviderRow._make(row) for row in self._session.execute(self._rows.where(*which)).all()]

    def _read_aggregates(self, *which: ColumnElement[bool]) -> None:
        row = PROVIDER_AGGREGATES.c
        query = select(row.provider_id, row.aggregate_id).where(PROVIDERS.c.id == row.provider_id, *which)
        for row_id, aggregate in self._session.execute(query):
            self._aggregates[row_id].add(aggregate)

    def _parents(self) -> dict[int, int | None]:
        """The parents of all providers in the trees of the providers that share, by id."""
        roots = {row.root_id for row in self._sharing.values()}
        query = select(PROVIDERS.c.id, PROVIDERS.c.parent_id).where(one_of(PROVIDERS.c.root_id, roots))
        return {row_id: parent_id for row_id, parent_id in self._session.execute(query)}

    def _shapes(self, which: Sequence[ColumnElement[bool]], limit: TimeLimit) -> list[Shape]:
        members: dict[int, list[ProviderRow]] = defaultdict(list)
        for row in self._read(which):
            members[row.root_id].append(row)
        if self._mentioned:
            self._read_aggregates(one_of(PROVIDER_AGGREGATES.c.aggregate_id, self._mentioned), *which)
        same: dict[Hashable, list[Tree]] = defaultdict(list)
        for root_id, local in members.items():
            limit.check()
            root = next((row for row in local if row.id == root_id), None)
            # A root may have been moved since.
            if root is not None:
                tree = Tree(root_id, root.uuid, local, self._guests_of(root_id, local))
                same[self._signature(tree)].append(tree)
        return [self._shape(sorted(trees, key=lambda tree: tree.uuid)) for trees in same.values()]

    def _guests_of(self, root_id: int, local: Iterable[ProviderRow]) -> list[ProviderRow]:
        near = {aggregate for row in local for aggregate in self._aggregates.get(row.id, ())}
        found = {row.id: row for aggregate in near for row in self._sharing_in.get(aggregate, ())}
        return [row for _, row in sorted(found.items()) if row.root_id != root_id]

    def _signature(self, tree: Tree) -> Hashable:
        """The properties of a tree that a request can see, without ids: trees with the same signature are the same to
        it."""
        places: dict[int | None, int] = {row.id: place for place, row in enumerate(tree.members)}
        members = tuple(
            (
                places.get(row.parent_id),
                self._stock[row.stock],
                self._traits[row.traits],
                frozenset(self._aggregates.get(row.id, ())) if self._mentioned else None,
                row.id if row.id in self._sharing else None,
            )
            for row in tree.members
        )
        guests = tuple(row.id for row in tree.guests)
        return members, guests, tree.root_id if tree.root_id in self._pinned else None

    def _shape(self, trees: list[Tree]) -> Shape:
        tree = trees[0]
        now, free = (self._anchor(tree, which) for which in (0, 1))
        pairs = zip([*now.local, *now.sharing], [*free.local, *free.sharing], strict=True)
        return Shape(now, free, [*tree.members, *tree.guests], list(pairs), trees)

    def _anchor(self, tree: Tree, which: int) -> Anchor:
        local, guests = ([self._provider(row, which) for row in rows] for rows in (tree.members, tree.guests))
        root = next(provider for provider in local if provider.id == tree.root_id)
        return Anchor(root, local, guests, self._above)

    def _provider(self, row: ProviderRow, which: int) -> Provider:
        return Provider(
            row.id,
            row.root_id,
            row.parent_id,
            row.id in self._sharing,
            self._traits[row.traits],
            self._aggregates.get(row.id, set()),
            self._stock[row.stock][which],
        )


def _usable(context: MachineContext) -> list[ColumnElement[bool]]:
    """Trees whose root is a node that may be used: p.root_id IN (SELECT r.id FROM resource_providers r JOIN nodes …)"""
    if context.project is None:
        return []
    root = aliased(PROVIDERS)
    mine = select(root.c.id).join(Node, Node.uuid == root.c.uuid).where(*context.usable())
    return [PROVIDERS.c.root_id.in_(mine)]


def _guests(context: MachineContext) -> list[ColumnElement[bool]]:
    """The sharing providers that are not in trees of nodes that may not be used."""
    shares = _shares(PROVIDERS.c.id)
    if context.project is None:
        return [shares]
    root = aliased(PROVIDERS)
    node = select(root.c.id).join(Node, Node.uuid == root.c.uuid)
    return [shares, PROVIDERS.c.root_id.not_in(node) | PROVIDERS.c.root_id.in_(node.where(*context.usable()))]


def _stock(classes: frozenset[int], text: str) -> Both:
    """The inventories of the classes."""
    now: dict[int, TreeInventory] = {}
    free: dict[int, TreeInventory] = {}
    for name, capacity, used, least, most, step, total, ratio, unit in provider_rows.inventories(text):
        if name in classes:
            # More than a column holds is never given.
            left = min(capacity - used, INT32)
            now[name] = TreeInventory(left, least, most, step)
            whole = min(total * ratio, float(INT32))
            free[name] = TreeInventory(int(whole), least, unit, step)
    return FrozenDict(sorted(now.items())), FrozenDict(sorted(free.items()))


# -- conditions on the trees of nodes ----------------------------------------------------------------------------------

#: Classes that a flavor asks for unless it says otherwise, and that machines do not have.
BASE_CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB")

_OF_NODE = PROVIDERS.alias("of_node")
_MEMBER = PROVIDERS.alias("member")
_OWN = INVENTORIES.alias("own")

#: A member of the node's tree. (PostgreSQL takes ten times as long if the root is a subquery.)
_IN_TREE = and_(_OF_NODE.c.uuid == Node.uuid, _MEMBER.c.root_id == _OF_NODE.c.root_id)
_IS_ROOT = _MEMBER.c.uuid == Node.uuid


def conditions_on_trees(connection: Connection, request: CandidateRequest) -> list[Condition]:
    """Return the conditions of the groups, each on a node's tree as a whole: custom classes first, then others, then
    traits. A node whose tree meets them all may still have no candidate."""
    groups = request.groups.values()
    traits = with_unknown(request, look_up(connection, request)).traits
    amounts: dict[str, int] = {}
    for group in groups:
        for name, amount in group.resources.items():
            amounts[name] = max(amount, amounts.get(name, 0))
    ordered = sorted(amounts, key=lambda name: (not is_custom(name), name not in BASE_CLASSES, _place(name), name))
    required = {names for group in groups for names in group.traits.required if len(names) == 1}
    forbidden = {name for group in groups if not group.suffix for name in group.traits.forbidden}

    def has(names: frozenset[str]) -> ColumnElement[bool]:
        return conditions.has_trait(_MEMBER.c.id, frozenset(traits[name] for name in names))

    def required_of(names: frozenset[str]) -> ColumnElement[bool]:
        return _offers(*alone, has(names)) if alone else _has_member(_IN_TREE, has(names))

    def forbidden_of(names: frozenset[str]) -> ColumnElement[bool]:
        return ~_offers(*alone, ~has(names)) if alone else _has_member(_IS_ROOT, has(names))

    # Where one provider gives all, its own traits count.
    alone = next(iter(amounts.items())) if len(groups) == len(amounts) == 1 else None
    return [
        *(_class(name, amounts[name]) for name in ordered),
        *(of_traits(names, has=required_of) for names in sorted(required, key=min)),
        *(of_forbidden(name, has=forbidden_of) for name in sorted(forbidden)),
    ]


def _class(name: str, amount: int) -> Condition:
    condition = Condition(f"{CLASS}{name}", f"offers {name}") if amount == 1 else of_class(name, amount)
    return replace(condition, holds=_offers(name, amount))


def _place(resource_class: str) -> int:
    """Return the position of a base class among the base classes; 0 for other classes."""
    return BASE_CLASSES.index(resource_class) if resource_class in BASE_CLASSES else 0


def _offers(name: str, amount: int, *of_giver: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition that a provider of the node's tree has the amount of the class, in use or not, and meets
    ``of_giver``; shared resources count for every node.

    EXISTS (SELECT … FROM resource_providers m WHERE m.root_id = <the node's root> AND EXISTS ( SELECT … FROM
    inventories i JOIN resource_classes c … WHERE i.provider_id = m.id AND c.name = :name AND i.total - i.reserved >=
    :amount)) OR EXISTS (the same of an m that shares)

    Nested, so that a database looks at the tree of each node, and not at all providers of the class.
    """
    if amount > INT32:
        return false()  # more than any column holds: databases refuse to compare it
    total = _OWN.c.total - _OWN.c.reserved
    of_class = (
        CLASSES.c.name == name,
        _OWN.c.resource_class_id == CLASSES.c.id,
        _OWN.c.provider_id == _MEMBER.c.id,
    )
    own = or_(total >= amount, and_(_IS_ROOT, _OWN.c.total >= amount))
    stock = exists().where(*of_class, own).correlate_except(_OWN, CLASSES)
    sharing = (*of_class, total >= amount, _shares(_MEMBER.c.id), *of_giver)
    shared = exists().where(*sharing).correlate_except(_OWN, CLASSES, _MEMBER)
    return or_(_has_member(_IN_TREE, stock, *of_giver), shared)


def _has_member(*of_member: ColumnElement[bool]) -> ColumnElement[bool]:
    found: ColumnElement[bool] = exists().where(*of_member).correlate_except(_MEMBER, _OF_NODE)
    return found


def _shares(provider_id: Any) -> ColumnElement[bool]:
    """Return the condition that the provider shares what it has with the aggregates that it is in."""
    found: ColumnElement[bool] = provider_id.in_(
        select(_SHARING.c.provider_id).where(_SHARING.c.trait_id == TRAITS.c.id, TRAITS.c.name == SHARING_TRAIT)
    )
    return found
