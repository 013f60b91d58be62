"""Which operations meet, in which states: all pairs, and three at each door where something is deleted; in an order
that is drawn."""

import random
from collections.abc import Iterator, Sequence
from itertools import product

from tests.races.operations import OPERATIONS
from tests.races.states import STATES

#: A state, and the operations that meet in it, of which the first is paused.
Meeting = tuple[str, tuple[str, ...]]

_HOT = [name for name, operation in OPERATIONS.items() if operation.is_hot]
_DELETIONS = [name for name in _HOT if OPERATIONS[name].method == "DELETE"]

#: How often a meeting is drawn of hot operations, of three of them of which the second deletes something, and of any.
_WEIGHTS = (6, 2, 2)


def count() -> int:
    """Return how many pairs there are in all states."""
    return len(STATES) * len(OPERATIONS) ** 2


def drawn(
    seed: int, states: Sequence[str] = tuple(STATES), names: Sequence[str] = tuple(OPERATIONS)
) -> Iterator[Meeting]:
    """Yield meetings of these operations in these states, none of them twice, until all pairs were there."""
    chance = random.Random(seed)
    hot, deletions = ([each for each in own if each in names] or names for own in (_HOT, _DELETIONS))
    kinds: Sequence[Sequence[Sequence[str]]] = ((hot, hot), (hot, deletions, hot), (names,) * 2)
    seen: set[Meeting] = set()
    misses = 0
    while misses < 10_000:
        (choices,) = chance.choices(kinds, _WEIGHTS)
        meeting = (chance.choice(states), tuple(chance.choice(names) for names in choices))
        misses = misses + 1 if meeting in seen else 0
        if meeting not in seen:
            seen.add(meeting)
            yield meeting
    yield from (each for each in _all_pairs(states, names) if each not in seen)


def _all_pairs(states: Sequence[str], names: Sequence[str]) -> Iterator[Meeting]:
    for state, first, second in product(states, names, names):
        yield state, (first, second)
