"""From trees to candidates, without a database."""

from collections.abc import Iterator
from itertools import islice

from baremetal_sched.placement.candidates.choosing import candidates
from baremetal_sched.placement.candidates.trees import Anchor, Group, Inventory, Provider, Wanted

CPU, PORT = 1, 2
NAMES = {CPU: "VCPU", PORT: "CUSTOM_PORT"}


def tree(root_id: int, ports: int, free: int = 8) -> Anchor:
    """A root with so many ports below it."""
    root = Provider(root_id, root_id, inventories={CPU: Inventory(free, 1, free, 1)})
    below = [
        Provider(root_id + number, root_id, root_id, inventories={PORT: Inventory(free, 1, free, 1)})
        for number in range(1, ports + 1)
    ]
    local = [root, *below]
    return Anchor(root, local, [], {provider.id: provider.parent_id for provider in local})


def wanting(*amounts: int, isolate: bool = False) -> Wanted:
    groups = tuple(Group(str(number), {PORT: amount}) for number, amount in enumerate(amounts, 1))
    return Wanted(groups, NAMES, isolate=isolate)


def test_who_has_enough_looks_at_no_further_tree() -> None:
    looked_at: list[int] = []

    def trees() -> Iterator[Anchor]:
        for number in range(100):
            looked_at.append(number)
            yield tree(number * 100, ports=3)

    found = list(islice(candidates(wanting(1, 1, isolate=True), trees()), 7))
    assert [next(iter(candidate.roots)) for candidate in found] == [0] * 6 + [100]
    assert looked_at == [0, 1]


def test_breadth_first_takes_one_of_each_tree_in_turn() -> None:
    trees = [tree(0, ports=2), tree(100, ports=0), tree(200, ports=1), tree(300, ports=3)]
    found = candidates(wanting(1), trees, breadth_first=True)
    assert [next(iter(candidate.roots)) for candidate in found] == [0, 200, 300, 0, 300, 300]


def test_too_little_for_all_is_seen_at_once() -> None:
    """Each of these would take longer than the world exists, tried out one by one."""
    assert list(candidates(wanting(*[1] * 30, isolate=True), [tree(0, ports=29)])) == []
    assert list(candidates(wanting(*[3] * 40), [tree(0, ports=19)])) == []


def test_amounts_of_a_provider_add_up() -> None:
    found = list(candidates(wanting(3, 5), [tree(0, ports=1)]))
    assert [(candidate.allocations, candidate.mappings) for candidate in found] == [
        ({1: {"CUSTOM_PORT": 8}}, {"1": [1], "2": [1]})
    ]
    assert list(candidates(wanting(4, 5), [tree(0, ports=1)])) == []


def test_groups_that_have_little_to_choose_from_choose_first() -> None:
    """Twenty groups fit everywhere and one only on the port that the others would take first."""
    anchor = tree(0, ports=21)
    anchor.local[1].traits.add(7)
    groups = (
        *(Group(str(number), {PORT: 1}) for number in range(1, 21)),
        Group("last", {PORT: 1}, required=(frozenset({7}),)),
    )
    (found,) = islice(candidates(Wanted(groups, NAMES, isolate=True), [anchor]), 1)
    assert found.mappings["last"] == [1]
