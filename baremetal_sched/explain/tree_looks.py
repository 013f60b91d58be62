"""What a request finds in trees of one shape."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from baremetal_sched.baremetal.matching import wording
from baremetal_sched.baremetal.matching.masks import Condition, Kind
from baremetal_sched.explain.explanation import ClosestTree, ServedPart
from baremetal_sched.explain.tree_parts import Asked, Part, ids_of
from baremetal_sched.explain.tree_shapes import Shape
from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.trees.backtracking import choices
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider

#: Conditions between parts that are not conditions of one request parameter.
TRAITS_TOGETHER = "required"
ROOM = "room"

#: Of more constraints than this between groups, sets of more than one are not tried.
_FEW = 8


@dataclass(frozen=True)
class Nearest:
    """Of a part, the provider that fails the fewest conditions, and these; none if it serves the part.

    Of several it is one that could give the resources, or at least has some of them, and of these the one with the
    least UUID.
    """

    place: int
    failing: list[Condition]


class Look:
    """A shape, with the masks of its providers for each part."""

    def __init__(self, asked: Asked, parts: list[Part], shape: Shape, limit: TimeLimit) -> None:
        self._asked = asked
        self._parts = parts
        self._limit = limit
        self.shape = shape
        #: By part and provider.
        self.masks = [part.masks(shape) for part in parts]

    @cached_property
    def nearest(self) -> list[Nearest]:
        """By part: the provider that is closest to serving it, by the number of conditions that it fails."""
        found = []
        for part, masks in zip(self._parts, self.masks, strict=True):
            failing = [list(ids_of(part.conditions, mask).values()) for mask in masks]
            lacking = [any(each.id in part.classes for each in some) for some in failing]
            absent = [self._absent(part, provider) for provider in self.shape.providers]
            place = min(range(len(masks)), key=lambda i: (len(failing[i]), lacking[i], absent[i], self._uuid(i)))
            found.append(Nearest(place, failing[place]))
        return found

    def _absent(self, part: Part, provider: Provider) -> int:
        """How many of the classes of the part the provider has nothing of."""
        classes = self._asked.ids.classes
        return sum(classes[name] not in provider.inventories for name in part.group.resources)

    def _uuid(self, place: int) -> str:
        return self.shape.rows[place].uuid

    @property
    def served(self) -> int:
        """How many parts are served, each by itself."""
        return sum(not nearest.failing for nearest in self.nearest)

    @cached_property
    def rank(self) -> tuple[int, int, str]:
        """What trees are compared by: the closest one is least."""
        failing = sum(len(nearest.failing) for nearest in self.nearest)
        return len(self._parts) - self.served, failing, self.shape.uuid

    @cached_property
    def fits(self) -> bool:
        """Return whether there is a candidate now."""
        return all(0 in masks for masks in self.masks) and self._can(self._asked.wanted, self.shape.now)

    @cached_property
    def fits_if_free(self) -> bool:
        """Return whether there would be a candidate if everything were free."""
        for part, masks in zip(self._parts, self.masks, strict=True):
            asked = sum(1 << place for place, condition in enumerate(part.conditions) if condition.kind is Kind.REQUEST)
            if all(mask & asked for mask in masks):
                return False
        return self._can(self._asked.wanted, self.shape.free)

    def fits_without(self, drop: frozenset[str], limit: TimeLimit | None = None) -> bool:
        """Return whether there would be a candidate without these conditions. Raises TookTooLong."""
        wanted = self._asked.without(drop)
        return wanted is not None and self._can(wanted, self.shape.now, limit)

    def _can(self, wanted: ResolvedRequest, anchor: Anchor, limit: TimeLimit | None = None) -> bool:
        return next(choices(wanted, anchor, limit or self._limit), None) is not None

    @cached_property
    def constraints(self) -> list[Condition]:
        """Return the fewest conditions between the groups without which a tree that serves each part would fit.

        Without such a set, single providers are too small for all parts that they would have to serve.
        """
        if self.served < len(self._parts) or self.fits:
            return []
        all_of_them = list(constraints_of(self._asked))
        most = len(all_of_them) if len(all_of_them) <= _FEW else 1
        for size in range(1, most + 1):
            for some in combinations(all_of_them, size):
                if self.fits_without(frozenset(name for _, drop in some for name in drop)):
                    return [condition for condition, _ in some]
        everything = frozenset(name for _, drop in all_of_them for name in drop)
        if all_of_them and self.fits_without(everything):
            return [condition for condition, _ in all_of_them]
        return [Condition(ROOM, "one provider has enough for all that it alone could give")]


def constraints_of(asked: Asked) -> Iterator[tuple[Condition, frozenset[str]]]:
    """Yield the conditions between groups, each with the ids of the conditions of the request that make it."""
    request = asked.request
    suffixed = [suffix for suffix in request.groups if suffix]
    if request.group_policy == "isolate" and len(suffixed) > 1:
        condition = Condition(wording.ISOLATE, "each group with a suffix has a provider of its own")
        yield condition, frozenset([condition.id])
    for named in dict.fromkeys(request.same_subtrees):
        condition = wording.of_subtree(named)
        yield condition, frozenset([condition.id])
    group = request.groups.get("")
    if group is not None and len(group.resources) > 1 and group.traits.required:
        ids = frozenset(wording.of_traits(wanted).id for wanted in group.traits.required)
        text = "the providers of what has no suffix have all required traits together"
        yield Condition(TRAITS_TOGETHER, text), ids


def closest(parts: Sequence[Part], looks: Sequence[Look], named: frozenset[str] | None) -> ClosestTree | None:
    """Return the closest tree of ``looks``; None if there is no tree. ``named``: UUIDs of the roots of trees whose
    providers may be named; None: all may."""
    if not looks:
        return None
    look = min(looks, key=lambda each: each.rank)
    shape = look.shape
    is_named = named is None or shape.uuid in named

    def name(place: int) -> str | None:
        # A sharing provider is of another tree.
        return shape.rows[place].uuid if named is None or (is_named and place < len(shape.now.local)) else None

    served = [
        ServedPart(part.parameter, name(nearest.place), nearest.failing)
        for part, nearest in zip(parts, look.nearest, strict=True)
    ]
    return ClosestTree(shape.uuid if is_named else None, len(shape.trees), served, look.constraints)
