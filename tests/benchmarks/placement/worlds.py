"""The worlds that are measured: who is there, what they have, how much of it is taken.

A world is described once and written into both databases. It is the same at every run.
"""

from collections.abc import Iterator
from itertools import combinations, count, groupby
from operator import itemgetter
from random import Random
from typing import Protocol

from tests.benchmarks.stores import random_uuid

#: (id, uuid, name, parent's id, root's id)
ProviderRow = tuple[int, str, str, int | None, int]
#: (provider's id, name of the class, total, used); what is used is held by one consumer.
InventoryRow = tuple[int, str, int, int]
#: (provider's id, name of the trait)
TraitRow = tuple[int, str]
#: (provider's id, number of the aggregate)
AggregateRow = tuple[int, int]

SHARES = "MISC_SHARES_VIA_AGGREGATE"


class World(Protocol):
    """Rows of ours and of the original are made from these; each call starts again."""

    classes: list[str]
    traits: list[str]

    def providers(self) -> Iterator[ProviderRow]: ...

    def inventories(self) -> Iterator[InventoryRow]: ...

    def provider_traits(self) -> Iterator[TraitRow]: ...

    def aggregates(self) -> Iterator[AggregateRow]: ...


class Fleet:
    """Nodes: ten traits each out of sixty, one of one resource class out of eight."""

    classes = [f"CUSTOM_METAL_{number}" for number in range(8)]
    traits = [f"CUSTOM_QUALITY_{number:02}" for number in range(60)]
    each = 10

    def __init__(self, nodes: int, taken: float = 0.8) -> None:
        self.nodes = nodes
        self.taken = taken

    def providers(self) -> Iterator[ProviderRow]:
        random = Random("providers")
        for row_id in range(1, self.nodes + 1):
            yield row_id, random_uuid(random), f"node-{row_id}", None, row_id

    def inventories(self) -> Iterator[InventoryRow]:
        for row_id, name, place in self._places():
            yield row_id, name, 1, int(place < self.taken)

    def taken_later(self, taken: float) -> Iterator[InventoryRow]:
        """The other amounts in use when ``taken`` of all are."""
        for row_id, name, place in self._places():
            if self.taken <= place < taken:
                yield row_id, name, 1, 1

    def _places(self) -> Iterator[tuple[int, str, float]]:
        random = Random("inventories")
        for row_id in range(1, self.nodes + 1):
            yield row_id, self.classes[row_id % len(self.classes)], random.random()

    def provider_traits(self) -> Iterator[TraitRow]:
        random = Random("traits")
        for row_id in range(1, self.nodes + 1):
            for trait in sorted(random.sample(self.traits, self.each)):
                yield row_id, trait

    def aggregates(self) -> Iterator[AggregateRow]:
        return iter(())


class Zones(Fleet):
    """Nodes in eight zones, which are aggregates; nine of ten are claimed by one project."""

    zones = 8

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes, 0.9)

    def aggregates(self) -> Iterator[AggregateRow]:
        return ((row_id, 1 + row_id % self.zones) for row_id in range(1, self.nodes + 1))

    def never_together(self) -> list[str]:
        """Return five traits that no node has together."""
        together = [{trait for _, trait in rows} for _, rows in groupby(self.provider_traits(), itemgetter(0))]
        chosen = combinations(self.traits, 5)
        return list(next(traits for traits in chosen if not any(each.issuperset(traits) for each in together)))


class Uneven:
    """Trees of uneven shape: below each root one to five cells, below each cell up to three cards, and below some cards
    a partition. A third of the cells and a quarter of the cards are taken."""

    classes = ["CUSTOM_CARD", "CUSTOM_PARTITION"]
    traits: list[str] = []

    def __init__(self, trees: int) -> None:
        self.trees = trees

    def providers(self) -> Iterator[ProviderRow]:
        random = Random("providers")
        for row_id, parent, root, _, _ in self._places():
            yield row_id, random_uuid(random), f"host-{row_id}", parent, root

    def inventories(self) -> Iterator[InventoryRow]:
        for row_id, _, _, kind, is_taken in self._places():
            if kind == "cell":
                yield row_id, "VCPU", 16, 16 if is_taken else 4
                yield row_id, "MEMORY_MB", 65536, 0
            elif kind != "root":
                yield row_id, kind, 2, int(is_taken)

    def provider_traits(self) -> Iterator[TraitRow]:
        return iter(())

    def aggregates(self) -> Iterator[AggregateRow]:
        return iter(())

    def _places(self) -> Iterator[tuple[int, int | None, int, str, bool]]:
        """Yield id, parent, root, kind (or class) and whether it is taken."""
        random, ids = Random("shapes"), count(1)
        for _ in range(self.trees):
            root = next(ids)
            yield root, None, root, "root", False
            for _ in range(random.randint(1, 5)):
                cell = next(ids)
                yield cell, root, root, "cell", random.random() < 1 / 3
                for _ in range(random.randint(0, 3)):
                    card = next(ids)
                    yield card, cell, root, "CUSTOM_CARD", random.random() < 1 / 4
                    if random.random() < 1 / 3:
                        yield next(ids), card, root, "CUSTOM_PARTITION", False


class Numa:
    """Trees: a root, two cells with processors and memory, four devices below each cell, of four classes."""

    classes = [f"CUSTOM_DEVICE_{number}" for number in range(4)]
    traits: list[str] = []
    cells = 2
    #: A quarter of the devices is taken, and of the processors of every other cell.
    taken = 0.25

    def __init__(self, trees: int) -> None:
        self.trees = trees

    def providers(self) -> Iterator[ProviderRow]:
        random = Random("providers")
        for root, cell, device in self._places():
            row_id = self._id(root, cell, device)
            parent = None if cell is None else root if device is None else self._id(root, cell, None)
            yield row_id, random_uuid(random), f"host-{row_id}", parent, root

    def inventories(self) -> Iterator[InventoryRow]:
        random = Random("inventories")
        for root, cell, device in self._places():
            if cell is None:
                continue
            row_id = self._id(root, cell, device)
            if device is None:
                yield row_id, "VCPU", 16, 4 * cell
                yield row_id, "MEMORY_MB", 65536, 0
            else:
                yield row_id, self.classes[device], 1, int(random.random() < self.taken)

    def provider_traits(self) -> Iterator[TraitRow]:
        return iter(())

    def aggregates(self) -> Iterator[AggregateRow]:
        return iter(())

    def _places(self) -> Iterator[tuple[int, int | None, int | None]]:
        size = 1 + self.cells * (1 + len(self.classes))
        for tree in range(self.trees):
            root = 1 + tree * size
            yield root, None, None
            for cell in range(self.cells):
                yield root, cell, None
                yield from ((root, cell, device) for device in range(len(self.classes)))

    def _id(self, root: int, cell: int | None, device: int | None) -> int:
        if cell is None:
            return root
        first = root + 1 + cell * (1 + len(self.classes))
        return first if device is None else first + 1 + device


class Sharing:
    """Compute hosts without disks, twenty to an aggregate, and in each aggregate two that share their disks."""

    classes: list[str] = []
    traits = [SHARES]
    in_one = 20
    storages = 2

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.groups = -(-hosts // self.in_one)

    def providers(self) -> Iterator[ProviderRow]:
        random = Random("providers")
        for row_id in range(1, self.hosts + 1):
            yield row_id, random_uuid(random), f"host-{row_id}", None, row_id
        for row_id, _ in self._sharing():
            yield row_id, random_uuid(random), f"storage-{row_id}", None, row_id

    def inventories(self) -> Iterator[InventoryRow]:
        for row_id in range(1, self.hosts + 1):
            yield row_id, "VCPU", 64, 64 if row_id % 4 == 0 else 16
            yield row_id, "MEMORY_MB", 262144, 65536
        for row_id, _ in self._sharing():
            yield row_id, "DISK_GB", 100_000, 20_000

    def provider_traits(self) -> Iterator[TraitRow]:
        return ((row_id, SHARES) for row_id, _ in self._sharing())

    def aggregates(self) -> Iterator[AggregateRow]:
        for row_id in range(1, self.hosts + 1):
            yield row_id, 1 + (row_id - 1) // self.in_one
        yield from self._sharing()

    def _sharing(self) -> Iterator[AggregateRow]:
        for number in range(self.groups * self.storages):
            yield self.hosts + 1 + number, 1 + number // self.storages
