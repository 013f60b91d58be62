"""From what a tree has to candidates.

Nothing is ever multiplied out. Slots are given providers one after the other, a choice that cannot lead to a candidate
is left at once, and candidates come one by one: who has enough of them stops.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import count

from baremetal_sched.placement.candidates.trees import (
    Anchor,
    Asked,
    Candidate,
    Copy,
    Found,
    Pattern,
    Provider,
    Slot,
    slots_of,
)
from baremetal_sched.placement.candidates.wanted import Wanted


def candidates(wanted: Wanted, anchors: Iterable[Anchor], *, breadth_first: bool = False) -> Iterator[Found]:
    """All candidates, no two the same: of one anchor after the other, or (breadth first) of each in turn."""
    seen: set[tuple[int, ...]] = set()
    alike = _Alike(wanted)
    each = (
        alike.candidates(anchor) if alike.covers(anchor) else _of_anchor(wanted, anchor, seen) for anchor in anchors
    )
    if breadth_first:
        yield from _in_turn(each)
    else:
        for found in each:
            yield from found


def _in_turn(iterators: Iterable[Iterator[Found]]) -> Iterator[Found]:
    """One of each, then another of each. Keeps only those that had one, so who stops after n keeps at most n."""
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


def _of_anchor(wanted: Wanted, anchor: Anchor, seen: set[tuple[int, ...]]) -> Iterator[Candidate]:
    """The candidates of an anchor. Those made of sharing providers alone may come from others too: not if ``seen``."""
    for slots, chosen in choices(wanted, anchor):
        if all(provider.shares for provider in chosen):
            key = [0] * len(slots)
            for slot, provider in zip(slots, chosen, strict=True):
                key[slot.place] = provider.id
            if tuple(key) in seen:
                continue
            seen.add(tuple(key))
        yield _assembled(wanted, anchor, slots, chosen)


def _assembled(wanted: Wanted, anchor: Anchor, slots: list[Slot], chosen: list[Provider]) -> Candidate:
    allocations: dict[int, dict[str, int]] = {}
    mappings: dict[str, list[int]] = {}
    roots = set()
    names = wanted.class_names
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


class _Alike:
    """Trees that look the same to a request have the same candidates: they are searched for in the first of them.

    A fleet has thousands of trees, and few ways in which they look: who is below whom, and who can give what.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._known: dict[Hashable, _Kept] = {}
        # Where amounts add up it matters how much there is, not just whether it is enough.
        self._applies = not wanted.rationed and all(group.tree is None for group in wanted.groups)
        self._asked = Asked(wanted)

    def covers(self, anchor: Anchor) -> bool:
        """Does nobody share, and does the request look at nothing that a sketch does not tell?"""
        return self._applies and anchor.is_alone

    def candidates(self, anchor: Anchor) -> Iterator[Copy]:
        """Those of the anchor, as ``_of_anchor`` finds them."""
        sketch = anchor.sketch(self._asked)
        kept = self._known.get(sketch)
        if kept is None:
            kept = self._known[sketch] = _Kept(self._patterns(anchor))
        for pattern in kept:
            yield Copy(pattern, anchor)

    def _patterns(self, anchor: Anchor) -> Iterator[Pattern]:
        places = {row_id: place for place, row_id in enumerate(anchor.ids)}
        for slots, chosen in choices(self._wanted, anchor):
            candidate = _assembled(self._wanted, anchor, slots, chosen)
            yield Pattern(
                [(places[row_id], amounts) for row_id, amounts in candidate.allocations.items()],
                [(suffix, [places[row_id] for row_id in row_ids]) for suffix, row_ids in candidate.mappings.items()],
            )


class _Kept:
    """What an iterator yields, for many to iterate over; nothing is made before somebody wants it."""

    def __init__(self, source: Iterator[Pattern]) -> None:
        self._source = source
        self._items: list[Pattern] = []

    def __iter__(self) -> Iterator[Pattern]:
        for place in count():
            if place == len(self._items):
                item = next(self._source, None)
                if item is None:
                    return
                self._items.append(item)
            yield self._items[place]


def choices(wanted: Wanted, anchor: Anchor) -> Iterator[tuple[list[Slot], list[Provider]]]:
    """Every way to give each slot (they come in any order) a provider; the list of providers is reused."""
    if not anchor.root.has(wanted.root_required, wanted.root_forbidden):
        return
    slots = slots_of(wanted, anchor)
    if not all(slot.options for slot in slots) or _hopeless(wanted, slots):
        return
    # Those who have least to choose from choose first: a dead end shows early.
    slots.sort(key=lambda slot: len(slot.options))
    for chosen in _Choosing(wanted, anchor, slots).extend(0):
        yield slots, chosen


def _hopeless(wanted: Wanted, slots: list[Slot]) -> bool:
    """Is there too little for all, before looking at any combination?

    With ``isolate`` every group with a suffix needs a provider to itself. And what several slots ask of one class has
    to be there in sum, in portions of the smallest amount asked for.
    """
    alone = [slot for slot in slots if slot.group.suffix] if wanted.isolate else []
    if not _matchable([[option.id for option in slot.options] for slot in alone]):
        return True
    for resource_class in wanted.rationed:
        parts = [(amount, slot) for slot in slots for name, amount in slot.rationed if name == resource_class]
        portion = min(amount for amount, _ in parts)
        there = {option.id: option.inventories[resource_class] for _, slot in parts for option in slot.options}
        portions = sum(min(inventory.free, inventory.max_unit) // portion for inventory in there.values())
        if portions < sum(amount // portion for amount, _ in parts):
            return True
    return False


def _matchable(options: list[list[int]]) -> bool:
    """Can every list be given one of its numbers that no other has? (Kuhn's algorithm)"""
    owner: dict[int, int] = {}

    def place(index: int, tried: set[int]) -> bool:
        for number in options[index]:
            if number not in tried:
                tried.add(number)
                if number not in owner or place(owner[number], tried):
                    owner[number] = index
                    return True
        return False

    return all(place(index, set()) for index in range(len(options)))


class _Choosing:
    """The state of a depth-first search: slots before the current depth have their provider."""

    def __init__(self, wanted: Wanted, anchor: Anchor, slots: list[Slot]) -> None:
        self._wanted = wanted
        self._slots = slots
        self._chosen: list[Provider] = []
        self._taken: dict[tuple[int, int], int] = {}
        self._alone: set[int] = set()
        self._givers: dict[int, list[int]] = {}
        self._parents = anchor.parents
        self._ancestors: dict[int, frozenset[int]] = {}
        unsuffixed = [slot.group for slot in slots if not slot.group.suffix]
        self._required = unsuffixed[0].required if unsuffixed else ()
        # By slot: the depths of the slots that have to be in one subtree with it, for each such subtree.
        self._subtrees: list[list[list[int]]] = [[] for _ in slots]
        for suffixes in wanted.same_subtrees:
            depths = [depth for depth, slot in enumerate(slots) if slot.group.suffix in suffixes]
            for depth in depths:
                self._subtrees[depth].append(depths)

    def extend(self, depth: int) -> Iterator[list[Provider]]:
        """The ways to go on from here, each as the providers of all slots."""
        if depth == len(self._slots):
            yield self._chosen
            return
        slot = self._slots[depth]
        for provider in slot.options:
            if self._may(slot, provider):
                self._take(slot, provider)
                if self._promising(depth):
                    yield from self.extend(depth + 1)
                self._release(slot, provider)

    def _may(self, slot: Slot, provider: Provider) -> bool:
        """Does what earlier slots took leave enough, and may the provider serve this slot too?"""
        for resource_class, amount in slot.rationed:
            inventory = provider.inventories[resource_class]
            amount += self._taken.get((provider.id, resource_class), 0)
            if amount > inventory.free or amount > inventory.max_unit:
                return False
        if self._wanted.isolate and slot.group.suffix and provider.id in self._alone:
            return False
        if self._wanted.one_per_tree and slot.amounts:
            return all(other == provider.id for other in self._givers.get(provider.root_id, ()))
        return True

    def _take(self, slot: Slot, provider: Provider) -> None:
        self._chosen.append(provider)
        for resource_class, amount in slot.rationed:
            key = (provider.id, resource_class)
            self._taken[key] = self._taken.get(key, 0) + amount
        if self._wanted.isolate and slot.group.suffix:
            self._alone.add(provider.id)
        if self._wanted.one_per_tree and slot.amounts:
            self._givers.setdefault(provider.root_id, []).append(provider.id)

    def _release(self, slot: Slot, provider: Provider) -> None:
        self._chosen.pop()
        for resource_class, amount in slot.rationed:
            self._taken[provider.id, resource_class] -= amount
        if self._wanted.isolate and slot.group.suffix:
            self._alone.remove(provider.id)
        if self._wanted.one_per_tree and slot.amounts:
            self._givers[provider.root_id].pop()

    def _promising(self, depth: int) -> bool:
        """Can the slots after ``depth`` still bring the traits and the ancestors that those up to it lack?"""
        if self._required:
            slots = [
                *(self._chosen[i : i + 1] for i in range(depth + 1) if not self._slots[i].group.suffix),
                *(slot.options for slot in self._slots[depth + 1 :] if not slot.group.suffix),
            ]
            for wanted in self._required:
                if all(wanted.isdisjoint(option.traits) for options in slots for option in options):
                    return False
        return all(self._may_be_subtree(depths, depth) for depths in self._subtrees[depth])

    def _may_be_subtree(self, depths: list[int], depth: int) -> bool:
        """Is one of the providers of these slots, chosen or still to be chosen, above all that are chosen?"""
        members = [self._chosen[other].id for other in depths if other <= depth]
        above = self._above(members[0]).intersection(*map(self._above, members[1:]))
        if not above.isdisjoint(members):
            return True
        return any(option.id in above for other in depths if other > depth for option in self._slots[other].options)

    def _above(self, provider_id: int) -> frozenset[int]:
        """The provider and its ancestors."""
        found = self._ancestors.get(provider_id)
        if found is None:
            ids: list[int] = []
            current: int | None = provider_id
            while current is not None and current not in ids:
                ids.append(current)
                current = self._parents.get(current)
            found = self._ancestors[provider_id] = frozenset(ids)
        return found
