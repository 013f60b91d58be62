"""The candidates of trees, one tree after the other, or each in turn.

Nothing is ever multiplied out. Candidates are made one by one, on demand: each slot gets a provider, one slot after the
other, and the search backtracks at dead ends. What it must try grows with the product of all options, so it learns:
after a few dead ends it remembers the states from which there is no candidate, and asks ``bounds`` before it continues
from any other. Nothing of that leaves a candidate out, or changes the order in which they are found.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice

from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.trees import bounds
from baremetal_sched.placement.candidates.trees.candidate import (
    NEVER,
    Candidate,
    Found,
    Pattern,
    PatternMatch,
    TimeLimit,
)
from baremetal_sched.placement.candidates.trees.dead_ends import DeadEnds
from baremetal_sched.placement.candidates.trees.partial_choice import PartialChoice
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider, RequestedAmounts, Slot, slots_of

#: At most this many patterns are kept for trees that look alike.
_MOST_KEPT = 10_000

#: After this many dead ends in a tree it is worth while to learn from them.
PATIENCE = 50

#: The time limit is looked at when this many options have been tried.
_STEPS = 256


def candidates(
    resolved: ResolvedRequest, anchors: Iterable[Anchor], *, breadth_first: bool = False, time_limit: TimeLimit = NEVER
) -> Iterator[Found]:
    """Yield all candidates, no two the same: of one anchor after the other, or (breadth first) of each in turn.

    Raises TookTooLong.
    """
    seen: set[tuple[int, ...]] = set()
    alike = _SignatureCache(resolved, seen, time_limit)
    each = (
        alike.candidates(anchor) if alike.covers(anchor) else _of_anchor(resolved, anchor, seen, time_limit)
        for anchor in anchors
    )
    if breadth_first:
        yield from _in_turn(each)
    else:
        for found in each:
            yield from found


def _in_turn(iterators: Iterable[Iterator[Found]]) -> Iterator[Found]:
    """Yield one of each, then another of each. Only iterators that had one are kept: no more than were yielded."""
    waiting: deque[Iterator[Found]] = deque()
    for iterator in iterators:
        first = next(iterator, None)
        if first is not None:
            yield first
            waiting.append(iterator)
    while waiting:
        iterator = waiting.popleft()
        another = next(iterator, None)
        if another is not None:
            yield another
            waiting.append(iterator)


def _of_anchor(
    resolved: ResolvedRequest, anchor: Anchor, seen: set[tuple[int, ...]], time_limit: TimeLimit
) -> Iterator[Candidate]:
    """Yield the candidates of an anchor, without those made of sharing providers alone that were ``seen`` before."""
    for slots, chosen in choices(resolved, anchor, time_limit):
        shared = _shared(slots, chosen)
        if shared in seen:
            continue
        if shared:
            seen.add(shared)
        yield _assembled(resolved, anchor, slots, chosen)


def _shared(slots: list[Slot], chosen: list[Provider]) -> tuple[int, ...]:
    """Return the ids of the providers in the order of the request, if all of them share; otherwise nothing."""
    if not all(provider.shares for provider in chosen):
        return ()
    by_place = {slot.place: provider.id for slot, provider in zip(slots, chosen, strict=True)}
    return tuple(by_place[place] for place in range(len(slots)))


def _assembled(resolved: ResolvedRequest, anchor: Anchor, slots: list[Slot], chosen: list[Provider]) -> Candidate:
    allocations: dict[int, dict[str, int]] = {}
    mappings: dict[str, list[int]] = {}
    roots = set()
    names = resolved.class_names
    for slot, provider in zip(slots, chosen, strict=True):
        if slot.amounts:
            amounts = allocations.setdefault(provider.id, {})
            for resource_class, amount in slot.amounts:
                name = names[resource_class]
                amounts[name] = amounts.get(name, 0) + amount
            roots.add(provider.root_id)
        mapped = mappings.setdefault(slot.group.suffix, [])
        if provider.id not in mapped:
            mapped.append(provider.id)
    return Candidate(allocations, mappings, roots, anchor)


class _SignatureCache:
    """Trees that look the same to a request have the same candidates: they are searched for in the first of them.

    A fleet has thousands of trees with few signatures: which provider is below which, and what each can give.
    """

    def __init__(self, resolved: ResolvedRequest, seen: set[tuple[int, ...]], time_limit: TimeLimit) -> None:
        self._resolved = resolved
        self._seen = seen
        self._time_limit = time_limit
        self._known: dict[Hashable, _Replayable] = {}
        self._space = _Space(_MOST_KEPT)
        self._applies = all(group.tree is None for group in resolved.groups)
        self._asked = RequestedAmounts(resolved)

    def covers(self, anchor: Anchor) -> bool:
        """Return whether the candidates of the anchor depend on nothing else than its signature."""
        return self._applies and not (anchor.sharing and self._resolved.same_subtrees)

    def candidates(self, anchor: Anchor) -> Iterator[PatternMatch]:
        """Yield the candidates of the anchor, as ``_of_anchor`` finds them."""
        self._time_limit.check()
        signature = anchor.signature(self._asked)
        kept = self._known.get(signature)
        if kept is None:
            kept = self._known[signature] = _Replayable(self._patterns(anchor), self._space)
        yield from self._fresh(kept, anchor)
        if kept.is_cut:
            # There are too many to keep: the others are searched for in each tree.
            yield from self._fresh(islice(self._patterns(anchor), len(kept), None), anchor)

    def _fresh(self, patterns: Iterable[Pattern], anchor: Anchor) -> Iterator[PatternMatch]:
        for pattern in patterns:
            shared = tuple(map(anchor.id_at, pattern.shared))
            if shared in self._seen:
                continue
            if shared:
                self._seen.add(shared)
            yield PatternMatch(pattern, anchor)

    def _patterns(self, anchor: Anchor) -> Iterator[Pattern]:
        places = {row_id: place for place, row_id in enumerate(anchor.ids)}
        for slots, chosen in choices(self._resolved, anchor, self._time_limit):
            candidate = _assembled(self._resolved, anchor, slots, chosen)
            yield Pattern(
                [(places[row_id], amounts) for row_id, amounts in candidate.allocations.items()],
                [(suffix, [places[row_id] for row_id in row_ids]) for suffix, row_ids in candidate.mappings.items()],
                tuple(places[row_id] for row_id in _shared(slots, chosen)),
            )


@dataclass
class _Space:
    """The number of patterns that may still be kept."""

    left: int


class _Replayable:
    """The first patterns that an iterator yields, for many trees to iterate over; each is made on demand.

    ``is_cut``: there was no space for the rest.
    """

    def __init__(self, source: Iterator[Pattern], space: _Space) -> None:
        self._source: Iterator[Pattern] | None = source
        self._space = space
        self._items: list[Pattern] = []
        self.is_cut = False

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Pattern]:
        for place in count():
            if place == len(self._items) and not self._grow():
                return
            yield self._items[place]

    def _grow(self) -> bool:
        if self._source is None:
            return False
        item = next(self._source, None)
        if item is None or not self._space.left:
            self.is_cut = item is not None
            self._source = None
            return False
        self._space.left -= 1
        self._items.append(item)
        return True


def choices(
    resolved: ResolvedRequest, anchor: Anchor, time_limit: TimeLimit
) -> Iterator[tuple[list[Slot], list[Provider]]]:
    """Yield every way to give each slot (in any order) a provider; the list of providers is reused.

    Raises TookTooLong.
    """
    time_limit.check()
    if not anchor.root.has(resolved.root_required, resolved.root_forbidden):
        return
    slots = []
    for slot in slots_of(resolved, anchor):
        if not slot.options:
            return
        slots.append(slot)
        time_limit.check()
    # Slots with the fewest options first: a dead end shows early.
    slots.sort(key=lambda slot: len(slot.options))
    choice = PartialChoice(resolved, anchor, slots)
    if (resolved.isolate or resolved.contended_classes) and bounds.impossible(*choice.demands(), time_limit):
        return
    for chosen in _completions(choice, time_limit):
        yield slots, chosen


def _completions(choice: PartialChoice, time_limit: TimeLimit) -> Iterator[list[Provider]]:
    """Complete a choice of nothing in every way: the providers of all slots, in a list that is reused.

    Raises TookTooLong.
    """
    slots = choice.slots
    learned: DeadEnds | None = None
    steps = found = dead_ends = 0
    # By slot that has or gets a provider now: those not tried yet, and how many ways had been found before.
    tried: list[tuple[Iterator[Provider], int]] = [(iter(slots[0].options), 0)]
    while tried:
        depth = len(tried) - 1
        slot = slots[depth]
        options, found_before = tried[-1]
        for provider in options:
            steps += 1
            if not steps % _STEPS:
                time_limit.check()
            if not choice.may(slot, provider):
                continue
            if choice.take(slot, provider):
                if depth + 1 == len(slots):
                    found += 1
                    yield choice.providers
                elif learned is None or not learned.covers():
                    tried.append((iter(slots[depth + 1].options), found))
                    break
            choice.release()
        else:
            tried.pop()
            if found == found_before:
                dead_ends += 1
                if learned is not None:
                    learned.add()
                elif dead_ends == PATIENCE:
                    learned = DeadEnds(choice, time_limit)
            if tried:
                choice.release()
