"""The dead ends of a search: choices that cannot be completed."""

from collections import Counter
from collections.abc import Hashable, Iterable
from math import gcd
from typing import NamedTuple

from baremetal_sched.placement.candidates.trees import bounds
from baremetal_sched.placement.candidates.trees.candidate import TimeLimit
from baremetal_sched.placement.candidates.trees.partial_choice import PartialChoice
from baremetal_sched.placement.candidates.trees.providers import Provider, Slot

#: At most this many choices are remembered.
_MOST = 50_000

#: The bounds are tried ``_TRIALS`` times, and then as long as they rule out one choice in ``_WORTH``.
_TRIALS, _WORTH = 64, 8


class _Ahead(NamedTuple):
    """The demand of the slots from one on for a class: the smallest amount, the sum, and a divisor of all amounts."""

    least: int
    total: int
    unit: int

    def left(self, amount: int) -> int:
        """The part of ``amount`` that matters to these slots."""
        if amount < self.least:
            return 0
        return min(amount - amount % self.unit, self.total)


class DeadEnds:
    """Choices that cannot be completed, up to the exchange of providers that are the same to the request.

    Two choices of the same slots leave the same to the others if as many providers of each kind have as much left. The
    kind of a provider is all that tells it from others: what it may serve, what it has, where it is.
    """

    def __init__(self, choice: PartialChoice, time_limit: TimeLimit) -> None:
        self._choice = choice
        self._time_limit = time_limit
        self._known: set[Hashable] = set()
        self._asked = self._proved = 0
        slots, resolved = choice.slots, choice.resolved
        self._ahead = [_ahead(slots[depth:]) for depth in range(len(slots))]
        self._isolates = [
            resolved.isolate and any(slot.group.suffix for slot in slots[depth:]) for depth in range(len(slots))
        ]
        providers = {provider.id: provider for slot in slots for provider in slot.options}
        #: By id: a bit for each slot that the provider may serve.
        self._serves = dict.fromkeys(providers, 0)
        for depth, slot in enumerate(slots):
            for provider in slot.options:
                self._serves[provider.id] |= 1 << depth
        #: Ancestors of providers that may be chosen.
        self._inner: set[int] = set()
        if choice.subtrees:
            self._inner.update(*(choice.lineage(row_id) - {row_id} for row_id in providers))
        roots = (
            Counter(provider.root_id for provider in providers.values()) if resolved.one_per_tree else Counter[int]()
        )
        #: Roots with several providers that may be chosen. Only one of these providers may give.
        self._crowded = {root for root, times in roots.items() if times > 1}
        kinds: dict[Hashable, int] = {}
        self._kinds = {row_id: kinds.setdefault(self._kind(one), len(kinds)) for row_id, one in providers.items()}

    def covers(self) -> bool:
        """Return whether the choice as it is now is known, or can be shown, to be a dead end. Raises TookTooLong."""
        key = self._key()
        if key in self._known:
            return True
        if self._asked > _TRIALS and self._proved * _WORTH < self._asked:
            return False
        self._time_limit.check()
        self._asked += 1
        if not bounds.impossible(*self._choice.demands(), self._time_limit):
            return False
        self._proved += 1
        self._add(key)
        return True

    def add(self) -> None:
        """Remember the choice as it is now."""
        self._add(self._key())

    def _add(self, key: Hashable) -> None:
        if len(self._known) < _MOST:
            self._known.add(key)

    def _kind(self, provider: Provider) -> Hashable:
        choice = self._choice
        ahead = self._ahead[0]
        room = tuple(
            ahead[name].left(min(inventory.free, inventory.max_unit)) if name in ahead else 0
            for name, inventory in sorted(provider.inventories.items())
            if name in choice.resolved.contended_classes
        )
        place: Hashable = None
        if choice.subtrees:
            # Leaves with the same parent can be exchanged.
            place = provider.id if provider.id in self._inner else (provider.parent_id,)
        root = provider.root_id if provider.root_id in self._crowded else None
        return self._serves[provider.id], room, choice.traits.of(provider), place, root

    def _key(self) -> Hashable:
        choice = self._choice
        depth = len(choice.providers)
        marks, places = self._places(depth)
        ahead, isolates, one_per_tree = self._ahead[depth], self._isolates[depth], choice.resolved.one_per_tree
        used = []
        for provider in {one.id: one for one in choice.providers}.values():
            row_id = provider.id
            if not (self._serves[row_id] >> depth or row_id in marks or one_per_tree):
                continue
            left = [
                asked.left(choice.left(provider, name)) for name, asked in ahead.items() if name in provider.inventories
            ]
            occupied = isolates and row_id in choice.occupied
            gives = one_per_tree and row_id in choice.givers.get(provider.root_id, ())
            used.append((self._kinds[row_id], tuple(left), occupied, gives, marks.get(row_id, 0)))
        return depth, choice.traits.had, places, tuple(sorted(used))

    def _places(self, depth: int) -> tuple[dict[int, int], tuple[Hashable, ...]]:
        """Where the members of subtrees are that are not complete: the lowest of their common ancestors, and the
        highest member among these. Members that can be exchanged get a mark, the others are named."""
        marks: dict[int, int] = {}
        places: list[Hashable] = []
        bit = 1
        for number, subtree in enumerate(self._choice.subtrees):
            if not (subtree.members and subtree.is_open(depth)):
                continue
            common = subtree.common
            members = common.intersection(subtree.members)
            for which, ids, best in ((0, common, max), (1, members, min)):
                bit <<= 1
                if not ids:
                    continue
                row_id = best(ids, key=self._level)
                if row_id in self._serves and row_id not in self._inner:
                    marks[row_id] = marks.get(row_id, 0) | bit
                else:
                    places.append((number, which, row_id))
        return marks, tuple(places)

    def _level(self, row_id: int) -> int:
        return len(self._choice.lineage(row_id))


def _ahead(slots: Iterable[Slot]) -> dict[int, _Ahead]:
    """By resource class, for the classes that several slots ask for."""
    amounts: dict[int, list[int]] = {}
    for slot in slots:
        for name, amount in slot.contended:
            amounts.setdefault(name, []).append(amount)
    return {name: _Ahead(min(those), sum(those), gcd(*those)) for name, those in amounts.items()}
