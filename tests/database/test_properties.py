"""Random fleets, random questions: the SQL against the brute force."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.nodes.node_filters import FILTERS
from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.baremetal.conductors.ownership import Membership, live_members
from baremetal_sched.baremetal.holds import holds
from baremetal_sched.baremetal.nodes import nodes, traits
from baremetal_sched.baremetal.nodes.node_list import NodeFilters, select_nodes
from baremetal_sched.db.models import Node, ResourceProvider
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.db.transaction import Database
from baremetal_sched.drivers.enabled import EnabledDrivers, served_types
from baremetal_sched.placement import allocations
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.names import ensure_class, ensure_traits, resource_class_of
from baremetal_sched.placement.query_values import TraitConditions
from baremetal_sched.settings import load
from tests.examples import examples

TRAITS = [f"CUSTOM_{letter}" for letter in "ABCD"]
CLASSES = ["gold", "silver"]
MEMBERS = Membership({("", "fake-hardware"): frozenset({"c1"})}, 5)
SETTINGS = load()
SERVED = served_types(EnabledDrivers.of(SETTINGS))

some_traits = st.frozensets(st.sampled_from(TRAITS))
few_traits = st.lists(st.sampled_from(TRAITS), max_size=2, unique=True)


@dataclass(frozen=True)
class Machine:
    resource_class: str | None
    traits: frozenset[str]
    power_state: str | None
    state: str
    maintenance: bool
    taken: bool

    @property
    def offered(self) -> bool:
        usable = self.state == "available" and self.power_state not in (None, "error") and not self.maintenance
        return usable and not self.taken


machines = st.builds(
    Machine,
    st.sampled_from([*CLASSES, None]),
    some_traits,
    st.sampled_from(["power on", "power on", "power off", None, "error"]),
    st.sampled_from(["available", "available", "active", "enroll"]),
    st.sampled_from([False, False, True]),
    st.booleans(),
)
fleets = st.lists(machines, max_size=8)


class RolledBack(Exception):
    """Ends the transaction of an example."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(load(overrides={"database": {"connection": database_url}}))
    yield opened
    opened.dispose()


def in_a_world(database: Database, fleet: list[Machine], check: Callable[[Session, dict[str, Machine]], None]) -> None:
    """Build the fleet, run ``check``, and undo everything."""

    def work(session: Session) -> None:
        conductors.register(session, "c1", "", SERVED)
        ensure_traits(session, TRAITS)
        for resource_class in CLASSES:
            ensure_class(session, resource_class_of(resource_class))
        check(session, {build(session, machine): machine for machine in fleet})
        raise RolledBack

    with pytest.raises(RolledBack):
        database.write(work)


def build(session: Session, machine: Machine) -> str:
    body: dict[str, Any] = {"driver": "fake-hardware", "resource_class": machine.resource_class}
    node = nodes.create(session, body, initial_state="available", membership=MEMBERS, settings=SETTINGS)
    node.power_state = "power on"
    traits.replace_traits(session, node, machine.traits)
    session.flush()  # which brings it to its provider, that it can be claimed
    if machine.taken and machine.resource_class:
        claim = {node.uuid: {resource_class_of(machine.resource_class): 1}}
        allocations.write(session, [ConsumerWrite(node.uuid, claim, "p", "u")], "")
    node.power_state, node.provision_state = machine.power_state, machine.state
    if machine.maintenance:
        holds.set_legacy(session, node, reason=None)
    session.flush()
    return node.uuid


PROPERTY = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def condition_of(name: str, value: Any) -> ColumnElement[bool]:
    condition = FILTERS[name].condition
    assert condition is not None
    return condition(value)


@PROPERTY
@given(
    fleet=fleets, has=few_traits, lacks=few_traits, some=few_traits, none=few_traits,
    maintenance=st.none() | st.booleans(), limit=st.integers(1, 9), descending=st.booleans(),
)  # fmt: skip
def test_node_lists_by_traits(
    database: Database, fleet: list[Machine], has: list[str], lacks: list[str], some: list[str], none: list[str],
    maintenance: bool | None, limit: int, descending: bool,
) -> None:  # fmt: skip
    def fits(machine: Machine) -> bool:
        return (
            set(has) <= machine.traits
            and not (lacks and set(lacks) <= machine.traits)
            and not (some and not machine.traits & set(some))
            and not machine.traits & set(none)
            and maintenance in (None, machine.maintenance)
        )

    def check(session: Session, world: dict[str, Machine]) -> None:
        given = {"traits": has, "not-traits": lacks, "traits-any": some, "not-traits-any": none}
        conditions = [condition_of(name, values) for name, values in given.items() if values]
        if maintenance is not None:
            conditions.append(condition_of("maintenance", maintenance))
        filters = NodeFilters(conditions)
        page = Page(limit, sort=[SortKey("id", descending)])
        found = [row[0] for row in select_nodes(session, filters, page, select(Node.uuid), MEMBERS)]
        expected = [uuid for uuid, machine in world.items() if fits(machine)]
        assert found == (expected[::-1] if descending else expected)[:limit]

    in_a_world(database, fleet, check)


@PROPERTY
@given(
    fleet=fleets,
    resources=st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 2), min_size=1),
    required=st.lists(st.frozensets(st.sampled_from(TRAITS), min_size=1, max_size=3), max_size=2),
    forbidden=st.sets(st.sampled_from(TRAITS), max_size=2),
    limit=st.none() | st.integers(1, 9),
)
def test_allocation_candidates(
    database: Database, fleet: list[Machine], resources: dict[str, int], required: list[frozenset[str]],
    forbidden: set[str], limit: int | None,
) -> None:  # fmt: skip
    def fits(machine: Machine) -> bool:
        return (
            machine.offered
            and resources == {machine.resource_class: 1}
            and all(wanted & machine.traits for wanted in required)
            and not machine.traits & forbidden
        )

    def check(session: Session, world: dict[str, Machine]) -> None:
        amounts = {resource_class_of(name): amount for name, amount in resources.items()}
        group = RequestGroup("", amounts, TraitConditions(required, forbidden))
        found = list(search.find(session.connection(), CandidateRequest({"": group}, limit), 39))
        uuids = {row.id: row.uuid for row in session.query(ResourceProvider)}
        offered = [uuids[row_id] for candidate in found for row_id in candidate.allocations]
        fitting = {uuid for uuid, machine in world.items() if fits(machine)}
        assert len(offered) == len(set(offered)) == min(len(fitting), limit or len(fitting))
        assert set(offered) <= fitting

    in_a_world(database, fleet, check)


HOSTS = ["c1", "C2", 'quo"ted', "back\\slash", "com,ma", "{0}", "%s", "ümläut", "['x']"]


@PROPERTY
@given(groups=st.dictionaries(st.sampled_from(HOSTS), st.sampled_from(["", "gold", "silver_2"])))
def test_live_conductors_by_group(database: Database, groups: dict[str, str]) -> None:
    def check(session: Session, world: dict[str, Machine]) -> None:
        for host, group in groups.items():
            conductors.register(session, host, group, SERVED)
        expected = {"c1": "", **groups}
        membership = live_members(session, SETTINGS)
        for group in ("", "gold", "silver_2"):
            assert membership.serving(group, "fake-hardware") == {h for h, other in expected.items() if other == group}

    in_a_world(database, [], check)
