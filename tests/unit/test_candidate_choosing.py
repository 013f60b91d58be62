"""From trees to candidates, without a database."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pytest

from baremetal_sched.placement.candidates.request.resolved_request import FrozenDict, Group, ResolvedRequest
from baremetal_sched.placement.candidates.trees import enumeration
from baremetal_sched.placement.candidates.trees.candidate import Found, TimeLimit, TookTooLong
from baremetal_sched.placement.candidates.trees.enumeration import candidates
from baremetal_sched.placement.candidates.trees.providers import Anchor, Provider, TreeInventory

CPU, PORT = 1, 2
NAMES = {CPU: "VCPU", PORT: "CUSTOM_PORT"}


def tree(root_id: int, ports: int, free: int = 8) -> Anchor:
    """A root with so many ports below it."""
    root = Provider(root_id, root_id, inventories=FrozenDict({CPU: TreeInventory(free, 1, free, 1)}))
    below = [
        Provider(root_id + number, root_id, root_id, inventories=FrozenDict({PORT: TreeInventory(free, 1, free, 1)}))
        for number in range(1, ports + 1)
    ]
    return Anchor(root, [root, *below], [], {})


def wanting(*amounts: int, isolate: bool = False) -> ResolvedRequest:
    groups = tuple(Group(str(number), {PORT: amount}) for number, amount in enumerate(amounts, 1))
    return ResolvedRequest(groups, NAMES, isolate=isolate)


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


class Checks(TimeLimit):
    """The time is over after ``most`` checks."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TookTooLong


def test_groups_of_which_a_provider_serves_one_are_counted(subtests: pytest.Subtests) -> None:
    """Each takes more than half of a provider, and there is one group more than providers."""
    for size in [8, 10, 50]:
        with subtests.test(size=size):
            wanted = wanting(*[51] * (size + 1), 1)
            assert list(candidates(wanted, [tree(0, ports=size, free=100)], time_limit=Checks(100))) == []


def cells(number: int, ports: int) -> Anchor:
    """A root, cells with a processor each below it, and ports below each cell."""
    providers = [Provider(1, 1)]
    for cell in range(10, 10 + number):
        providers.append(Provider(cell, 1, 1, inventories=FrozenDict({CPU: TreeInventory(1, 1, 1, 1)})))
        fits = FrozenDict({PORT: TreeInventory(1, 1, 1, 1)})
        providers += [Provider(100 * cell + port, 1, cell, inventories=fits) for port in range(ports)]
    return Anchor(providers[0], providers, [], {})


def test_dead_ends_are_remembered(subtests: pytest.Subtests) -> None:
    """A port more than each cell has, in one subtree: the cells have enough together, and none has alone."""
    for isolate in [False, True]:
        with subtests.test(isolate=isolate):
            groups = (Group("cell", {CPU: 1}), *(Group(str(number), {PORT: 1}) for number in range(13)))
            wanted = ResolvedRequest(
                groups, NAMES, isolate=isolate, same_subtrees=(frozenset(group.suffix for group in groups),)
            )
            assert list(candidates(wanted, [cells(4, ports=12)], time_limit=Checks(1000))) == []
            found = islice(candidates(wanted, [cells(4, ports=13)], time_limit=Checks(1000)), 1)
            assert len(list(found)) == 1


#: Each takes three of these, with nothing left: they are hard to put together.
TIGHT = [40, 31, 29, 27, 36, 37, 33, 28, 39, 45, 26, 29, 38, 35, 27, 30, 41, 29, 34, 34, 32, 43, 30, 27, 28, 46, 26]
TIGHT += [42, 31, 27, 39, 35, 26, 37, 27, 36]


def test_a_search_that_takes_too_long_is_stopped() -> None:
    wanted = wanting(*TIGHT)
    anchor = tree(0, ports=12, free=100)
    assert sum(TIGHT) == 1200
    with pytest.raises(TookTooLong):
        list(candidates(wanted, [anchor], time_limit=Checks(200)))


def test_more_patterns_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees that look alike have the same candidates, however few of them are kept."""
    wanted = wanting(1, 1)

    def found() -> list[Any]:
        trees = [tree(100 * number, ports=4) for number in range(1, 5)]
        some = candidates(wanted, trees, breadth_first=True)
        return [(candidate.allocations, candidate.mappings) for candidate in some]

    expected = found()
    for most in (0, 1, 7, 16):
        monkeypatch.setattr(enumeration, "_MOST_KEPT", most)
        assert found() == expected
    assert len(expected) == 64


def test_amounts_of_a_provider_add_up() -> None:
    found = list(candidates(wanting(3, 5), [tree(0, ports=1)]))
    assert [(candidate.allocations, candidate.mappings) for candidate in found] == [
        ({1: {"CUSTOM_PORT": 8}}, {"1": [1], "2": [1]})
    ]
    assert list(candidates(wanting(4, 5), [tree(0, ports=1)])) == []


def test_groups_that_have_little_to_choose_from_choose_first() -> None:
    """Twenty groups fit everywhere and one only on the port that the others would take first."""
    anchor = tree(0, ports=21)
    _add_trait(anchor.local[1], 7)
    groups = (
        *(Group(str(number), {PORT: 1}) for number in range(1, 21)),
        Group("last", {PORT: 1}, required=(frozenset({7}),)),
    )
    (found,) = islice(candidates(ResolvedRequest(groups, NAMES, isolate=True), [anchor]), 1)
    assert found.mappings["last"] == [1]


def test_trees_that_look_alike_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    choices = enumeration.choices

    def noted(wanted: ResolvedRequest, anchor: Anchor, time_limit: TimeLimit) -> Any:
        searched.append(anchor)
        return choices(wanted, anchor, time_limit)

    monkeypatch.setattr(enumeration, "choices", noted)
    wanted = ResolvedRequest((Group("", {CPU: 2}), Group("1", {PORT: 1})), NAMES)
    found = list(candidates(wanted, [tree(100 * number, ports=2, free=2 + number % 5) for number in range(1, 51)]))
    assert len(searched) == 1
    assert [(candidate.roots, candidate.allocations, candidate.mappings) for candidate in found[2:4]] == [
        ({200}, {200: {"VCPU": 2}, port: {"CUSTOM_PORT": 1}}, {"": [200], "1": [port]}) for port in (201, 202)
    ]
    assert len(found) == 100


def _add_trait(provider: Provider, trait: int) -> None:
    provider.traits |= {trait}


def _root_last(anchor: Anchor) -> None:
    """The tree hangs from its last provider, as if it had been moved there."""
    first, last = anchor.local[0], anchor.local[-1]
    anchor.root, first.parent_id, last.parent_id = last, last.id, None
    for provider in anchor.local:
        provider.root_id = last.id


def _root_at(place: int) -> Callable[[Anchor], None]:
    """Those between the root and the others are not known."""

    def change(anchor: Anchor) -> None:
        anchor.root = anchor.local[place]
        for provider in anchor.local:
            provider.root_id, provider.parent_id = anchor.root.id, 7000
        anchor.root.parent_id = None
        _add_trait(anchor.local[0], 8)

    return change


def _below_another(anchor: Anchor) -> None:
    anchor.local[2].parent_id = anchor.local[1].id


def _taken(anchor: Anchor) -> None:
    anchor.local[2].inventories = FrozenDict({PORT: TreeInventory(0, 1, 1, 1)})


CHANGES: list[Callable[[Anchor], None]] = [
    lambda anchor: _add_trait(anchor.local[1], 7),
    lambda anchor: _add_trait(anchor.root, 8),
    lambda anchor: _add_trait(anchor.root, 9),
    lambda anchor: anchor.local[2].aggregates.add(5),
    lambda anchor: anchor.root.aggregates.add(5),
    lambda anchor: anchor.root.aggregates.add(6),
    _taken,
    _below_another,
    _root_last,
    _root_at(0),
    _root_at(1),
]


def test_trees_that_differ_in_anything_are_told_apart(subtests: pytest.Subtests) -> None:
    """However many others were looked at before, a tree has the candidates that it has alone."""
    for wanted in [
        ResolvedRequest((Group("", {CPU: 1, PORT: 1}),), NAMES),
        ResolvedRequest((Group("", {PORT: 1}, required=(frozenset({7}),)),), NAMES),
        ResolvedRequest((Group("", {PORT: 1}, forbidden=frozenset({7})),), NAMES),
        ResolvedRequest((Group("", {PORT: 1}),), NAMES, root_required=(frozenset({8}),), root_forbidden=frozenset({9})),
        ResolvedRequest((Group("", {PORT: 1}, member_of=(frozenset({5}),), not_member_of=frozenset({6})),), NAMES),
        ResolvedRequest((Group("1", {PORT: 1}, member_of=(frozenset({5}),)),), NAMES),
        ResolvedRequest((Group("1", {PORT: 1}), Group("2", {})), NAMES, same_subtrees=(frozenset("12"),), isolate=True),
        ResolvedRequest((Group("1", {PORT: 1}), Group("2", {PORT: 1})), NAMES, isolate=True),
        ResolvedRequest((Group("", {PORT: 1}),), NAMES, one_per_tree=True),
    ]:
        with subtests.test(wanted=wanted):

            def trees() -> list[Anchor]:
                made = [tree(100 * number, ports=3) for number in range(1, len(CHANGES) + 2)]
                for anchor, change in zip(made, CHANGES, strict=False):
                    change(anchor)
                return made

            def look(found: Iterable[Found]) -> list[Any]:
                return [(candidate.allocations, candidate.mappings, candidate.roots) for candidate in found]

            for order in (1, -1):
                alone = [row for anchor in trees()[::order] for row in look(candidates(wanted, [anchor]))]
                assert alone
                assert look(candidates(wanted, trees()[::order])) == alone
