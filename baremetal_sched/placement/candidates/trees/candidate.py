"""Candidates, as the search finds them: by ids, or by places in a tree."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from baremetal_sched.placement.candidates.trees.providers import Anchor


@dataclass(slots=True)
class Candidate:
    """Amounts by provider and class name; providers by suffix; roots of the trees of the
    providers that give something.

    ``anchor`` is where it was found, if that was read as a tree; another tree may have the same candidate.
    """

    allocations: dict[int, dict[str, int]]
    mappings: dict[str, list[int]]
    roots: set[int]
    anchor: Anchor | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        """The number of providers that it names; a provider with several roles counts once for each."""
        return len(self.allocations) + len(self.mappings)

    @property
    def ids(self) -> Iterable[int]:
        """The ids of these providers."""
        return {*self.allocations}.union(*self.mappings.values())


@dataclass(frozen=True, eq=False)
class Pattern:
    """A candidate by places in a tree: amounts of each provider that gives something, and the
    providers that serve each group. ``shared``: the providers of all slots, if all of them share; otherwise empty."""

    allocations: list[tuple[int, dict[str, int]]]
    mappings: list[tuple[str, list[int]]]
    shared: tuple[int, ...] = ()

    @cached_property
    def places(self) -> set[int]:
        """The places of all providers that it names."""
        return {place for place, _ in self.allocations}.union(*(places for _, places in self.mappings))


@dataclass(slots=True)
class PatternMatch:
    """The candidate of a tree that looks like others: equal except for the ids. Read as ``Candidate``."""

    pattern: Pattern
    anchor: Anchor

    @property
    def size(self) -> int:
        """The number of providers that it names; a provider with several roles counts once for each."""
        return len(self.pattern.allocations) + len(self.pattern.mappings)

    @property
    def ids(self) -> Iterable[int]:
        """The ids of these providers."""
        return map(self.anchor.id_at, self.pattern.places)

    @property
    def allocations(self) -> dict[int, dict[str, int]]:
        """Amounts by provider and class name."""
        return {self.anchor.id_at(place): amounts for place, amounts in self.pattern.allocations}

    @property
    def mappings(self) -> dict[str, list[int]]:
        """Providers by suffix."""
        id_at = self.anchor.id_at
        return {suffix: [id_at(place) for place in places] for suffix, places in self.pattern.mappings}

    @property
    def roots(self) -> set[int]:
        """The roots of the trees of the providers that give something."""
        return {self.anchor.root_at(place) for place, _ in self.pattern.allocations}


#: What a search finds.
Found = Candidate | PatternMatch


class TookTooLong(Exception):
    """The time is over; what was found so far is not the answer."""


class TimeLimit:
    """The moment at which a search must end: ``seconds`` from now, or never."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        """Raise TookTooLong if the time is over. It costs next to nothing."""
        if self._end is not None and time.monotonic() >= self._end:
            raise TookTooLong


NEVER = TimeLimit()
