"""Lines as providers, as far as a request asks about them."""

from collections.abc import Collection, Mapping, Sequence

from baremetal_sched.placement import trait_ids
from baremetal_sched.placement.candidates import lines
from baremetal_sched.placement.candidates.lines import Line
from baremetal_sched.placement.candidates.trees import Fixed, Inventory, Provider, Wanted


class Parser:
    """Makes providers of lines."""

    def __init__(self, wanted: Wanted) -> None:
        groups = wanted.groups
        self._classes = frozenset(wanted.class_names)
        self._least = min(amount for group in groups for amount in group.resources.values())
        self._asked_traits = wanted.root_forbidden.union(
            *wanted.root_required, *(group.forbidden.union(*group.required) for group in groups)
        )
        self._everybody_matters = not all(group.resources for group in groups)
        self._ancestors_matter = bool(wanted.same_subtrees)
        self._inventories: dict[str, Mapping[int, Inventory]] = {}
        self._traits: dict[str, frozenset[int]] = {}

    def members(self, tree: Sequence[Line], sharing: Collection[int]) -> list[Provider]:
        """Those of a tree that matter: who may give something, and the root; to groups that request nothing everybody,
        and where subtrees are asked for ancestors. ``sharing`` are the ids of those who share."""
        parents = {parent for _, _, parent, *_ in tree} if self._ancestors_matter else ()
        found = []
        for row_id, _, parent, root, stock, traits in tree:
            inventories = self._inventories.get(stock)
            if inventories is None:
                inventories = self._parse_inventories(stock)
            if inventories or not parent or row_id in parents or self._everybody_matters:
                asked = self._traits.get(traits)
                if asked is None:
                    asked = self._parse_traits(traits)
                number = int(row_id)
                above = int(parent) if parent else None
                found.append(Provider(number, int(root), above, number in sharing, asked, set(), inventories))
        return found

    def _parse_inventories(self, text: str) -> Mapping[int, Inventory]:
        """Those of a requested class that have enough left for the least request, by class id."""
        rows = [tuple(map(int, parts)) for parts in lines.inventories(text)]
        found = self._inventories[text] = Fixed(
            (class_id, Inventory(capacity - used, *limits))
            for class_id, capacity, used, *limits in rows
            if class_id in self._classes and capacity - used >= self._least
        )
        return found

    def _parse_traits(self, text: str) -> frozenset[int]:
        """Those that the request mentions."""
        found = self._traits[text] = self._asked_traits.intersection(trait_ids.ids_in(text))
        return found
