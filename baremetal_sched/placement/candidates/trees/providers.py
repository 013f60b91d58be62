"""Providers, what they have, and the trees that they are in, as far as a request asks about them; the slots of a
request, each served by one provider, and the providers of a tree that can serve each."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple

from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, Group, ResolvedRequest


class TreeInventory(NamedTuple):
    """The amount that a provider has of a class."""

    free: int
    min_unit: int
    max_unit: int
    step_size: int

    def fits(self, amount: int) -> bool:
        """Return whether it can give ``amount`` at once."""
        return amount <= self.free and self.min_unit <= amount <= self.max_unit and not amount % self.step_size


class ProviderRow(NamedTuple):
    """A provider as it is in the database. ``traits`` are as in ``trait_ids``.

    ``stock`` is JSON: an array of numbers for each inventory, in no defined order; empty if there is none.
    """

    id: int
    uuid: str
    parent_id: int | None
    root_id: int
    stock: str
    traits: str


@dataclass(slots=True, eq=False)
class Provider:
    """A provider, as far as a request asks about it. ``shares``: it serves trees other than its own."""

    id: int
    root_id: int
    parent_id: int | None = None
    shares: bool = False
    traits: frozenset[int] = frozenset()
    aggregates: set[int] = field(default_factory=set)
    inventories: Mapping[int, TreeInventory] = field(default_factory=FrozenDict)

    def gives(self, resource_class: int, amount: int) -> bool:
        """Return whether it can give ``amount`` of the class."""
        inventory = self.inventories.get(resource_class)
        return inventory is not None and inventory.fits(amount)

    def has(self, required: Sequence[frozenset[int]], forbidden: frozenset[int]) -> bool:
        """Return whether it has a trait of each set, and no forbidden one."""
        return forbidden.isdisjoint(self.traits) and _meets(self.traits, required)

    def is_in(self, member_of: Sequence[frozenset[int]]) -> bool:
        """Return whether it is in an aggregate of each set."""
        return _meets(self.aggregates, member_of)


def _meets(ids: AbstractSet[int], wanted: Sequence[frozenset[int]]) -> bool:
    """Is one of each set among the ids? (Called for every provider, so there is no generator.)"""
    for any_of in wanted:  # noqa: SIM110
        if any_of.isdisjoint(ids):
            return False
    return True


class RequestedAmounts:
    """The amounts that a request asks for, and its ``aggregates``."""

    def __init__(self, resolved: ResolvedRequest) -> None:
        self.aggregates = resolved.aggregates
        self._of_class: dict[int, list[tuple[int, int]]] = {}
        items = [item for group in resolved.groups for item in group.resources.items()]
        for place, (resource_class, amount) in enumerate(items):
            self._of_class.setdefault(resource_class, []).append((1 << place, amount))
        #: Of classes that are requested more than once: the sum.
        self._sums = {name: sum(amount for _, amount in self._of_class[name]) for name in resolved.contended_classes}
        self._given: dict[Mapping[int, TreeInventory], Hashable] = {}

    def given_by(self, inventories: Mapping[int, TreeInventory]) -> Hashable:
        """Return which of them can be given, a bit for each, and where amounts add up, how much there is, as far as it
        matters. Memoized, as thousands of providers have the same inventories."""
        given = self._given.get(inventories)
        if given is None:
            given = self._given[inventories] = self._work_out(inventories)
        return given

    def _work_out(self, inventories: Mapping[int, TreeInventory]) -> Hashable:
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

    ``above``: the parents in the trees of the providers that share, by id. ``rows``: all providers of the tree as they
    were read.
    """

    root: Provider
    local: list[Provider]
    sharing: list[Provider]
    above: Mapping[int, int | None]
    rows: Sequence[ProviderRow] = ()

    @property
    def is_alone(self) -> bool:
        """Return whether no provider shares, neither with the tree nor in it."""
        return not self.sharing and not any(provider.shares for provider in self.local)

    @property
    def root_id(self) -> int:
        """The id of the root."""
        return self.root.id

    @property
    def ids(self) -> list[int]:
        """The ids of all providers, by place: those in the tree, then those that share with it."""
        return [provider.id for provider in self._members]

    def id_at(self, place: int) -> int:
        """One of ``ids``."""
        return self._members[place].id

    def root_at(self, place: int) -> int:
        """The root of the tree of one of ``ids``."""
        return self._members[place].root_id

    def uuid_at(self, place: int) -> str:
        """The UUID of one of ``ids`` that is in the tree."""
        return self._uuids[self.local[place].id]

    @cached_property
    def _members(self) -> list[Provider]:
        return [*self.local, *self.sharing] if self.sharing else self.local

    @cached_property
    def _uuids(self) -> dict[int, str]:
        return {row.id: row.uuid for row in self.rows}

    def signature(self, asked: RequestedAmounts) -> Hashable:
        """All that a search sees of it, if no subtree spans trees. Those with the same signature have the same
        candidates, except for the ids. By place: where the parent is, what can be given, the traits and aggregates that
        matter, whether it shares, and which others are in its tree."""
        places: dict[int | None, int] = {row_id: place for place, row_id in enumerate(self.ids)}
        roots: dict[int, int] = {}
        look = [
            (
                places.get(p.parent_id),
                asked.given_by(p.inventories),
                p.traits,
                asked.aggregates.intersection(p.aggregates),
                p.shares,
                roots.setdefault(p.root_id, len(roots)),
            )
            for p in self._members
        ]
        return (places[self.root.id], len(self.local), *look)

    @property
    def parents(self) -> dict[int, int | None]:
        """The parents of all of them, by id."""
        return {**self.above, **{provider.id: provider.parent_id for provider in self.local}}


@dataclass(slots=True)
class Slot:
    """A part of a request that one provider must serve (a group with a suffix, or one class of the group without), and
    ``options``: the providers that could.

    ``contended`` are those of the amounts that others take from as well.
    """

    place: int
    group: Group
    amounts: list[tuple[int, int]]
    contended: list[tuple[int, int]]
    options: list[Provider]


def can_satisfy(group: Group, provider: Provider) -> bool:
    """Return whether the provider can give all that a group with a suffix asks for, and meets its conditions."""
    for resource_class, amount in group.resources.items():
        if not provider.gives(resource_class, amount):
            return False
    return (
        provider.has(group.required, group.forbidden)
        and provider.is_in(group.member_of)
        and group.not_member_of.isdisjoint(provider.aggregates)
        and group.tree in (None, provider.root_id)
    )


def is_eligible(group: Group, anchor: Anchor, provider: Provider) -> bool:
    """Return whether the provider may give to the group without suffix, whatever it has. An aggregate of the root spans
    the tree."""
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


def slots_of(resolved: ResolvedRequest, anchor: Anchor) -> Iterator[Slot]:
    """Yield the slots of the request in its order, each with the providers of the tree that could serve it."""
    all_providers = [*anchor.local, *anchor.sharing]
    having: dict[int, list[Provider]] = {}
    for provider in all_providers:
        for resource_class in provider.inventories:
            having.setdefault(resource_class, []).append(provider)
    places = count()

    def slot(group: Group, amounts: list[tuple[int, int]], options: list[Provider]) -> Slot:
        contended = [item for item in amounts if item[0] in resolved.contended_classes]
        return Slot(next(places), group, amounts, contended, options)

    for group in resolved.groups:
        items = list(group.resources.items())
        if group.suffix:
            able = having.get(items[0][0], []) if items else all_providers
            yield slot(group, items, [provider for provider in able if can_satisfy(group, provider)])
            continue
        for item in items:
            able = having.get(item[0], [])
            giving = [each for each in able if each.gives(*item) and is_eligible(group, anchor, each)]
            yield slot(group, [item], giving)
