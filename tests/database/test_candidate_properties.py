# tier: first
"""Random worlds, random requests: the search against a plain enumeration of everything."""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from baremetal_sched.db.models import ResourceProvider
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.candidates import answer, search
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.candidates.request.resolve import TREES_SINCE, resolve
from baremetal_sched.placement.candidates.search import Options
from baremetal_sched.placement.candidates.sql import single_provider
from baremetal_sched.placement.candidates.trees import enumeration
from baremetal_sched.placement.candidates.trees.candidate import Found, TimeLimit, TookTooLong
from baremetal_sched.placement.names import ensure_class, ensure_traits
from baremetal_sched.placement.query_values import AggregateConditions, TraitConditions
from baremetal_sched.placement.schemas.allocations import MAPPINGS_SINCE
from baremetal_sched.settings import load
from tests import worlds
from tests.examples import examples
from tests.worlds import SHARES, Spec, Stock, uuid_of

CLASSES = ["CUSTOM_X", "CUSTOM_Y", "CUSTOM_Z"]
TRAITS = ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]
AGGREGATES = ["agg1", "agg2", "agg3"]

#: A candidate as what can be compared: amounts by provider and class, and providers by suffix.
Comparable = tuple[frozenset[tuple[str, str, int]], frozenset[tuple[str, frozenset[str]]]]


# -- the enumeration, from the contract's words ------------------------------------------------------------------------


class Plain:
    """A world, and everything that can be had from it: all products, then all rules."""

    def __init__(self, specs: list[Spec]) -> None:
        self.by_name = {one.name: one for one in specs}

    def line(self, name: str) -> list[str]:
        """The provider and its ancestors."""
        parent = self.by_name[name].parent
        return [name] + (self.line(parent) if parent else [])

    def root(self, name: str) -> str:
        return self.line(name)[-1]

    def reach(self, anchor: str) -> list[str]:
        """Everybody who may be used for a candidate of the anchor."""
        tree = [name for name in self.by_name if self.root(name) == anchor]
        near = {aggregate for name in tree for aggregate in self.by_name[name].aggregates}
        guests = [
            name
            for name, one in self.by_name.items()
            if name not in tree and SHARES in one.traits and one.aggregates & near
        ]
        return tree + guests

    def fits(self, name: str, resource_class: str, amount: int) -> bool:
        stock = self.by_name[name].has.get(resource_class)
        return (
            stock is not None
            and stock.used + amount <= (stock.total - stock.reserved) * stock.ratio
            and stock.min_unit <= amount <= stock.max_unit
            and amount % stock.step_size == 0
        )

    def member(self, name: str, conditions: AggregateConditions) -> bool:
        own = {uuid_of(aggregate) for aggregate in self.by_name[name].aggregates}
        return all(wanted & own for wanted in conditions.member_of)

    def outside(self, name: str, conditions: AggregateConditions) -> bool:
        return not {uuid_of(aggregate) for aggregate in self.by_name[name].aggregates} & conditions.forbidden

    def in_tree(self, name: str, uuid: str | None) -> bool:
        return uuid is None or any(
            uuid_of(other) == uuid and self.root(other) == self.root(name) for other in self.by_name
        )

    def unsuffixed(self, group: RequestGroup, anchor: str) -> Iterator[dict[tuple[str, str], int]]:
        items = list(group.resources.items())
        for names in product(self.reach(anchor), repeat=len(items)):
            together = {trait for name in names for trait in self.by_name[name].traits}
            if (
                all(self.fits(name, *item) for name, item in zip(names, items, strict=True))
                and all(wanted & together for wanted in group.traits.required)
                and not together & group.traits.forbidden
                and all(self.allowed(name, group, anchor) for name in names)
            ):
                yield {(name, item[0]): item[1] for name, item in zip(names, items, strict=True)}

    def allowed(self, name: str, group: RequestGroup, anchor: str) -> bool:
        local = self.root(name) == anchor
        conditions = group.aggregates
        if group.in_tree is not None and not (local and self.in_tree(name, group.in_tree)):
            return False
        if not (self.member(name, conditions) or (local and self.member(anchor, conditions))):
            return False
        return self.outside(name, conditions) and self.outside(anchor, conditions)

    def suffixed(self, group: RequestGroup, anchor: str) -> Iterator[str]:
        for name in self.reach(anchor):
            traits = self.by_name[name].traits
            if (
                all(self.fits(name, *item) for item in group.resources.items())
                and all(wanted & traits for wanted in group.traits.required)
                and not traits & group.traits.forbidden
                and self.member(name, group.aggregates)
                and self.outside(name, group.aggregates)
                and self.in_tree(name, group.in_tree)
            ):
                yield name

    def candidates(self, request: CandidateRequest, version: int) -> set[Comparable]:
        found: set[Comparable] = set()
        for anchor, one in self.by_name.items():
            root = request.root_required
            if one.parent or one.traits & root.forbidden or not all(w & one.traits for w in root.required):
                continue
            parts = [
                [(suffix, {(name, c): n for c, n in group.resources.items()}, {name}) for name in options]
                for suffix, group in request.groups.items()
                if suffix
                for options in [list(self.suffixed(group, anchor))]
            ]
            if "" in request.groups:
                parts.append(
                    [("", given, {name for name, _ in given}) for given in self.unsuffixed(request.groups[""], anchor)]
                )
            found.update(filter(None, (self.merged(request, version, choice) for choice in product(*parts))))
        return found

    def merged(self, request: CandidateRequest, version: int, choice: tuple[Any, ...]) -> Comparable | None:
        used_by = {suffix: frozenset(names) for suffix, _, names in choice}
        alone = [next(iter(names)) for suffix, names in used_by.items() if suffix]
        if request.group_policy == "isolate" and len(set(alone)) < len(alone):
            return None
        for suffixes in request.same_subtrees:
            names = set().union(*(used_by[suffix] for suffix in suffixes))
            if not any(all(name in self.line(other) for other in names) for name in names):
                return None
        amounts: dict[tuple[str, str], int] = {}
        for _, part, _ in choice:
            for key, amount in part.items():
                amounts[key] = amounts.get(key, 0) + amount
        for (name, resource_class), amount in amounts.items():
            stock = self.by_name[name].has[resource_class]
            if stock.used + amount > stock.capacity or amount > stock.max_unit:
                return None
        givers = {name for name, _ in amounts}
        if version < 29 and len({self.root(name) for name in givers}) < len(givers):
            return None
        return frozenset((name, c, n) for (name, c), n in amounts.items()), frozenset(used_by.items())


# -- random worlds and requests ----------------------------------------------------------------------------------------

stocks = st.builds(
    Stock,
    total=st.integers(1, 5),
    used=st.sampled_from([0, 0, 0, 1, 2]),
    reserved=st.sampled_from([0, 0, 0, 1]),
    min_unit=st.sampled_from([1, 1, 1, 1, 2]),
    max_unit=st.sampled_from([1, 2, 4, 4]),
    step_size=st.sampled_from([1, 1, 1, 1, 2]),
    ratio=st.sampled_from([1.0, 1.0, 1.5]),
)


@st.composite
def some_worlds(draw: st.DrawFn, *, flat_only: bool = False, fewest: int = 2, most: int = 8) -> list[Spec]:
    specs: list[Spec] = []
    depth: dict[str, int] = {}
    some_share = not flat_only and draw(st.booleans())
    for number in range(draw(st.integers(fewest, most))):
        name = f"p{number}"
        above = [] if flat_only else [one.name for one in specs if depth[one.name] < 2]
        parent = draw(st.sampled_from([None, *above, *above]))
        depth[name] = 0 if parent is None else depth[parent] + 1
        traits = draw(st.frozensets(st.sampled_from(TRAITS), max_size=2))
        if some_share and draw(st.integers(0, 3)) == 0:
            traits |= {SHARES}
        has = draw(st.dictionaries(st.sampled_from(CLASSES), stocks, min_size=number % 2, max_size=3))
        specs.append(Spec(name, parent, has, traits, draw(st.frozensets(st.sampled_from(AGGREGATES), max_size=2))))
    # A parent that was moved, or made last, may have a greater id than its children.
    return draw(st.sampled_from([specs, specs[::-1]]))


def rarely(strategy: st.SearchStrategy[Any], otherwise: Any) -> st.SearchStrategy[Any]:
    return st.integers(0, 7).flatmap(lambda number: strategy if number == 7 else st.just(otherwise))


trait_conditions = st.builds(
    TraitConditions,
    required=rarely(st.lists(st.frozensets(st.sampled_from(TRAITS), min_size=1, max_size=2), max_size=2), []),
    forbidden=rarely(st.sets(st.sampled_from(TRAITS), max_size=1), set()),
).filter(lambda conditions: not conditions.contradictions())
uuids = st.sampled_from([uuid_of(name) for name in AGGREGATES])
aggregate_conditions = st.builds(
    AggregateConditions,
    member_of=rarely(st.lists(st.frozensets(uuids, min_size=1, max_size=2), max_size=2), []),
    forbidden=rarely(st.sets(uuids, max_size=1), set()),
)
amounts = st.dictionaries(
    st.sampled_from([*CLASSES[:2], *CLASSES]), st.sampled_from([1, 1, 1, 2]), min_size=1, max_size=2
)


def groups(suffix: str, resources: st.SearchStrategy[dict[str, int]]) -> st.SearchStrategy[RequestGroup]:
    return st.builds(
        RequestGroup,
        suffix=st.just(suffix),
        resources=resources,
        traits=trait_conditions,
        aggregates=aggregate_conditions,
        in_tree=rarely(st.sampled_from([uuid_of(f"p{number}") for number in range(5)]), None),
    )


@st.composite
def some_requests(draw: st.DrawFn) -> CandidateRequest:
    suffixes = draw(st.sampled_from([["", "1"], ["1", "2"], [""], ["2", "", "1"], ["1", "2", "3"], ["1"]]))
    wanted = {suffix: draw(groups(suffix, amounts)) for suffix in suffixes}
    named = [suffix for suffix in suffixes if suffix]
    some = st.just(frozenset(named)) | st.frozensets(st.sampled_from(named or ["-"]), min_size=1)
    subtrees = draw(st.lists(some, min_size=1, max_size=2)) if named and draw(st.booleans()) else []
    if len(wanted) > 1 and named[-1] in frozenset().union(*subtrees) and draw(st.booleans()):
        wanted[named[-1]].resources = {}
    policy = draw(st.sampled_from(["none", "isolate"]))
    return CandidateRequest(wanted, None, policy, draw(rarely(trait_conditions, TraitConditions())), subtrees)


class RolledBack(Exception):
    """Ends the transaction of an example."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(load(overrides={"database": {"connection": database_url}}))
    yield opened
    opened.dispose()


def in_a_world(database: Database, specs: list[Spec], check: Callable[[Session], None]) -> None:
    """Build the world, run ``check``, and undo everything."""

    def work(session: Session) -> None:
        ensure_traits(session, TRAITS)
        for name in CLASSES:
            ensure_class(session, name)
        worlds.build(session, specs)
        check(session)
        raise RolledBack

    with pytest.raises(RolledBack):
        database.write(work)


def comparable(session: Session, found: Iterable[Found]) -> list[Comparable]:
    names = {row.id: row.name for row in session.query(ResourceProvider)}
    return [
        (
            frozenset((names[row], c, n) for row, resources in one.allocations.items() for c, n in resources.items()),
            frozenset((suffix, frozenset(names[row] for row in rows)) for suffix, rows in one.mappings.items()),
        )
        for one in found
    ]


PROPERTY = settings(
    max_examples=examples(250),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@PROPERTY
@given(
    specs=some_worlds(), request=some_requests(), limit=st.integers(1, 5), breadth_first=st.booleans(),
    version=st.sampled_from([39, 39, 28]), remembers=st.booleans(),
)  # fmt: skip
def test_the_search_finds_what_there_is(
    database: Database,
    specs: list[Spec],
    request: CandidateRequest,
    limit: int,
    breadth_first: bool,
    version: int,
    remembers: bool,
) -> None:
    expected = Plain(specs).candidates(request, version)

    def check(session: Session) -> None:
        if remembers:
            session.connection().execution_options(process_cache={})
        found = comparable(session, search.find(session.connection(), request, version))
        assert len(set(found)) == len(found)
        assert set(found) == expected
        request.limit = limit
        first, again = (
            list(search.find(session.connection(), request, version, Options(breadth_first=breadth_first)))
            for _ in range(2)
        )
        assert comparable(session, first) == comparable(session, again)
        some = comparable(session, first)
        assert len(some) == len(set(some)) == min(limit, len(expected))
        assert set(some) <= expected
        sample = comparable(session, search.find(session.connection(), request, version, Options(randomize=True)))
        assert len(sample) == len(set(sample)) == min(limit, len(expected))
        assert set(sample) <= expected
        for one in first:
            assert one.roots == roots_of(session, one)
        assert_told(session, first, request, version, Options(breadth_first=breadth_first))
        request.limit = None

    in_a_world(database, specs, check)


class Checks(TimeLimit):
    """The time is over after ``most`` checks."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TookTooLong


@pytest.mark.slow
@pytest.mark.parametrize("patience", [1, 50])
@settings(PROPERTY, max_examples=120)
@given(
    specs=some_worlds(), request=some_requests(), version=st.sampled_from([39, 39, 28]), limit=st.integers(1, 5),
    checks=st.sampled_from([10**9, 10**9, 5, 20, 100]),
)  # fmt: skip
def test_a_search_is_right_or_stopped(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    patience: int,
    specs: list[Spec],
    request: CandidateRequest,
    version: int,
    limit: int,
    checks: int,
) -> None:
    """However soon it begins to learn from dead ends, and however little time it has."""
    expected = Plain(specs).candidates(request, version)
    monkeypatch.setattr(enumeration, "PATIENCE", patience)

    def check(session: Session) -> None:
        wanted = resolve(session.connection(), request, version)
        if wanted is None:
            assert not expected
            return
        for most in (None, limit):
            try:
                found = list(search.general(session.connection(), wanted, most, time_limit=Checks(checks)))
            except TookTooLong:
                assert checks < 10**9
                continue
            some = comparable(session, found)
            assert len(some) == len(set(some)) == min(most or len(expected), len(expected))
            assert set(some) <= expected

    in_a_world(database, specs, check)


def assert_told(
    session: Session, found: list[Found], request: CandidateRequest, version: int, options: Options
) -> None:
    """The answer names these candidates, in this order, and tells about all whom it names."""
    connection = session.connection()
    once_more = search.find(connection, request, version, options)
    document = orjson.loads(orjson.dumps(answer.build(connection, once_more, request, version)))
    ids = {row.uuid: row.id for row in session.query(ResourceProvider)}
    requests = document["allocation_requests"]
    assert [{ids[uuid]: held["resources"] for uuid, held in one["allocations"].items()} for one in requests] == [
        one.allocations for one in found
    ]
    if version >= MAPPINGS_SINCE:
        assert [
            {suffix: [ids[uuid] for uuid in uuids] for suffix, uuids in one["mappings"].items()} for one in requests
        ] == [one.mappings for one in found]
    summaries = document["provider_summaries"]
    assert all(summaries.keys() >= one["allocations"].keys() for one in requests)
    assert all(
        one["parent_provider_uuid"] in (None, *summaries) for one in summaries.values() if version >= TREES_SINCE
    )


def roots_of(session: Session, candidate: Found) -> set[int]:
    rows = [session.get_one(ResourceProvider, row_id) for row_id in candidate.allocations]
    return {row.root_id for row in rows if row.root_id is not None}


@PROPERTY
@given(specs=some_worlds(flat_only=True), request=some_requests(), version=st.sampled_from([39, 28]))
def test_both_searches_agree_where_every_provider_stands_alone(
    database: Database, specs: list[Spec], request: CandidateRequest, version: int
) -> None:
    def check(session: Session) -> None:
        wanted = resolve(session.connection(), request, version)
        if wanted is None or not single_provider.applies(session.connection(), wanted):
            assert wanted is None or len(request.groups) > 1
            return
        one = set(comparable(session, single_provider.search(session.connection(), wanted, None)))
        other = set(comparable(session, search.general(session.connection(), wanted, None)))
        assert one == other == Plain(specs).candidates(request, version)

    in_a_world(database, specs, check)
