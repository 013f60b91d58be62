"""Lines as providers, as far as a request asks about them."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property, partial

from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates import lines
from baremetal_sched.placement.candidates.lines import ByText, Line
from baremetal_sched.placement.candidates.trees import Anchor, Asked, Inventory, Provider
from baremetal_sched.placement.candidates.wanted import Fixed, Wanted


class Parser:
    """Makes providers of lines."""

    def __init__(self, wanted: Wanted) -> None:
        groups = wanted.groups
        least = min(amount for group in groups for amount in group.resources.values())
        asked_traits = wanted.root_forbidden.union(
            *wanted.root_required, *(group.forbidden.union(*group.required) for group in groups)
        )
        self._everybody_matters = not all(group.resources for group in groups)
        self._ancestors_matter = bool(wanted.same_subtrees)
        # Nothing here refers to the parser: it would stay in memory until somebody looks for garbage.
        inventories = self._inventories = ByText(partial(_inventories, frozenset(wanted.class_names), least))
        self._traits = ByText(lambda text: asked_traits.intersection(trait_ids.ids_in(text)))
        asked = Asked(wanted)
        self._given = ByText(lambda text: asked.given_by(inventories[text]))

    def members(self, tree: Sequence[Line], sharing: Collection[int]) -> list[Provider]:
        """Those of a tree that matter: who may give something, and the root; to groups that request nothing everybody,
        and where subtrees are asked for ancestors. ``sharing`` are the ids of those who share."""
        parents = {parent for _, _, parent, *_ in tree} if self._ancestors_matter else ()
        found = []
        for row_id, _, parent, root, stock, traits in tree:
            inventories = self._inventories[stock]
            if inventories or not parent or row_id in parents or self._everybody_matters:
                number = int(row_id)
                above = int(parent) if parent else None
                asked = self._traits[traits]
                found.append(Provider(number, int(root), above, number in sharing, asked, set(), inventories))
        return found

    def sketch(self, tree: Sequence[Line]) -> Hashable:
        """``Anchor.sketch`` of a tree that is alone, where nobody asks about aggregates."""
        given, asked = self._given, self._traits
        places: dict[str, int] = {}
        sketch: list[Hashable] = []
        for place, (row_id, _, parent, _, stock, traits) in enumerate(tree):
            places[row_id] = place
            # A parent that comes later, which is rare, stays an id: no other tree looks like this one.
            sketch += (places.get(parent, parent), given[stock], asked[traits])
        return tuple(sketch)


def _inventories(classes: frozenset[int], least: int, text: str) -> Mapping[int, Inventory]:
    """Those of the classes that have at least so much left, by class id."""
    rows = [tuple(map(int, parts)) for parts in lines.inventories(text)]
    return Fixed(
        (class_id, Inventory(capacity - used, *limits))
        for class_id, capacity, used, *limits in rows
        if class_id in classes and capacity - used >= least
    )


def has_root(tree: Sequence[Line]) -> bool:
    """Is the root among those that were read? It may have been moved meanwhile."""
    return not tree[0][2] or any(not parent for _, _, parent, *_ in tree)


class UnparsedTree(Anchor):
    """A tree as it was read, which is alone.

    Providers are made of it when somebody asks for them: not often, as there are few ways in which trees look.
    """

    def __init__(self, lines: Sequence[Line], parser: Parser) -> None:
        self.sharing, self.above, self.lines = [], {}, lines
        self._parser = parser

    @cached_property
    def local(self) -> list[Provider]:  # type: ignore[override] # mypy does not know that it can be set
        return self._parser.members(self.lines, ())

    @cached_property
    def root(self) -> Provider:  # type: ignore[override]
        return next(provider for provider in self.local if provider.parent_id is None)

    @property
    def is_alone(self) -> bool:
        return True

    @property
    def root_id(self) -> int:
        return int(self.lines[0][3])

    @property
    def ids(self) -> list[int]:
        return [int(row_id) for row_id, *_ in self.lines]

    def id_at(self, place: int) -> int:
        return int(self.lines[place][0])

    def uuid_at(self, place: int) -> str:
        return self.lines[place][1]

    def sketch(self, asked: Asked) -> Hashable:
        return self._parser.sketch(self.lines)
