"""Results of masks, compared with looking at each machine and each set of conditions."""

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baremetal_sched.baremetal.matching import masks as matching
from baremetal_sched.baremetal.matching.conditions import Condition, Kind
from baremetal_sched.baremetal.matching.masks import MOST_EXACT, Analysis, Bucket, Verdict, analyse, beside

A, B, C = (Condition(name, f"has {name}") for name in ("a", "b", "c"))
FREE = Condition("free", "is free", Kind.AVAILABILITY)
SERVED = Condition("served", "has a conductor", Kind.SERVICE)
NOTED = Condition("lock", "is not locked", Kind.AVAILABILITY, counts=False)


def of(conditions: list[Condition], *machines: str, wanted: int = 1) -> Analysis:
    """The analysis of machines, each of which is the ids of what it fails, separated by blanks."""
    places = {condition.id: place for place, condition in enumerate(conditions)}
    masks: dict[int, Bucket] = {}
    for number, failed in enumerate(machines):
        mask = sum(1 << places[name] for name in failed.split())
        before = masks.get(mask, Bucket(0))
        masks[mask] = Bucket(before.machines + 1, before.example or f"m{number}")
    return analyse(conditions, masks, wanted)


def test_what_each_condition_does() -> None:
    found = of([A, B, C], "a", "a b", "b c", "c", "")
    assert (found.nodes, found.fitting, found.verdict) == (5, 1, Verdict.FITS)
    figures = [(each.fails, each.only_this, each.eliminated, each.left, each.example) for each in found.shares]
    assert figures == [(2, 1, 2, 3, "m0"), (2, 0, 1, 2, None), (2, 1, 1, 1, "m3")]
    assert found.relaxations == []


def test_machines_that_were_not_looked_at() -> None:
    found = beside(of([A, B, FREE], "a", "b", "b free", ""), 10, ("b", "free"))
    assert (found.nodes, found.fitting) == (14, 1)
    figures = [(each.fails, each.only_this, each.eliminated, each.left) for each in found.shares]
    assert figures == [(1, 1, 1, 13), (12, 1, 12, 1), (11, 0, 0, 1)]


def test_no_machine_at_all() -> None:
    found = of([A])
    assert (found.nodes, found.fitting, found.verdict, found.relaxations) == (0, 0, Verdict.IMPOSSIBLE, [])
    assert analyse([], {}).verdict is Verdict.IMPOSSIBLE
    assert analyse([], {0: Bucket(2)}).verdict is Verdict.FITS


def test_verdicts(subtests: pytest.Subtests) -> None:
    for machines, wanted, verdict in [
        (["", "a"], 1, Verdict.FITS),
        (["", "a"], 2, Verdict.SHORT),
        (["free", "a"], 1, Verdict.BUSY),
        (["served", "free"], 1, Verdict.UNSERVED),
        (["served free", "a"], 1, Verdict.BUSY),
        (["a", "a free"], 1, Verdict.IMPOSSIBLE),
        (["lock", "a"], 1, Verdict.FITS),
    ]:
        with subtests.test(machines=machines, wanted=wanted):
            assert of([A, FREE, SERVED, NOTED], *machines, wanted=wanted).verdict is verdict


def test_relaxations_are_the_smallest_changes_of_the_request() -> None:
    found = of([A, B, C, FREE], "a", "a", "b c", "b", "free", "a free")
    assert [(each.drop, each.would_fit) for each in found.relaxations] == [(("a",), 2), (("b",), 1)]
    assert found.exact
    assert found.relaxations[0].example == "m0"
    together = of([A, B, C], "a", "a b", "c", wanted=2)
    assert [(each.drop, each.would_fit) for each in together.relaxations] == [(("a", "b"), 2), (("a", "c"), 2)]


def test_as_many_as_there_can_be_if_not_all() -> None:
    """Nothing brings five machines; what brings the two that there are is said."""
    found = of([A, B], "a", "b", wanted=5)
    assert [(each.drop, each.would_fit) for each in found.relaxations] == [(("a", "b"), 2)]


def test_what_is_a_part_of_another_condition_goes_with_it() -> None:
    stock = Condition("availability:X", "has X free", Kind.AVAILABILITY, part_of="a")
    found = of([A, stock, B], "availability:X", "a availability:X b")
    assert found.verdict is Verdict.BUSY
    assert [(each.drop, each.would_fit) for each in found.relaxations] == [(("a",), 1)]


def test_of_some_conditions_one_stays() -> None:
    found = analyse([A, B, C], {0b001: Bucket(1), 0b011: Bucket(2), 0b100: Bucket(4)}, 7, one_stays=["a", "b"])
    assert [(each.drop, each.would_fit) for each in found.relaxations] == [(("a", "c"), 5)]
    assert analyse([A, B], {0b01: Bucket(1)}, one_stays=["a"]).relaxations == []


def test_many_conditions_are_looked_at_greedily() -> None:
    many = [Condition(str(number), "") for number in range(MOST_EXACT + 50)]
    found = of(many, "0 1 2", "3", "4 5", "61")
    assert not found.exact
    assert [(each.drop, each.would_fit) for each in found.relaxations] == [
        (("3",), 1),
        (("61",), 1),
        (("4", "5"), 1),
        (("0", "1", "2"), 1),
    ]
    together = of(many, "0 1 2", "3", "4 5", wanted=2)
    assert (("3", "4", "5"), 2) in [(each.drop, each.would_fit) for each in together.relaxations]


kinds = st.sampled_from([Kind.REQUEST, Kind.REQUEST, Kind.REQUEST, Kind.AVAILABILITY, Kind.SERVICE])
some_conditions = st.lists(st.tuples(kinds, st.booleans(), st.booleans()), min_size=1, max_size=6).map(
    lambda given: [
        Condition(
            str(place),
            "",
            kind,
            part_of=next((str(n) for n in range(place) if given[n][0] is Kind.REQUEST), None)
            if part and kind is Kind.AVAILABILITY
            else None,
            counts=counts or kind is Kind.REQUEST,
        )
        for place, (kind, part, counts) in enumerate(given)
    ]
)


@given(
    some_conditions,
    st.lists(st.integers(0, 63), max_size=30),
    st.integers(1, 4),
    st.frozensets(st.sampled_from("012345")),
)
def test_the_same_as_looking_at_each_machine(
    conditions: list[Condition], machines: list[int], wanted: int, stays: frozenset[str]
) -> None:
    machines = [machine % (1 << len(conditions)) for machine in machines]
    counts = {mask: Bucket(machines.count(mask), str(mask)) for mask in set(machines)}
    stays &= {each.id for each in conditions if each.kind is Kind.REQUEST}
    found = analyse(conditions, counts, wanted, stays)

    def fit(dropped: frozenset[str] = frozenset(), kinds: frozenset[Kind] = frozenset()) -> int:
        asked = [
            1 << place
            for place, each in enumerate(conditions)
            if each.counts and each.kind not in kinds and not {each.id, each.part_of} & dropped
        ]
        return sum(not any(machine & bit for bit in asked) for machine in machines)

    assert found.nodes == len(machines)
    assert found.fitting == fit()
    left = machines
    for place, share in enumerate(found.shares):
        failing = [machine for machine in machines if machine & 1 << place]
        others = sum(1 << n for n, each in enumerate(conditions) if each.counts and n != place)
        assert share.fails == len(failing)
        assert share.only_this == sum(not machine & others for machine in failing)
        assert (share.example is None) == (share.only_this == 0)
        before = len(left)
        left = [machine for machine in left if not (conditions[place].counts and machine & 1 << place)]
        assert (share.eliminated, share.left) == (before - len(left), len(left))
    assert (found.verdict is Verdict.FITS) == (found.fitting >= wanted)
    assert (found.verdict is Verdict.SHORT) == (0 < found.fitting < wanted)
    if not found.fitting:
        unserved = fit(kinds=frozenset([Kind.SERVICE]))
        free = fit(kinds=frozenset([Kind.SERVICE, Kind.AVAILABILITY]))
        assert found.verdict is (Verdict.UNSERVED if unserved else Verdict.BUSY if free else Verdict.IMPOSSIBLE)

    droppable = [each.id for each in conditions if each.kind is Kind.REQUEST]
    every = [frozenset(some) for size in range(len(droppable) + 1) for some in combinations(droppable, size)]
    sets = [some for some in every if not stays or not stays <= some]
    goal = min(wanted, max(map(fit, sets)))
    reaching = [some for some in sets if fit(some) >= goal] if goal > found.fitting else []
    minimal = {some: fit(some) for some in reaching if not any(other < some for other in reaching)}
    assert {frozenset(each.drop): each.would_fit for each in found.relaxations} == minimal
    assert found.exact


@given(st.lists(st.sets(st.integers(0, 19), min_size=1, max_size=4), min_size=1, max_size=15), st.integers(1, 3))
def test_what_is_found_greedily_does_what_it_says(machines: list[set[int]], wanted: int) -> None:
    conditions = [Condition(str(number), "") for number in range(20)]
    found = of(conditions, *(" ".join(map(str, failed)) for failed in machines), wanted=wanted)
    assert found.relaxations
    for relaxation in found.relaxations:
        dropped = {int(name) for name in relaxation.drop}
        assert relaxation.would_fit == sum(failed <= dropped for failed in machines)
        assert relaxation.would_fit >= min(wanted, len(machines))
        for name in dropped:
            assert sum(failed <= dropped - {name} for failed in machines) < min(wanted, len(machines))


def test_very_many_different_machines_take_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are looked at, each of which fails other conditions, and more are wanted than there are."""
    generator = random.Random(1)
    conditions = [Condition(str(number), "") for number in range(400)]
    masks = {generator.getrandbits(400) | 1: Bucket(1) for _ in range(5_000)}
    total, counted = matching._total, list[int]()
    monkeypatch.setattr(matching, "_total", lambda some, drop: counted.append(len(some)) or total(some, drop))
    found = analyse(conditions, masks, 4_000)
    assert not found.exact
    # Each set is grown and pruned a condition at a time, with a look at few machines; all are looked at for its result.
    assert sum(counted) < matching._STARTS * (2 * len(conditions) * matching._LOOKED_AT + len(masks))
    assert sum(size > matching._LOOKED_AT for size in counted) < 2 * matching._STARTS
