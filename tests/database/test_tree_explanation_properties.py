"""Random trees and requests of several groups: explanations against a look at each provider in each tree, and against
what a changed request finds."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.explanation import Explanation
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION as VERSION
from baremetal_sched.db.transaction import Database
from baremetal_sched.explain.explanations import explain_request
from baremetal_sched.explain.tree_explanations import MOST_COUNTED
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions
from tests.database.test_candidate_properties import PROPERTY, Plain, database, in_a_world, some_requests, some_worlds
from tests.database.test_explanation_properties import SETTINGS, by_query, written
from tests.examples import examples
from tests.worlds import SHARES, Spec, uuid_of

__all__ = ["database"]

#: Sets of so many conditions are tried by the enumeration.
_TRIED = 2

Failed = dict[str, bool]


class Trees(Plain):
    """A world, and which conditions of each part each provider fails, looked at one by one."""

    def __init__(self, specs: list[Spec], request: CandidateRequest) -> None:
        super().__init__(specs)
        self.request = request
        self.roots = [one.name for one in specs if one.parent is None]
        self.parts: dict[str, RequestGroup] = {}
        for suffix, group in request.groups.items():
            if suffix or len(group.resources) == 1:
                self.parts[f"resources{suffix}"] = group
            else:
                for name, amount in group.resources.items():
                    self.parts[f"resources={name}:{amount}"] = RequestGroup(
                        "", {name: amount}, group.traits, group.aggregates, group.in_tree
                    )

    def failed(self, group: RequestGroup, anchor: str, name: str) -> Failed:
        """By the id of each condition, whether the provider fails it in the tree."""
        suffix, one, root = group.suffix, self.by_name[name], self.by_name[anchor]
        found: Failed = {}
        for resource_class, amount in group.resources.items():
            stock = one.has.get(resource_class)
            suits = stock is not None and stock.min_unit <= amount <= stock.max_unit and not amount % stock.step_size
            could = suits and stock is not None and amount <= stock.total * stock.ratio
            found[f"class{suffix}:{resource_class}"] = not could
            found[f"availability{suffix}:{resource_class}"] = not self.fits(name, resource_class, amount)
        together = not suffix and len(self.request.groups[""].resources) > 1
        of_all = {trait for other in self.reach(anchor) for trait in self.by_name[other].traits}
        for wanted in group.traits.required:
            found[f"trait{suffix}:{written(wanted)}"] = not wanted & (of_all if together else one.traits)
        for trait in group.traits.forbidden:
            found[f"trait{suffix}:!{trait}"] = trait in one.traits
        local = self.root(name) == anchor
        sets = list(dict.fromkeys(group.aggregates.member_of))
        for some in [[each] for each in sets] if suffix else [sets] if sets else []:
            member = self.member(name, AggregateConditions(some))
            member |= not suffix and local and self.member(anchor, AggregateConditions(some))
            found[f"aggregate{suffix}:{';'.join(map(written, some))}"] = not member
        for uuid in group.aggregates.forbidden:
            outside = AggregateConditions(forbidden={uuid})
            found[f"aggregate{suffix}:!{uuid}"] = not (
                self.outside(name, outside) and (bool(suffix) or self.outside(anchor, outside))
            )
        if group.in_tree is not None:
            found[f"tree{suffix}:{group.in_tree}"] = not ((suffix or local) and self.in_tree(name, group.in_tree))
        for wanted in self.request.root_required.required:
            found[f"root:{written(wanted)}"] = not wanted & root.traits
        for trait in self.request.root_required.forbidden:
            found[f"root:!{trait}"] = trait in root.traits
        return found

    def fails(self, group: RequestGroup, anchor: str, name: str) -> set[str]:
        """The conditions that the provider fails; what cannot be had at all is not said to be busy, too."""
        failed = {each for each, fails in self.failed(group, anchor, name).items() if fails}
        return {each for each in failed if each.replace("availability", "class") not in failed - {each}}

    def nearest(self, group: RequestGroup, anchor: str) -> set[str]:
        """The conditions that the best provider fails."""
        return min((self.fails(group, anchor, name) for name in self.reach(anchor)), key=len)

    def rank(self, anchor: str) -> tuple[int, int]:
        """How many parts are not served in the tree, and how many conditions fail."""
        missing = [len(self.nearest(group, anchor)) for group in self.parts.values()]
        return sum(map(bool, missing)), sum(missing)

    def units(self) -> list[str]:
        """The conditions that can be left out."""
        found = dict.fromkeys(
            each
            for group in self.parts.values()
            for each in self.failed(group, self.roots[0], self.roots[0])
            if not each.startswith("availability")
        )
        if self.request.group_policy == "isolate":
            found["group_policy:isolate"] = None
        for named in self.request.same_subtrees:
            found[f"same_subtree:{','.join(sorted(named))}"] = None
        return list(found)


def changed(request: CandidateRequest, drop: set[str]) -> CandidateRequest | None:
    """The request without the conditions that have these ids; None if it asks for nothing then."""
    subtrees = [each for each in request.same_subtrees if f"same_subtree:{','.join(sorted(each))}" not in drop]
    groups = {}
    for suffix, group in request.groups.items():
        amounts = {name: n for name, n in group.resources.items() if f"class{suffix}:{name}" not in drop}
        if not amounts and (group.resources or not any(suffix in each for each in subtrees)):
            continue
        places = AggregateConditions(list(group.aggregates.member_of), set(group.aggregates.forbidden))
        if suffix:
            places.member_of = [each for each in places.member_of if f"aggregate{suffix}:{written(each)}" not in drop]
        elif f"aggregate:{';'.join(map(written, dict.fromkeys(places.member_of)))}" in drop:
            places.member_of = []
        places.forbidden = {uuid for uuid in places.forbidden if f"aggregate{suffix}:!{uuid}" not in drop}
        tree = None if f"tree{suffix}:{group.in_tree}" in drop else group.in_tree
        groups[suffix] = RequestGroup(suffix, amounts, rest(group.traits, f"trait{suffix}", drop), places, tree)
    if not any(group.resources for group in groups.values()):
        return None
    return CandidateRequest(
        groups,
        None,
        "none" if "group_policy:isolate" in drop else request.group_policy,
        rest(request.root_required, "root", drop),
        [each & groups.keys() for each in subtrees if each & groups.keys()],
    )


def rest(asked: TraitConditions, kind: str, drop: set[str]) -> TraitConditions:
    return TraitConditions(
        [wanted for wanted in asked.required if f"{kind}:{written(wanted)}" not in drop],
        {name for name in asked.forbidden if f"{kind}:!{name}" not in drop},
    )


def number_of_machines(session: Session, request: CandidateRequest) -> int:
    """The trees in which something is given; what several trees share is one machine more, if it is given alone."""
    found = set()
    for candidate in search.find(session.connection(), request, VERSION):
        anchor = candidate.anchor
        own = set() if anchor is None else {provider.id for provider in anchor.local if not provider.shares}
        found.add(min(candidate.roots) if anchor is None or own.isdisjoint(candidate.allocations) else anchor.root_id)
    return len(found)


wanted_numbers = st.sampled_from([1, 1, 1, 3])


@settings(PROPERTY, max_examples=examples(25))
@given(specs=some_worlds(), request=some_requests(), wanted=wanted_numbers)
def test_candidates_in_trees(database: Database, specs: list[Spec], request: CandidateRequest, wanted: int) -> None:
    compare(database, specs, request, wanted)


@settings(PROPERTY, max_examples=examples(15))
@given(specs=some_worlds(fewest=9, most=30), request=some_requests(), wanted=wanted_numbers)
def test_candidates_among_many(database: Database, specs: list[Spec], request: CandidateRequest, wanted: int) -> None:
    compare(database, specs, request, wanted)


def compare(database: Database, specs: list[Spec], request: CandidateRequest, wanted: int) -> None:
    """Compare what an explanation says with the enumeration, in the world of these providers."""

    def check(session: Session) -> None:
        found = explain_request(MachineContext(session, SETTINGS, needed=wanted), by_query(request))
        if not found.parts:
            assert found.fitting == len(list(search.find(session.connection(), request, VERSION)))
            return
        assert found.fitting == min(number_of_machines(session, request), MOST_COUNTED)
        trees = Trees(specs, request)
        assert found.scan.nodes == len(trees.roots)
        assert_parts(found, trees)
        assert_relaxations(session, found, trees)
        assert_closest(found, trees)

    in_a_world(database, specs, check)


def assert_parts(found: Explanation, trees: Trees) -> None:
    assert found.parts.keys() == trees.parts.keys()
    for parameter, group in trees.parts.items():
        part = found.parts[parameter]
        machines = []
        for name, one in trees.by_name.items():
            anchors = [root for root in trees.roots if name in trees.reach(root)]
            ways = [trees.failed(group, anchor, name) for anchor in anchors]
            if SHARES not in one.traits:
                assert len(ways) == 1
            machines.append(min(ways, key=lambda failed: sum(failed.values())))
        assert part.scan.nodes == len(machines)
        if not any(SHARES in one.traits for one in trees.by_name.values()):
            assert {each.condition.id: (each.fails, each.only_this) for each in part.analysis.shares} == {
                name: (
                    sum(failed[name] for failed in machines),
                    sum(failed[name] and sum(failed.values()) == 1 for failed in machines),
                )
                for name in machines[0]
            }
        assert part.fitting == sum(not any(failed.values()) for failed in machines)
        for share in found.analysis.shares:
            if share.condition.id == parameter:
                lacking = [
                    all(any(not n.startswith("availability") for n in trees.fails(group, root, name))
                        for name in trees.reach(root))
                    for root in trees.roots
                ]  # fmt: skip
                assert share.fails == sum(lacking)


def assert_relaxations(session: Session, found: Explanation, trees: Trees) -> None:
    proposed = {frozenset(each.drop) for each in found.analysis.relaxations}
    assert found.analysis.exact or not proposed
    assert max(map(len, proposed), default=0) <= _TRIED
    assert not any(one < other for one, other in combinations(proposed, 2))
    for relaxation in found.analysis.relaxations:
        without = changed(trees.request, set(relaxation.drop))
        assert without is not None
        would_fit = number_of_machines(session, without)
        assert min(would_fit, MOST_COUNTED) == relaxation.would_fit > found.fitting
    if not found.fitting:
        minimal = set(smallest(session, trees))
        assert proposed == minimal


def smallest(session: Session, trees: Trees) -> Iterator[frozenset[str]]:
    """The sets of few conditions without which there is a candidate, and none is with fewer: by trying them all."""
    found: list[frozenset[str]] = []
    for size in range(1, _TRIED + 1):
        for drop in map(frozenset, combinations(trees.units(), size)):
            without = changed(trees.request, set(drop))
            if without is None or any(each < drop for each in found):
                continue
            if next(iter(search.find(session.connection(), without, VERSION)), None) is not None:
                found.append(drop)
                yield drop


def assert_closest(found: Explanation, trees: Trees) -> None:
    if found.fitting:
        assert found.closest is None
        return
    closest = found.closest
    assert closest is not None
    best = min(map(trees.rank, trees.roots))
    root = next(name for name in trees.roots if uuid_of(name) == closest.root)
    assert trees.rank(root) == best
    for part in closest.parts:
        group: Any = trees.parts[part.parameter]
        nearest = next(name for name in trees.reach(root) if uuid_of(name) == part.provider)
        assert {each.id for each in part.failing} == trees.fails(group, root, nearest)
        assert len(part.failing) == len(trees.nearest(group, root))
    if best != (0, 0):
        assert not closest.constraints
        assert root == min((name for name in trees.roots if trees.rank(name) == best), key=uuid_of)
        return
    # Each part is served: something between them is in the way, and nothing smaller.
    dropped = {each.id for each in closest.constraints}
    assert dropped
    if not dropped & {"room", "required"}:
        without = changed(trees.request, dropped)
        assert without is not None
        assert trees.candidates(without, VERSION)
