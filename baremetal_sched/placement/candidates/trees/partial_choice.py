"""A choice of providers for some of the slots: what it leaves for the others, and whether it can be completed."""

from collections.abc import Iterable

from baremetal_sched.placement.candidates.request.resolved_request import ResolvedRequest
from baremetal_sched.placement.candidates.trees.bounds import Demand
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider, Slot


class PartialChoice:
    """The providers of the first slots, and what these have taken. Slots get them in order, and give them back."""

    def __init__(self, resolved: ResolvedRequest, anchor: Anchor, slots: list[Slot]) -> None:
        self.resolved = resolved
        self.slots = slots
        self.providers: list[Provider] = []
        #: By provider and resource class: how much is taken, of the classes that several slots ask for.
        self.taken: dict[tuple[int, int], int] = {}
        #: Providers that may serve no other group with a suffix.
        self.occupied: set[int] = set()
        #: By root: ids of the providers that give something, once for each slot.
        self.givers: dict[int, list[int]] = {}
        self.traits = _Traits(slots)
        self.subtrees = [Subtree(suffixes, slots) for suffixes in resolved.same_subtrees]
        self._subtrees_of = [[one for one in self.subtrees if slot.group.suffix in one.suffixes] for slot in slots]
        self._parents = anchor.parents
        self._lineages: dict[int, frozenset[int]] = {}

    def may(self, slot: Slot, provider: Provider) -> bool:
        """Return whether the provider has enough left for the slot, and may serve it beside the slots before."""
        for resource_class, amount in slot.contended:
            inventory = provider.inventories[resource_class]
            amount += self.taken.get((provider.id, resource_class), 0)
            if amount > inventory.free or amount > inventory.max_unit:
                return False
        if self.resolved.isolate and slot.group.suffix and provider.id in self.occupied:
            return False
        if self.resolved.one_per_tree and slot.amounts:
            return all(other == provider.id for other in self.givers.get(provider.root_id, ()))
        return True

    def take(self, slot: Slot, provider: Provider) -> bool:
        """Give the next slot the provider. Return whether the slots after it can still bring the traits and the
        ancestors that those up to it lack."""
        depth = len(self.providers)
        self.providers.append(provider)
        for resource_class, amount in slot.contended:
            key = (provider.id, resource_class)
            self.taken[key] = self.taken.get(key, 0) + amount
        if self.resolved.isolate and slot.group.suffix:
            self.occupied.add(provider.id)
        if self.resolved.one_per_tree and slot.amounts:
            self.givers.setdefault(provider.root_id, []).append(provider.id)
        promising = self.traits.add(depth, provider)
        for subtree in self._subtrees_of[depth]:
            promising &= subtree.add(depth, provider.id, self.lineage(provider.id))
        return promising

    def release(self) -> None:
        """Take back what the last slot was given."""
        provider = self.providers.pop()
        slot = self.slots[len(self.providers)]
        for resource_class, amount in slot.contended:
            self.taken[provider.id, resource_class] -= amount
        if self.resolved.isolate and slot.group.suffix:
            self.occupied.remove(provider.id)
        if self.resolved.one_per_tree and slot.amounts:
            self.givers[provider.root_id].pop()
        self.traits.remove()
        for subtree in self._subtrees_of[len(self.providers)]:
            subtree.remove()

    def left(self, provider: Provider, resource_class: int) -> int:
        """Return how much of a class that several slots ask for the provider can still give."""
        inventory = provider.inventories[resource_class]
        return min(inventory.free, inventory.max_unit) - self.taken.get((provider.id, resource_class), 0)

    def demands(self) -> tuple[list[Demand], dict[int, dict[int, int]]]:
        """Return what the other slots ask for, and how much the providers that may serve them have left."""
        demands = []
        room: dict[int, dict[int, int]] = {}
        for slot in self.slots[len(self.providers) :]:
            able = [provider for provider in slot.options if self.may(slot, provider)]
            exclusive = self.resolved.isolate and bool(slot.group.suffix)
            demands.append(Demand(slot.contended, tuple([provider.id for provider in able]), exclusive))
            for name, _ in slot.contended:
                there = room.setdefault(name, {})
                for provider in able:
                    if provider.id not in there:
                        there[provider.id] = self.left(provider, name)
        return demands, room

    def lineage(self, provider_id: int) -> frozenset[int]:
        """Return the ids of the provider and its ancestors."""
        found = self._lineages.get(provider_id)
        if found is None:
            ids: list[int] = []
            current: int | None = provider_id
            while current is not None and current not in ids:
                ids.append(current)
                current = self._parents.get(current)
            found = self._lineages[provider_id] = frozenset(ids)
        return found


class _Traits:
    """The traits that the providers of the group without suffix must have together: a bit for each set that requires
    one of its traits."""

    def __init__(self, slots: list[Slot]) -> None:
        self._required = next((slot.group.required for slot in slots if not slot.group.suffix), ())
        self._all = (1 << len(self._required)) - 1
        self._had = [0]
        self._bits: dict[int, int] = {}
        if not self._required:
            return
        self._counts = [not slot.group.suffix for slot in slots]
        #: By slot: what those after it can bring.
        self._later = [0] * len(slots)
        for depth in range(len(slots) - 1, 0, -1):
            options = slots[depth].options if self._counts[depth] else ()
            own = 0
            for provider in options:
                own |= self.of(provider)
            self._later[depth - 1] = self._later[depth] | own

    @property
    def had(self) -> int:
        """The bits of the traits that the chosen providers have together."""
        return self._had[-1]

    def of(self, provider: Provider) -> int:
        """Return the bits of the traits that the provider has."""
        bits = self._bits.get(provider.id)
        if bits is None:
            having = (1 << place for place, some in enumerate(self._required) if not some.isdisjoint(provider.traits))
            bits = self._bits[provider.id] = sum(having)
        return bits

    def add(self, depth: int, provider: Provider) -> bool:
        """Add the provider of the next slot. Return whether nothing is lacking that later slots cannot bring."""
        if not self._required:
            return True
        had = self._had[-1] | (self.of(provider) if self._counts[depth] else 0)
        self._had.append(had)
        return had | self._later[depth] == self._all

    def remove(self) -> None:
        """Take back the last one."""
        if self._required:
            self._had.pop()


class Subtree:
    """Request groups that are served in one subtree: the provider of one is an ancestor of all others, or the same."""

    def __init__(self, suffixes: frozenset[str], slots: list[Slot]) -> None:
        self.suffixes = suffixes
        self.members: list[int] = []
        #: The common ancestors of the members, for each of these.
        self._common: list[frozenset[int]] = []
        #: By slot: the ids of all providers that may still become members.
        self._later: dict[int, frozenset[int]] = {}
        later: frozenset[int] = frozenset()
        for depth in range(len(slots) - 1, -1, -1):
            if slots[depth].group.suffix in suffixes:
                self._later[depth] = later
                later = later.union(provider.id for provider in slots[depth].options)
        self._last = max(self._later, default=-1)

    def is_open(self, depth: int) -> bool:
        """Return whether the slot or one after it will bring another member."""
        return depth <= self._last

    @property
    def common(self) -> frozenset[int]:
        """The members' common ancestors, each with itself."""
        return self._common[-1]

    def add(self, depth: int, provider_id: int, lineage: Iterable[int]) -> bool:
        """Add a member. Return whether a member, or one to come, is above all members."""
        common = self._common[-1].intersection(lineage) if self._common else frozenset(lineage)
        self._common.append(common)
        self.members.append(provider_id)
        return not common.isdisjoint(self.members) or not common.isdisjoint(self._later[depth])

    def remove(self) -> None:
        """Take back the last one."""
        self._common.pop()
        self.members.pop()
