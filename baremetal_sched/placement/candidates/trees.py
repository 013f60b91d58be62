"""Who could give what is wanted: the rules for one provider in one tree, as plain Python without SQL."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple

from baremetal_sched.placement.candidates.lines import Line
from baremetal_sched.placement.candidates.wanted import Fixed, Group, Wanted


class Inventory(NamedTuple):
    """What a provider has of a class."""

    free: int
    min_unit: int
    max_unit: int
    step_size: int

    def fits(self, amount: int) -> bool:
        """Can it give ``amount`` at once?"""
        return amount <= self.free and self.min_unit <= amount <= self.max_unit and not amount % self.step_size


@dataclass(slots=True, eq=False)
class Provider:
    """A provider, as far as a request asks about it. ``shares``: it serves trees other than its own."""

    id: int
    root_id: int
    parent_id: int | None = None
    shares: bool = False
    traits: frozenset[int] = frozenset()
    aggregates: set[int] = field(default_factory=set)
    inventories: Mapping[int, Inventory] = field(default_factory=Fixed)

    def gives(self, resource_class: int, amount: int) -> bool:
        """Can it give ``amount`` of the class?"""
        inventory = self.inventories.get(resource_class)
        return inventory is not None and inventory.fits(amount)

    def has(self, required: Sequence[frozenset[int]], forbidden: frozenset[int]) -> bool:
        """Has it a trait of each set, and none that is forbidden?"""
        return forbidden.isdisjoint(self.traits) and _meets(self.traits, required)

    def is_in(self, member_of: Sequence[frozenset[int]]) -> bool:
        """Is it in an aggregate of each set?"""
        return _meets(self.aggregates, member_of)


def _meets(ids: AbstractSet[int], wanted: Sequence[frozenset[int]]) -> bool:
    """Is one of each set among the ids? (Asked of every provider, so there is no generator.)"""
    for any_of in wanted:  # noqa: SIM110
        if any_of.isdisjoint(ids):
            return False
    return True


class Asked:
    """The amounts that a request asks for."""

    def __init__(self, wanted: Wanted) -> None:
        self._of_class: dict[int, list[tuple[int, int]]] = {}
        items = [item for group in wanted.groups for item in group.resources.items()]
        for place, (resource_class, amount) in enumerate(items):
            self._of_class.setdefault(resource_class, []).append((1 << place, amount))
        #: Of classes that are asked for more than once: the sum.
        self._sums = {name: sum(amount for _, amount in self._of_class[name]) for name in wanted.rationed}
        self._given: dict[Mapping[int, Inventory], Hashable] = {}

    def given_by(self, inventories: Mapping[int, Inventory]) -> Hashable:
        """Which of them can be given: a bit for each; and where amounts add up, as much as matters of what there is.
        Kept, as thousands of providers have the same inventories."""
        given = self._given.get(inventories)
        if given is None:
            given = self._given[inventories] = self._work_out(inventories)
        return given

    def _work_out(self, inventories: Mapping[int, Inventory]) -> Hashable:
        bits = sum(
            bit
            for resource_class, inventory in inventories.items()
            for bit, amount in self._of_class.get(resource_class, ())
            if inventory.fits(amount)
        )
        if not self._sums:
            return bits
        return bits, *(
            min(inventories[name].free, inventories[name].max_unit, most) if name in inventories else 0
            for name, most in self._sums.items()
        )


@dataclass
class Anchor:
    """A tree with the providers that share with it (its own are just ``local``).

    ``above``: the parents in the trees of those who share, by id. ``lines``: all providers of the tree, as they were
    read.
    """

    root: Provider
    local: list[Provider]
    sharing: list[Provider]
    above: Mapping[int, int | None]
    lines: Sequence[Line] = ()

    @property
    def is_alone(self) -> bool:
        """Does nobody share, neither with the tree nor in it?"""
        return not self.sharing and not any(provider.shares for provider in self.local)

    @property
    def root_id(self) -> int:
        """The id of the root."""
        return self.root.id

    @property
    def ids(self) -> list[int]:
        """Who is in the tree, by place."""
        return [provider.id for provider in self.local]

    def id_at(self, place: int) -> int:
        """One of ``ids``."""
        return self.local[place].id

    def uuid_at(self, place: int) -> str:
        """The UUID of one of ``ids``, in quotes."""
        return self._uuids[self.local[place].id]

    @cached_property
    def _uuids(self) -> dict[int, str]:
        return {int(row_id): uuid for row_id, uuid, *_ in self.lines}

    def sketch(self, asked: Asked) -> Hashable:
        """All that a search sees of a tree that ``is_alone``: trees with the same sketch have the same candidates, but
        for the ids. By place: where the parent is, what can be given, traits and aggregates that are asked about."""
        places: dict[int | None, int] = {row_id: place for place, row_id in enumerate(self.ids)}
        look = [
            (places.get(p.parent_id), asked.given_by(p.inventories), p.traits, frozenset(p.aggregates))
            for p in self.local
        ]
        return (places[self.root.id], *look)

    @property
    def parents(self) -> dict[int, int | None]:
        """The parents of all of them, by id."""
        return {**self.above, **{provider.id: provider.parent_id for provider in self.local}}


@dataclass(slots=True)
class Candidate:
    """Amounts by provider and class name; providers by suffix; roots of the trees of those that give something.

    ``anchor`` is where it was found, if that was read as a tree; another tree may have the same candidate.
    """

    allocations: dict[int, dict[str, int]]
    mappings: dict[str, list[int]]
    roots: set[int]
    anchor: Anchor | None = field(default=None, compare=False, repr=False)

    @property
    def size(self) -> int:
        """How many providers it names, once for each thing that they do."""
        return len(self.allocations) + len(self.mappings)


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A candidate by places in a tree: amounts of each that gives something, and who serves each group."""

    allocations: list[tuple[int, dict[str, int]]]
    mappings: list[tuple[str, list[int]]]

    def places(self) -> set[int]:
        """Of all whom it names."""
        return {place for place, _ in self.allocations}.union(*(places for _, places in self.mappings))


@dataclass(slots=True)
class Copy:
    """The candidate of a tree that has the same as others that look like it, but for the ids: read as ``Candidate``."""

    pattern: Pattern
    anchor: Anchor

    @property
    def size(self) -> int:
        """How many providers it names, once for each thing that they do."""
        return len(self.pattern.allocations) + len(self.pattern.mappings)

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
        """Roots of the trees of those that give something."""
        return {self.anchor.root_id} if self.pattern.allocations else set()


#: What a search finds.
Found = Candidate | Copy


@dataclass(slots=True)
class Slot:
    """What one provider has to give, and who could: a group with a suffix, or one class of the group without.

    ``rationed`` are those of the amounts that others take from as well.
    """

    place: int
    group: Group
    amounts: list[tuple[int, int]]
    rationed: list[tuple[int, int]]
    options: list[Provider]


def serves(group: Group, provider: Provider) -> bool:
    """Can the provider give all that a group with a suffix asks for? All conditions are on the provider itself."""
    for resource_class, amount in group.resources.items():
        if not provider.gives(resource_class, amount):
            return False
    return (
        provider.has(group.required, group.forbidden)
        and provider.is_in(group.member_of)
        and group.not_member_of.isdisjoint(provider.aggregates)
        and group.tree in (None, provider.root_id)
    )


def helps(group: Group, anchor: Anchor, provider: Provider, resource_class: int, amount: int) -> bool:
    """Can the provider give the amount to the group without suffix? An aggregate of the root spans the tree."""
    return provider.gives(resource_class, amount) and may_help(group, anchor, provider)


def may_help(group: Group, anchor: Anchor, provider: Provider) -> bool:
    """Can the provider give something to the group without suffix, if it has it?"""
    if not group.forbidden.isdisjoint(provider.traits):
        return False
    local = provider.root_id == anchor.root.id
    if not (group.tree is None or (local and group.tree == anchor.root.id)):
        return False
    if not (provider.is_in(group.member_of) or (local and anchor.root.is_in(group.member_of))):
        return False
    return group.not_member_of.isdisjoint(provider.aggregates) and group.not_member_of.isdisjoint(
        anchor.root.aggregates
    )


def slots_of(wanted: Wanted, anchor: Anchor) -> Iterator[Slot]:
    """What is to be given and who could, in the order of the request."""
    everybody = [*anchor.local, *anchor.sharing]
    having: dict[int, list[Provider]] = {}
    for provider in everybody:
        for resource_class in provider.inventories:
            having.setdefault(resource_class, []).append(provider)
    places = count()

    def slot(group: Group, amounts: list[tuple[int, int]], options: list[Provider]) -> Slot:
        rationed = [item for item in amounts if item[0] in wanted.rationed]
        return Slot(next(places), group, amounts, rationed, options)

    for group in wanted.groups:
        items = list(group.resources.items())
        if group.suffix:
            able = having.get(items[0][0], []) if items else everybody
            yield slot(group, items, [provider for provider in able if serves(group, provider)])
            continue
        for item in items:
            able = having.get(item[0], [])
            yield slot(group, [item], [provider for provider in able if helps(group, anchor, provider, *item)])
