"""Proofs that there is no candidate, found without trying any combination.

Each looks at one thing only, and treats the amounts of a group as divisible. A request that is impossible even so is
impossible.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from baremetal_sched.placement.candidates.trees.candidate import TimeLimit

#: At most this many different amounts of one class are tried as the unit of measure.
_UNITS = 16


@dataclass(frozen=True, slots=True)
class Demand:
    """A demand on one provider: amounts by resource class, and the ids of the providers that could serve it.

    ``exclusive``: the provider may serve no other exclusive demand.
    """

    amounts: Sequence[tuple[int, int]]
    options: tuple[int, ...]
    exclusive: bool


def impossible(demands: Sequence[Demand], room: Mapping[int, Mapping[int, int]], time_limit: TimeLimit) -> bool:
    """Return whether the demands can be shown to be too much together.

    ``room``: by resource class, how much each provider can give in all, by id. False says nothing. Raises TookTooLong.
    """
    if not all(demand.options for demand in demands):
        return True
    exclusive = [demand for demand in demands if demand.exclusive]
    if exclusive:
        free = dict.fromkeys([provider for demand in exclusive for provider in demand.options], 1)
        if not _suffices([(1, demand.options) for demand in exclusive], free, time_limit):
            return True
    for resource_class, there in room.items():
        parts = [
            (amount, demand.options) for demand in demands for name, amount in demand.amounts if name == resource_class
        ]
        for unit in _units([amount for amount, _ in parts]):
            # Rounded down, parts need no more of a whole than the whole has.
            counted = [(amount // unit, options) for amount, options in parts if amount >= unit]
            if not _suffices(counted, {provider: amount // unit for provider, amount in there.items()}, time_limit):
                return True
    return False


def _units(amounts: Sequence[int]) -> list[int]:
    """The amounts themselves, and 1: of the amounts that are at least a unit, a provider may have room for few."""
    different = sorted(set(amounts), reverse=True)
    return [*different[:_UNITS], 1] if amounts else []


def _suffices(parts: Iterable[tuple[int, tuple[int, ...]]], there: Mapping[int, int], time_limit: TimeLimit) -> bool:
    """Return whether every part can be had, in pieces, from its own options. ``there``: how much each option has.

    A flow from kinds of parts (with the same options) to kinds of providers (options of the same parts), found by
    augmenting paths.
    """
    needed: Counter[tuple[int, ...]] = Counter()
    for amount, options in parts:
        needed[options] += amount
    if len(needed) == 1:
        (options,) = needed
        return sum(there.get(provider, 0) for provider in options) >= needed[options]
    kinds: dict[int, int] = {}
    for place, options in enumerate(needed):
        for provider in options:
            kinds[provider] = kinds.get(provider, 0) | 1 << place
    left: Counter[int] = Counter()
    for provider, kind in kinds.items():
        left[kind] += there.get(provider, 0)
    return _flows(list(needed.values()), left, time_limit)


def _flows(needed: Sequence[int], left: Counter[int], time_limit: TimeLimit) -> bool:
    """Return whether all needed amounts, by place, can be taken from the rest, by a mask of places that may."""
    given: list[Counter[int]] = [Counter() for _ in needed]
    for place, amount in enumerate(needed):
        while amount:
            time_limit.check()
            gained = _augment(place, amount, given, left)
            if not gained:
                return False
            amount -= gained
    return True


def _augment(place: int, amount: int, given: list[Counter[int]], left: Counter[int]) -> int:
    """Give up to ``amount`` more to ``place``, along the shortest path on which others move to another option; return
    how much that was."""
    came_from: dict[int, tuple[int, int | None]] = {}
    reached = {place}
    queue: list[tuple[int, int | None]] = [(place, None)]
    for at, through in queue:
        for kind in left:
            if kind in came_from or not kind >> at & 1:
                continue
            came_from[kind] = (at, through)
            if left[kind]:
                return _move(kind, amount, came_from, given, left)
            for other in range(len(given)):
                if other not in reached and given[other][kind]:
                    reached.add(other)
                    queue.append((other, kind))
    return 0


def _move(
    kind: int, amount: int, came_from: dict[int, tuple[int, int | None]], given: list[Counter[int]], left: Counter[int]
) -> int:
    path: list[tuple[int, int, int | None]] = []
    current: int | None = kind
    while current is not None:
        at, through = came_from[current]
        path.append((at, current, through))
        current = through
    gained = min([amount, left[kind], *(given[at][through] for at, _, through in path if through is not None)])
    left[kind] -= gained
    for at, to, through in path:
        given[at][to] += gained
        if through is not None:
            given[at][through] -= gained
    return gained
