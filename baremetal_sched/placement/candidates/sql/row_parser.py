"""Rows as providers, as far as a request asks about them."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property, partial

from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, ResolvedRequest
from baremetal_sched.placement.candidates.sql import provider_rows
from baremetal_sched.placement.candidates.sql.provider_rows import ByText
from baremetal_sched.placement.candidates.trees.providers import (
    Anchor,
    Provider,
    ProviderRow,
    RequestedAmounts,
    TreeInventory,
)


class Parser:
    """Makes providers of rows."""

    def __init__(self, resolved: ResolvedRequest) -> None:
        groups = resolved.groups
        least = min(amount for group in groups for amount in group.resources.values())
        asked_traits = resolved.root_forbidden.union(
            *resolved.root_required, *(group.forbidden.union(*group.required) for group in groups)
        )
        self._all_matter = not all(group.resources for group in groups)
        self._ancestors_matter = bool(resolved.same_subtrees)
        # Nothing here refers to the parser: it would stay in memory until the garbage collector runs.
        inventories = self._inventories = ByText(partial(_inventories, frozenset(resolved.class_names), least))
        self._traits = ByText(lambda text: asked_traits.intersection(trait_ids.ids_in(text)))
        asked = RequestedAmounts(resolved)
        self._given = ByText(lambda text: asked.given_by(inventories[text]))

    def members(self, tree: Sequence[ProviderRow], sharing: Collection[int]) -> list[Provider]:
        """Return the providers of a tree that matter: those that may give something, and the root; ancestors if
        subtrees are asked for; all if a group requests no resources. ``sharing``: ids of the providers that share."""
        parents = {row.parent_id for row in tree} if self._ancestors_matter else ()
        found = []
        for row_id, _, parent, root, stock, traits in tree:
            inventories = self._inventories[stock]
            if inventories or not parent or row_id in parents or self._all_matter:
                asked = self._traits[traits]
                found.append(Provider(row_id, root, parent, row_id in sharing, asked, set(), inventories))
        return found

    def signature(self, tree: Sequence[ProviderRow]) -> Hashable:
        """``Anchor.signature`` of a tree that is alone, for a request without aggregates."""
        given, asked = self._given, self._traits
        places: dict[int | None, int] = {}
        signature: list[Hashable] = []
        for place, (row_id, _, parent, _, stock, traits) in enumerate(tree):
            places[row_id] = place
            # A parent that comes later, which is rare, stays an id: no other tree looks like this one.
            signature += (places.get(parent, parent), given[stock], asked[traits])
        return tuple(signature)


def _inventories(classes: frozenset[int], least: int, stock: str) -> Mapping[int, TreeInventory]:
    """Return the inventories of ``classes`` that have at least ``least`` left, by class id."""
    return FrozenDict(
        (class_id, TreeInventory(capacity - used, *limits))
        for class_id, capacity, used, *limits in provider_rows.inventories(stock)
        if class_id in classes and capacity - used >= least
    )


def has_root(tree: Sequence[ProviderRow]) -> bool:
    """Return whether the root is among the rows. It may have been moved meanwhile."""
    return any(row.parent_id is None for row in tree)


class UnparsedTree(Anchor):
    """A tree as it was read, which is alone.

    Providers are made of it on demand: seldom, as most trees have the signature of another one.
    """

    def __init__(self, rows: Sequence[ProviderRow], parser: Parser) -> None:
        self.sharing, self.above, self.rows = [], {}, rows
        self._parser = parser

    @cached_property
    def local(self) -> list[Provider]:  # type: ignore[override] # mypy does not know that it can be set
        return self._parser.members(self.rows, ())

    @cached_property
    def root(self) -> Provider:  # type: ignore[override]
        return next(provider for provider in self.local if provider.parent_id is None)

    @property
    def is_alone(self) -> bool:
        return True

    @property
    def root_id(self) -> int:
        return self.rows[0].root_id

    @property
    def ids(self) -> list[int]:
        return [row.id for row in self.rows]

    def id_at(self, place: int) -> int:
        return self.rows[place].id

    def uuid_at(self, place: int) -> str:
        return self.rows[place].uuid

    def signature(self, asked: RequestedAmounts) -> Hashable:
        return self._parser.signature(self.rows)
