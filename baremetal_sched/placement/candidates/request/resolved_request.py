"""A request by ids of the database."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict that is never changed, so that it can be a key, or part of one."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash


@dataclass(frozen=True, slots=True)
class Group:
    """A request group by ids; without a suffix its classes may come from different providers.

    One of each set in ``required`` and in ``member_of`` is needed; ``tree`` is the id of a root.
    """

    suffix: str
    resources: Mapping[int, int]
    required: tuple[frozenset[int], ...] = ()
    forbidden: frozenset[int] = frozenset()
    member_of: tuple[frozenset[int], ...] = ()
    not_member_of: frozenset[int] = frozenset()
    tree: int | None = None


@dataclass(frozen=True)
class ResolvedRequest:
    """A request by ids. ``one_per_tree``: no two providers of one tree may give (before 1.29). ``anchor``: the root of
    the only tree that is looked into.

    ``few_…`` are those of its classes, traits and aggregates that few providers have: a search starts from them.
    """

    groups: tuple[Group, ...]
    class_names: Mapping[int, str]
    trait_names: Mapping[int, str] = field(default_factory=FrozenDict)
    isolate: bool = False
    same_subtrees: tuple[frozenset[str], ...] = ()
    root_required: tuple[frozenset[int], ...] = ()
    root_forbidden: frozenset[int] = frozenset()
    one_per_tree: bool = False
    few_classes: frozenset[int] = frozenset()
    few_traits: frozenset[int] = frozenset()
    few_aggregates: frozenset[int] = frozenset()
    anchor: int | None = None

    def asks_like(self, other: "ResolvedRequest") -> bool:
        """Return whether both stand for the same ids. Both are of the same request."""
        mine, others = ((one.groups, one.root_required, one.root_forbidden) for one in (self, other))
        return mine == others

    @cached_property
    def aggregates(self) -> frozenset[int]:
        """The aggregates that a group names."""
        named = (aggregates for group in self.groups for aggregates in (group.not_member_of, *group.member_of))
        return frozenset[int]().union(*named)

    @cached_property
    def contended_classes(self) -> frozenset[int]:
        """The classes that are requested more than once: a provider that gives one amount has less for the others."""
        asked = Counter(resource_class for group in self.groups for resource_class in group.resources)
        return frozenset(resource_class for resource_class, times in asked.items() if times > 1)
