"""Random fleets and requests: explanations against a look at each machine, and against what a changed request finds."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.explanation import Explanation
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION as VERSION
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.baremetal.nodes import traits
from baremetal_sched.baremetal.schemas.allocations import TraitEntry
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors.baremetal import SuitableNodesLocked
from baremetal_sched.explain.explanations import explain_request
from baremetal_sched.placement.candidates import search
from baremetal_sched.placement.candidates.request.query import CandidateRequest, RequestGroup
from baremetal_sched.placement.names import ensure_class, ensure_traits
from baremetal_sched.placement.query_values import TraitConditions
from baremetal_sched.settings import load
from tests.database.test_candidate_properties import (
    PROPERTY,
    RolledBack,
    aggregate_conditions,
    amounts,
    database,
    in_a_world,
    some_worlds,
    trait_conditions,
)
from tests.examples import examples
from tests.worlds import Spec

__all__ = ["database"]

TRAITS = ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]


def by_query(request: CandidateRequest) -> TreeRequest:
    """Return the request for a machine that is this query."""
    return TreeRequest("", served=False, version=VERSION, changed=request)


SETTINGS = load(overrides={"database": {"connection": "sqlite:///unused"}, "scheduling": {"explain_time_limit": 0}})


@dataclass(frozen=True)
class Machine:
    """A node, as far as it matters here."""

    resource_class: str
    traits: frozenset[str]
    provision_state: str
    maintenance: bool
    power_state: str | None
    reservation: str | None
    closes_at: float | None

    @property
    def is_available(self) -> bool:
        return self.provision_state == "available" and not self.maintenance and self.power_state is not None

    @property
    def is_offered(self) -> bool:
        return self.is_available and self.closes_at != 0.0


machines = st.builds(
    Machine,
    resource_class=st.sampled_from(["gold", "gold", "silver"]),
    traits=st.frozensets(st.sampled_from(TRAITS)),
    provision_state=st.sampled_from(["available", "available", "available", "clean wait", "manageable"]),
    maintenance=st.sampled_from([False, False, False, True]),
    power_state=st.sampled_from(["power on", "power off", "power on", None]),
    reservation=st.sampled_from([None, None, None, "c1"]),
    closes_at=st.sampled_from([None, None, None, 0.0, 1e12]),
)
fleets = st.lists(machines, max_size=30)
entries = st.lists(
    st.sampled_from(["CUSTOM_A", "!CUSTOM_A", "CUSTOM_B", "!CUSTOM_B", "in:CUSTOM_B,CUSTOM_C", "CUSTOM_UNHEARD_OF"]),
    unique=True,
    max_size=4,
).filter(lambda some: not any(f"!{entry}" in some for entry in some))


def meets(machine: Machine, entry: str) -> bool:
    return TraitEntry(entry).fits(sorted(machine.traits))


def build(session: Session, fleet: list[Machine]) -> None:
    ensure_traits(session, TRAITS)
    for name in ("CUSTOM_GOLD", "CUSTOM_SILVER"):
        ensure_class(session, name)
    for number, machine in enumerate(fleet):
        node = Node(
            uuid=f"00000000-0000-4000-8000-{number:012}",
            created_at=utcnow(),
            driver="fake-hardware",
            conductor_group="",
            resource_class=machine.resource_class,
            provision_state=machine.provision_state,
            maintenance=machine.maintenance,
            power_state=machine.power_state,
            reservation=machine.reservation,
            closes_at=machine.closes_at,
        )
        session.add(node)
        session.flush()
        traits.replace_traits(session, node, sorted(machine.traits))
    session.flush()


def in_a_fleet(database: Database, fleet: list[Machine], check: Any) -> None:
    """Build the fleet, run ``check``, and undo everything."""

    def work(session: Session) -> None:
        build(session, fleet)
        check(session)
        raise RolledBack

    with pytest.raises(RolledBack):
        database.write(work)


def assert_counts(found: Explanation, fleet: list[Machine], failed: dict[str, Any]) -> None:
    """``failed``: by the id of each condition that counts, whether a machine fails it."""
    shares = {share.condition.id: share for share in found.analysis.shares if share.condition.counts}
    left = fleet
    assert found.scan.nodes == len(fleet)
    for share in shares.values():
        fails = failed[share.condition.id]
        others = [fail for name, fail in failed.items() if name != share.condition.id and name in shares]
        assert share.fails == sum(map(fails, fleet)), share
        assert share.only_this == sum(fails(one) and not any(fail(one) for fail in others) for one in fleet), share
        before, left = left, [one for one in left if not fails(one)]
        assert (share.eliminated, share.left) == (len(before) - len(left), len(left))
    assert found.fitting == len(left)


def request_of(entries: list[str]) -> CandidateRequest:
    asked = TraitConditions()
    for entry in map(TraitEntry, entries):
        if entry.forbidden:
            asked.forbidden.update(entry.names)
        else:
            asked.required.append(frozenset(entry.names))
    return CandidateRequest({"": RequestGroup("", {"CUSTOM_GOLD": 1}, asked)})


@settings(PROPERTY, max_examples=examples(25))
@given(fleet=fleets, asked=entries, wanted=st.sampled_from([1, 1, 2, 5]))
def test_candidates_of_a_fleet(database: Database, fleet: list[Machine], asked: list[str], wanted: int) -> None:
    def check(session: Session) -> None:
        context = MachineContext(session, SETTINGS, needed=wanted)
        found = explain_request(context, by_query(request_of(asked)))
        failed: dict[str, Any] = {
            "class:CUSTOM_GOLD": lambda one: one.resource_class != "gold",
            "availability:CUSTOM_GOLD": lambda one: one.resource_class != "gold" or not one.is_offered,
        }
        for entry in asked:
            failed[f"trait:{entry}"] = lambda one, entry=entry: not meets(one, entry)
        assert_counts(found, fleet, failed)
        named = [entry for entry in asked if "UNHEARD_OF" in entry]
        assert [each.name for each in found.unknown] == named
        assert found.analysis.exact
        for relaxation in found.analysis.relaxations:
            rest = [entry for entry in asked if f"trait:{entry}" not in relaxation.drop]
            candidates = list(search.find(session.connection(), request_of(rest), VERSION))
            assert len(candidates) == relaxation.would_fit > found.fitting
        busy = {one for one in fleet if one.resource_class == "gold" and all(meets(one, entry) for entry in asked)}
        assert bool(found.scan.busy) == any(not one.is_offered or one.reservation for one in busy)

    in_a_fleet(database, fleet, check)


@settings(PROPERTY, max_examples=examples(25))
@given(fleet=fleets, asked=entries)
def test_allocations_of_a_fleet(database: Database, fleet: list[Machine], asked: list[str]) -> None:
    def check(session: Session) -> None:
        wanted = NodeRequest("gold", [TraitEntry(entry) for entry in asked])
        found = explain_request(MachineContext(session, SETTINGS), wanted)
        failed: dict[str, Any] = {
            "class:gold": lambda one: one.resource_class != "gold",
            "availability:parent node": lambda one: False,
            "availability:provision state": lambda one: one.provision_state != "available",
            "availability:maintenance": lambda one: one.maintenance,
            "availability:instance": lambda one: False,
            "availability:power state": lambda one: one.power_state is None,
            "availability:planned hold": lambda one: one.closes_at == 0.0,
            "availability:booked": lambda one: False,
            "availability:allocation in placement": lambda one: False,
            "availability:lock": lambda one: one.reservation is not None,
        }
        for entry in asked:
            failed[f"trait:{entry}"] = lambda one, entry=entry: not meets(one, entry)
        assert_counts(found, fleet, failed)

        def is_found(wanted: NodeRequest) -> bool:
            try:
                return wanted.choose_unlocked(MachineContext(session, SETTINGS)) is not None
            except SuitableNodesLocked:
                return False

        assert is_found(wanted) == bool(found.fitting)
        for relaxation in found.analysis.relaxations:
            rest = [entry for entry in wanted.traits if f"trait:{entry.text}" not in relaxation.drop]
            assert is_found(replace(wanted, traits=rest))

    in_a_fleet(database, fleet, check)


@settings(PROPERTY, max_examples=examples(80))
@given(
    specs=some_worlds(flat_only=True),
    resources=amounts,
    asked=trait_conditions,
    places=aggregate_conditions,
    root=trait_conditions,
    suffix=st.sampled_from(["", "1"]),
    wanted=st.integers(1, 3),
)
def test_candidates_of_any_providers(
    database: Database,
    specs: list[Spec],
    resources: dict[str, int],
    asked: TraitConditions,
    places: Any,
    root: TraitConditions,
    suffix: str,
    wanted: int,
) -> None:
    """Stocks of which a part is used or reserved, several classes, aggregates; each relaxation is tried."""
    group = RequestGroup(suffix, resources, asked, places)
    request = CandidateRequest({suffix: group}, root_required=root)

    def check(session: Session) -> None:
        found = explain_request(MachineContext(session, SETTINGS, needed=wanted), by_query(request))
        count = len(list(search.find(session.connection(), request, VERSION)))
        assert found.fitting == count
        assert found.scan.nodes == len(specs)
        for relaxation in found.analysis.relaxations:
            changed = without(request, set(relaxation.drop))
            assert len(list(search.find(session.connection(), changed, VERSION))) == relaxation.would_fit > count

    in_a_world(database, specs, check)


def without(request: CandidateRequest, drop: set[str]) -> CandidateRequest:
    """The request without the conditions that have these ids."""
    ((suffix, group),) = request.groups.items()
    resources = {name: amount for name, amount in group.resources.items() if f"class:{name}" not in drop}
    places = replace(group.aggregates)
    if suffix:
        places.member_of = [wanted for wanted in places.member_of if f"aggregate:{written(wanted)}" not in drop]
    elif f"aggregate:{';'.join(map(written, dict.fromkeys(places.member_of)))}" in drop:
        places.member_of = []
    places.forbidden = {uuid for uuid in places.forbidden if f"aggregate:!{uuid}" not in drop}
    changed = RequestGroup(suffix, resources, rest(group.traits, "trait", drop), places, group.in_tree)
    return CandidateRequest({suffix: changed}, root_required=rest(request.root_required, "root", drop))


def rest(asked: TraitConditions, kind: str, drop: set[str]) -> TraitConditions:
    return TraitConditions(
        [wanted for wanted in asked.required if f"{kind}:{written(wanted)}" not in drop],
        {name for name in asked.forbidden if f"{kind}:!{name}" not in drop},
    )


def written(names: frozenset[str]) -> str:
    return next(iter(names)) if len(names) == 1 else f"in:{','.join(sorted(names))}"
