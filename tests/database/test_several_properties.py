"""Random stories of claims of several machines, against brute force: exact, with and without waiting and growing."""

import uuid as uuid_module
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching import several
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineRequest
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.baremetal.schemas.allocations import TraitEntry
from baremetal_sched.db.models import Consumer, Domain, DomainMember, MachineGroup, Node, WaitingRequest, table_of
from baremetal_sched.errors.scheduling import GroupDiffers
from baremetal_sched.placement import waiting_requests
from baremetal_sched.scheduling import claims, gathering
from baremetal_sched.scheduling.claims import ClaimStatus, NewClaim
from baremetal_sched.settings import load
from tests.examples import examples
from tests.functional.scheduling.test_domains import make
from tests.service import Service

MACHINES = 12
#: The first machines have the trait.
WITH_TRAIT = 8


@dataclass(frozen=True)
class Asked:
    """A claim of several: its machines need the trait or not."""

    several: Several
    trait: bool
    is_query: bool
    waits: bool

    def request(self) -> MachineRequest:
        if self.is_query:
            needs = "&required=CUSTOM_A" if self.trait else ""
            return TreeRequest(f"resources=CUSTOM_GOLD:1{needs}", served=False, version=39, several=self.several)
        return NodeRequest("gold", [TraitEntry("CUSTOM_A")] if self.trait else [], several=self.several)


@dataclass
class World:
    """The service, and the domains (ids) of each machine by level, as the model has them."""

    service: Service
    nodes: list[tuple[int, str]]
    domains: dict[str, int]
    places: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    groups: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def write(self, work: Any) -> Any:
        return self.service.database.write(work)

    def statuses(self) -> dict[str, ClaimStatus]:
        return self.service.database.read(
            lambda session: {uuid: claims.show(session, uuid) for uuid in self.asked}  # the order of the requests
        )

    def held(self, statuses: dict[str, ClaimStatus], group: str | None = None) -> list[str]:
        """The machines of all claims, or of those of a group."""
        return [
            node
            for uuid, status in statuses.items()
            for node in status.allocations
            if group is None or self.asked[uuid].several.group == group
        ]

    def free(self, asked: Asked, statuses: dict[str, ClaimStatus]) -> list[str]:
        fitting = self.nodes[:WITH_TRAIT] if asked.trait else self.nodes
        taken = set(self.held(statuses))
        return [uuid for _, uuid in fitting if uuid not in taken]

    def rules(self, asked: Asked, statuses: dict[str, ClaimStatus]) -> tuple[Any, ...]:
        """How the claim is spread: as its group is, if there is such a group."""
        group = asked.several.group
        return self.groups[group] if group is not None and self.lives(group, statuses) else asked.several.rules

    def lives(self, group: str, statuses: dict[str, ClaimStatus]) -> bool:
        waits = any(
            status.state == "waiting" and self.asked[uuid].several.group == group for uuid, status in statuses.items()
        )
        return group in self.groups and (waits or bool(self.held(statuses, group)))

    def satisfies(self, chosen: Sequence[str], members: Sequence[str], rules: tuple[Any, ...]) -> bool:
        spread_by, at_most, pack_by = rules
        if spread_by is not None:
            domains = [self.places[node].get(spread_by) for node in chosen]
            together = Counter([*domains, *(self.places[node].get(spread_by) for node in members)])
            if None in domains or any(together[domain] > at_most for domain in domains):
                return False
        if pack_by is not None:
            packs = {self.places[node].get(pack_by) for node in chosen}
            homes = {self.places[node].get(pack_by) for node in members} - {None}
            return len(packs) == 1 and None not in packs and (not homes or packs <= homes)
        return True

    def can_be_had(self, asked: Asked, statuses: dict[str, ClaimStatus]) -> bool:
        """By trying each choice."""
        group, rules = asked.several.group, self.rules(asked, statuses)
        members = [] if group is None else self.held(statuses, group)
        choices = combinations(self.free(asked, statuses), asked.several.count)
        return any(self.satisfies(choice, members, rules) for choice in choices)

    # -- steps --

    def claim(self, asked: Asked) -> None:
        before, uuid, group = self.statuses(), str(uuid_module.uuid4()), asked.several.group
        rules, asks = self.rules(asked, before), asked.several.spread_by or asked.several.pack_by
        new = NewClaim(uuid, asked.request(), "p", "u", None, None, "digest")
        if group is not None and asks and rules != asked.several.rules:
            with pytest.raises(GroupDiffers):
                self.write(lambda session: claims.claim_now(session, new, load({})))
            return
        possible = self.can_be_had(asked, before)
        members = [] if group is None else self.held(before, group)
        got = self.write(lambda session: claims.claim_now(session, new, load({})) is not None)
        assert got == possible, (asked, before)
        if not got and not asked.waits:
            return
        if not got:
            self.write(lambda session: claims.wait(session, new, 3600, "None is free.", load({})) is None)
        self.asked[uuid] = asked
        if group is not None:
            self.groups[group] = rules
        if got:
            machines = list(self.statuses()[uuid].allocations)
            assert len(machines) == asked.several.count
            assert set(machines) <= set(self.free(asked, before))
            assert self.satisfies(machines, members, rules)

    def release(self, place: int) -> None:
        """One machine of a claim is given back."""
        statuses = self.statuses()
        consumers = [each.consumer for status in statuses.values() for each in status.machines]
        if consumers:
            self.service.placement("DELETE", f"/allocations/{consumers[place % len(consumers)]}")
            self.served(statuses)

    def withdraw(self, place: int) -> None:
        statuses = self.statuses()
        if not statuses:
            return
        uuid = list(statuses)[place % len(statuses)]

        def work(session: Session) -> None:
            found = waiting_requests.find(session, uuid, lock=True)
            assert found is not None
            claims.withdraw(session, found)

        self.write(work)
        del self.asked[uuid], statuses[uuid]
        self.served(statuses)

    def move(self, place: int, levels: dict[str, str]) -> None:
        """A machine goes to other domains, claimed or not."""
        node_id, uuid = self.nodes[place % MACHINES]
        self.place(node_id, uuid, levels)

    def place(self, node_id: int, uuid: str, levels: dict[str, str]) -> None:
        self.places[uuid] = levels
        rows = [
            {"node_id": node_id, "level": level, "domain_id": self.domains[name], "set_by": "person"}
            for level, name in levels.items()
        ]

        def work(session: Session) -> None:
            session.execute(delete(DomainMember).where(DomainMember.node_id == node_id))
            if rows:
                session.execute(insert(table_of(DomainMember)), rows)
            projection.project_domains(session, [node_id])

        self.write(work)

    def served(self, before: dict[str, ClaimStatus]) -> None:
        """Claims that were served meanwhile, one after the other, have what they asked for."""
        after = self.statuses()
        for uuid, status in after.items():
            if status.state == "claimed" and uuid in before and before[uuid].state == "waiting":
                asked, machines = self.asked[uuid], list(status.allocations)
                group = asked.several.group
                members = [] if group is None else [each for each in self.held(after, group) if each not in machines]
                assert len(machines) == asked.several.count
                assert self.satisfies(machines, members, self.rules(asked, after))

    def sweep(self) -> None:
        before = self.statuses()
        gathering.sweep(self.service.database, load({}))
        self.served(before)
        after = self.statuses()
        for uuid, status in after.items():
            if status.state == "waiting":
                assert not self.can_be_had(self.asked[uuid], after), "it waits, though it could be served"
        machines = self.held(after)
        assert len(machines) == len(set(machines))


levels = st.sampled_from([None, "rack", "row"])
numbers = st.integers(1, 4)


@st.composite
def rules(draw: st.DrawFn) -> Several:
    count, spread, pack = draw(st.integers(1, 5)), draw(levels), draw(levels)
    group = draw(st.sampled_from([None, None, "one", "two"]))
    return Several(count, spread, None if spread is None else draw(numbers), pack, group)


asking = st.builds(Asked, rules(), st.booleans(), st.booleans(), st.booleans())
homes = st.fixed_dictionaries(
    {}, optional={"rack": st.sampled_from(["r1", "r2"]), "row": st.sampled_from(["w1", "w2"])}
)
steps = st.one_of(
    st.tuples(st.just("claim"), asking),
    st.tuples(st.just("claim"), asking),
    st.tuples(st.just("release"), st.integers(0, 20)),
    st.tuples(st.just("withdraw"), st.integers(0, 20)),
    st.tuples(st.just("move"), st.integers(0, 20), homes),
    st.tuples(st.just("sweep")),
)


@pytest.fixture
def world(service: Service) -> World:
    nodes = [
        service.add_node(f"n{number}", traits=("CUSTOM_A",) if number < WITH_TRAIT else ())
        for number in range(MACHINES)
    ]
    for name, level in (("r1", "rack"), ("r2", "rack"), ("w1", "row"), ("w2", "row")):
        make(service, name, level)

    def ids(session: Session) -> tuple[dict[str, int], dict[str, int]]:
        found = session.execute(select(Node.uuid, Node.id)), session.execute(select(Domain.name, Domain.id))
        rows, domains = ({key: row_id for key, row_id in each} for each in found)
        return rows, domains

    rows, domains = service.database.read(ids)
    return World(service, [(rows[uuid], uuid) for uuid in nodes], domains)


@pytest.mark.parametrize("looked_at", [2, 512])
def test_several_machines(world: World, monkeypatch: pytest.MonkeyPatch, looked_at: int) -> None:
    """Whether the first few free machines are enough, or all are counted."""
    monkeypatch.setattr(several, "SOME", looked_at)

    @settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(st.lists(homes, min_size=MACHINES, max_size=MACHINES), st.lists(steps, min_size=1, max_size=8))
    def story(where: list[dict[str, str]], todo: list[tuple[Any, ...]]) -> None:
        for (node_id, uuid), home in zip(world.nodes, where, strict=True):
            world.place(node_id, uuid, home)
        try:
            for name, *arguments in todo:
                getattr(world, name)(*arguments)
            world.sweep()
            assert [line for line in world.service.database.snapshot(audit) if "aggregate" not in line] == []
        finally:
            for uuid in list(world.asked):
                world.withdraw(list(world.asked).index(uuid))
            world.groups.clear()
            world.write(machines_are_free)

    story()


def machines_are_free(session: Session) -> None:
    session.execute(delete(MachineGroup))
    assert session.scalars(select(Consumer.id)).all() == []
    assert session.scalars(select(WaitingRequest.id)).all() == []
