"""Loading trees of providers, busy or not, grouped by what they look like to a request."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlalchemy import ColumnElement, Integer, case, func, literal, literal_column, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal.matching.question import Asker
from baremetal_sched.db.models import Node
from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, ResolvedRequest
from baremetal_sched.placement.candidates.sql import provider_rows
from baremetal_sched.placement.candidates.sql.conditions import one_of
from baremetal_sched.placement.candidates.sql.provider_rows import ByText
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider, ProviderRow, TreeInventory
from baremetal_sched.placement.schemas.common import INT32
from baremetal_sched.placement.tables import INVENTORIES, PROVIDER_AGGREGATES, PROVIDER_TRAITS, PROVIDERS, TRAITS
from baremetal_sched.placement.traits import SHARING_TRAIT

_STOCK = INVENTORIES.c
#: Of an inventory: what there is now, and what there would be if nothing of it were used, reserved or withheld.
_INVENTORY = (
    *(_STOCK.resource_class_id, _STOCK.capacity, _STOCK.used, _STOCK.min_unit),
    *(_STOCK.max_unit * (literal_column("1") - _STOCK.withheld), _STOCK.step_size),
    *(_STOCK.total, _STOCK.allocation_ratio, _STOCK.max_unit),
)
_ROWS = select(*provider_rows.columns_of(PROVIDERS, traits=True, inventory=_INVENTORY)).order_by(PROVIDERS.c.id)
_SHARING = PROVIDER_TRAITS.alias("sharing")

#: Inventories as they are, and as they would be if everything were free.
Both = tuple[Mapping[int, TreeInventory], Mapping[int, TreeInventory]]


@dataclass
class Tree:
    """A tree, with the id and the UUID of its root: its providers, and those of other trees that share with it."""

    root_id: int
    uuid: str
    members: list[ProviderRow]
    guests: list[int]


@dataclass
class Shape:
    """Trees that look the same to a request: ``now`` is the one with the least UUID, ``free`` the same as if all were
    free.

    ``rows`` are the rows of the providers of ``now``, and of the sharing ones, in its order.
    """

    now: Anchor
    free: Anchor
    rows: list[ProviderRow]
    trees: list[Tree] = field(default_factory=list)

    @property
    def providers(self) -> list[Provider]:
        """Return the providers of the tree, and the sharing ones."""
        return [*self.now.local, *self.now.sharing]

    @cached_property
    def uuid(self) -> str:
        """The UUID of the root of ``now``."""
        return self.trees[0].uuid


@dataclass(frozen=True)
class Forest:
    """The shapes of all trees, or of a sample of them: each tree whose root has an id that ``step`` divides.

    ``trees`` and ``providers``: how many there are in all.
    """

    shapes: list[Shape]
    trees: int
    providers: int
    step: int

    @property
    def sample(self) -> int | None:
        """How many trees were looked at, if not all were."""
        return sum(len(shape.trees) for shape in self.shapes) if self.step > 1 else None


def load(
    session: Session,
    wanted: ResolvedRequest,
    asker: Asker,
    roots: ColumnElement[bool] | None,
    most: int,
    limit: TimeLimit,
) -> Forest:
    """Load the trees that ``asker`` may use, of at most about ``most`` providers. Raises TookTooLong.

    ``roots``: a condition on ``PROVIDERS.c.root_id`` that says which trees instead.
    """
    which = _usable(asker) if roots is None else [roots]
    counted = select(func.count(), func.sum(case((PROVIDERS.c.parent_id.is_(None), 1), else_=0))).where(*which)
    providers, trees = session.execute(counted.select_from(PROVIDERS)).one()
    step = max(1, -(-providers // most))
    if step > 1:
        which.append(PROVIDERS.c.root_id % literal(step, Integer) == 0)
    shapes = _Loader(session, wanted, limit).shapes(which, _guests(asker))
    return Forest(shapes, int(trees or 0), providers, step)


def _usable(asker: Asker) -> list[ColumnElement[bool]]:
    """Trees whose root is a node that may be used: p.root_id IN (SELECT r.id FROM resource_providers r JOIN nodes …)"""
    if asker.project is None:
        return []
    root = aliased(PROVIDERS)
    mine = select(root.c.id).join(Node, Node.uuid == root.c.uuid).where(*asker.usable())
    return [PROVIDERS.c.root_id.in_(mine)]


def _guests(asker: Asker) -> list[ColumnElement[bool]]:
    """The sharing providers that are not in trees of nodes that may not be used."""
    shares = PROVIDERS.c.id.in_(
        select(_SHARING.c.provider_id).where(_SHARING.c.trait_id == TRAITS.c.id, TRAITS.c.name == SHARING_TRAIT)
    )
    if asker.project is None:
        return [shares]
    root = aliased(PROVIDERS)
    node = select(root.c.id).join(Node, Node.uuid == root.c.uuid)
    return [shares, PROVIDERS.c.root_id.not_in(node) | PROVIDERS.c.root_id.in_(node.where(*asker.usable()))]


class _Loader:
    """Reads rows and makes shapes of them."""

    def __init__(self, session: Session, wanted: ResolvedRequest, limit: TimeLimit) -> None:
        self._session = session
        self._wanted = wanted
        self._limit = limit
        groups = wanted.groups
        classes = frozenset(wanted.class_names)
        traits = wanted.root_forbidden.union(
            *wanted.root_required, *(group.forbidden.union(*group.required) for group in groups)
        )
        self._stock = ByText(lambda text: _stock(classes, text))
        self._traits = ByText(lambda text: traits.intersection(trait_ids.ids_in(text)))
        self._pinned = {group.tree for group in groups if group.tree is not None}
        self._mentioned = set[int]().union(*(group.not_member_of.union(*group.member_of) for group in groups))
        self._sharing: dict[int, ProviderRow] = {}
        self._aggregates: dict[int, set[int]] = defaultdict(set)
        self._sharing_in: dict[int, list[int]] = defaultdict(list)
        self._above: dict[int, int | None] = {}

    def shapes(self, which: Sequence[ColumnElement[bool]], guests: Sequence[ColumnElement[bool]]) -> list[Shape]:
        """Return the shapes of the trees of which all providers meet ``which``; ``guests``: the possible sharing
        providers."""
        self._sharing = {row.id: row for row in self._read(guests)}
        self._read_aggregates(PROVIDERS.c.id, self._sharing, None)
        for row_id in self._sharing:
            for aggregate in self._aggregates[row_id]:
                self._sharing_in[aggregate].append(row_id)
        self._mentioned |= self._sharing_in.keys()
        if self._wanted.same_subtrees and self._sharing:
            roots = {row.root_id for row in self._sharing.values()}
            query = select(PROVIDERS.c.id, PROVIDERS.c.parent_id).where(one_of(PROVIDERS.c.root_id, roots))
            self._above = {row_id: parent_id for row_id, parent_id in self._session.execute(query)}
        members: dict[int, list[ProviderRow]] = defaultdict(list)
        for row in self._read(which):
            members[row.root_id].append(row)
        if self._mentioned:
            self._read_aggregates(PROVIDERS.c.root_id, None, which)
        found: dict[Hashable, list[Tree]] = defaultdict(list)
        for root_id, local in members.items():
            self._limit.check()
            root = next((row for row in local if row.id == root_id), None)
            # A root may have been moved meanwhile.
            if root is not None:
                tree = Tree(root_id, root.uuid, local, self._guests_of(root_id, local))
                found[self._look(tree)].append(tree)
        return [self._shape(trees) for trees in found.values()]

    def _read(self, which: Sequence[ColumnElement[bool]]) -> list[ProviderRow]:
        return [ProviderRow._make(row) for row in self._session.execute(_ROWS.where(*which)).all()]

    def _read_aggregates(
        self, column: ColumnElement[int], ids: Collection[int] | None, which: Sequence[ColumnElement[bool]] | None
    ) -> None:
        row = PROVIDER_AGGREGATES.c
        if ids is not None and not ids:
            return
        query = select(row.provider_id, row.aggregate_id).where(PROVIDERS.c.id == row.provider_id)
        query = query.where(one_of(column, ids)) if ids is not None else query.where(*(which or ()))
        if ids is None:
            query = query.where(one_of(row.aggregate_id, self._mentioned))
        for row_id, aggregate in self._session.execute(query):
            self._aggregates[row_id].add(aggregate)

    def _guests_of(self, root_id: int, local: Iterable[ProviderRow]) -> list[int]:
        if not self._sharing_in:
            return []
        near = {aggregate for row in local for aggregate in self._aggregates.get(row.id, ())}
        found = {row_id for aggregate in near for row_id in self._sharing_in.get(aggregate, ())}
        return sorted(row_id for row_id in found if self._sharing[row_id].root_id != root_id)

    def _look(self, tree: Tree) -> Hashable:
        """All that a request sees of a tree, but for ids: trees with the same look are the same to it."""
        places: dict[int | None, int] = {row.id: place for place, row in enumerate(tree.members)}
        shares = self._sharing
        look = tuple(
            (
                places.get(row.parent_id),
                self._stock[row.stock],
                self._traits[row.traits],
                frozenset(self._aggregates.get(row.id, ())) if self._mentioned else None,
                row.id if row.id in shares else None,
            )
            for row in tree.members
        )
        return look, tuple(tree.guests), tree.root_id if tree.root_id in self._pinned else None

    def _shape(self, trees: list[Tree]) -> Shape:
        trees.sort(key=lambda tree: tree.uuid)
        tree = trees[0]
        guests = [self._sharing[row_id] for row_id in tree.guests]
        now, free = (self._anchor(tree, guests, place) for place in (0, 1))
        return Shape(now, free, [*tree.members, *guests], trees)

    def _anchor(self, tree: Tree, guests: list[ProviderRow], which: int) -> Anchor:
        local = [self._provider(row, which) for row in tree.members]
        root = next(provider for provider in local if provider.id == tree.root_id)
        return Anchor(root, local, [self._provider(row, which) for row in guests], self._above)

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


def _stock(classes: frozenset[int], text: str) -> Both:
    now: dict[int, TreeInventory] = {}
    free: dict[int, TreeInventory] = {}
    for name, capacity, used, least, most, step, total, ratio, unit in provider_rows.inventories(text):
        if name in classes:
            # More than a column holds is never given.
            left = min(capacity - used, INT32)
            now[name] = TreeInventory(left, least, most, step)
            whole = min(total * ratio, float(INT32))
            free[name] = TreeInventory(int(whole), least, unit, step)
    return _ordered(now), _ordered(free)


def _ordered(stock: dict[int, TreeInventory]) -> Mapping[int, TreeInventory]:
    return FrozenDict(sorted(stock.items()))
