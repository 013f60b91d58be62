"""Random stories of servers of server groups, against brute force: whether all get machines, and in which racks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.compute import server_groups
from baremetal_sched.compute.server_groups import AFFINITY, ANTI_AFFINITY, SOFT_AFFINITY, SOFT_ANTI_AFFINITY
from baremetal_sched.compute.servers import servers
from baremetal_sched.compute.servers.servers import NewServers
from baremetal_sched.db.models import Domain, DomainMember, Node, table_of
from tests.examples import examples
from tests.functional.compute.world import REQUESTER, flavor, image, within
from tests.functional.scheduling.test_domains import make
from tests.restored import restored
from tests.service import Service

MACHINES, RACKS = 8, ("r1", "r2", "r3")
#: The groups: a policy, and the most servers in a rack that it allows.
GROUPS = ((AFFINITY, 1), (ANTI_AFFINITY, 1), (ANTI_AFFINITY, 2), (SOFT_AFFINITY, 1), (SOFT_ANTI_AFFINITY, 1))
#: The names of racks; None: in none.
Rack = str | None


@dataclass
class World:
    """The service; ``nodes`` and ``racks`` are ids, ``groups`` UUIDs. The model: where each machine is, and which ones
    the members of each group have."""

    service: Service
    nodes: dict[str, int]
    racks: dict[str, int]
    groups: list[str]
    places: dict[str, Rack] = field(default_factory=dict)
    members: dict[int, list[str]] = field(default_factory=dict)

    def place(self, number: int, rack: Rack) -> None:
        """A machine goes to a rack, or out of all."""
        node = list(self.nodes)[number]
        self.places[node] = rack
        row = {"node_id": self.nodes[node], "level": "rack", "set_by": "person"}

        def work(session: Session) -> None:
            session.execute(delete(DomainMember).where(DomainMember.node_id == row["node_id"]))
            if rack is not None:
                session.execute(insert(table_of(DomainMember)), [{**row, "domain_id": self.racks[rack]}])

        self.service.database.write(work)

    def boot(self, number: int, count: int) -> None:
        """Boot servers of a group together."""
        possible = self.can_be_had(number, count)

        def create(context: MachineContext) -> list[str]:
            group = server_groups.lock(context.session, self.groups[number])
            new = NewServers("s", flavor(), image(), "secret-1", count=count, group=group)
            return [server.uuid for server in servers.create(context, new, REQUESTER)]

        booted = within(self.service, create)
        query = select(Node.instance_uuid, Node.uuid).where(Node.instance_uuid.in_(booted))
        on = dict(map(tuple, self.service.database.read(lambda session: session.execute(query).all())))
        assert len(on) == (count if possible else 0), (GROUPS[number], count, self)
        for server in booted if possible else ():
            # In the order in which they were placed: each of them where the policy wants it beside those before.
            if count == 1 or number != GROUPS.index((SOFT_AFFINITY, 1)):
                assert on[server] in self.preferred(number, count), (GROUPS[number], on[server], self)
            self.members.setdefault(number, []).append(on[server])

    # -- brute force --

    def free(self) -> list[str]:
        taken = {node for members in self.members.values() for node in members}
        return [node for node in self.nodes if node not in taken]

    def of_group(self, number: int) -> Counter[Rack]:
        return Counter(self.places[node] for node in self.members.get(number, ()))

    def preferred(self, number: int, count: int) -> Sequence[str]:
        """The free machines of which one is the next member's: the best ones."""
        policy, most = GROUPS[number]
        members, free = self.of_group(number), self.free()
        inside = [node for node in free if self.places[node] is not None]
        numbers = {node: members[self.places[node]] for node in inside}
        if policy == ANTI_AFFINITY:
            return [node for node in inside if numbers[node] < most]
        if policy == AFFINITY:
            together = Counter(self.places[node] for node in inside)
            room = [node for node in inside if together[self.places[node]] >= count]
            return [node for node in inside if numbers[node]] if members else room
        best = max(numbers.values(), default=0) if policy == SOFT_AFFINITY else min(numbers.values(), default=0)
        return [node for node in inside if numbers[node] == best] or free

    def can_be_had(self, number: int, count: int) -> bool:
        policy, most = GROUPS[number]
        members = self.of_group(number)
        free = Counter(self.places[node] for node in self.free())
        racks = {rack: size for rack, size in free.items() if rack is not None}
        if policy == ANTI_AFFINITY:
            return sum(min(size, max(0, most - members[rack])) for rack, size in racks.items()) >= count
        if policy == AFFINITY and members:
            return sum(size for rack, size in racks.items() if members[rack]) >= count
        if policy == AFFINITY:
            return max(racks.values(), default=0) >= count
        return free.total() >= count


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with Service(database_url, compute={"server_group_level": "rack"}) as service:
        service.add_conductor("c1")
        nodes = [service.add_node(f"n{number}") for number in range(MACHINES)]
        for rack in RACKS:
            make(service, rack)

        def prepare(session: Session) -> tuple[dict[str, int], dict[str, int], list[str]]:
            ids = dict(map(tuple, session.execute(select(Node.uuid, Node.id)).all()))
            racks = dict(map(tuple, session.execute(select(Domain.name, Domain.id)).all()))
            owner = {"project_id": REQUESTER.project_id, "user_id": REQUESTER.user_id}
            groups = [
                server_groups.create(
                    session, "g", policy, max_server_per_host=most if policy == ANTI_AFFINITY else None, **owner
                ).uuid
                for policy, most in GROUPS
            ]
            return {uuid: ids[uuid] for uuid in nodes}, racks, groups

        yield World(service, *service.database.write(prepare))


places = st.sampled_from([*RACKS, None])
moves = st.tuples(st.just("place"), st.integers(0, MACHINES - 1), places)


@st.composite
def stories(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Some servers of a group are booted while that is easy; then all machines are moved, and what follows is most
    often about that group."""
    number, members = draw(st.integers(0, len(GROUPS) - 1)), draw(st.integers(0, 4))
    policy, most = GROUPS[number]
    easy = RACKS if policy == ANTI_AFFINITY else RACKS[:1]
    begin = [("place", each, easy[each % len(easy)]) for each in range(MACHINES)]
    begin += [("boot", number, 1)] * (min(members, most * len(RACKS)) if policy == ANTI_AFFINITY else members)
    begin += [("place", each, draw(places)) for each in range(MACHINES)]
    boots = st.tuples(st.just("boot"), st.just(number), st.integers(1, 3))
    others = st.tuples(st.just("boot"), st.integers(0, len(GROUPS) - 1), st.just(1))
    return begin + draw(st.lists(st.one_of(boots, boots, moves, others), min_size=1, max_size=5))


def test_server_groups(world: World) -> None:
    @settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow], deadline=None)
    @given(stories())
    def story(todo: list[tuple[Any, ...]]) -> None:
        with restored(world.service):
            world.members.clear()
            for name, *arguments in todo:
                getattr(world, name)(*arguments)
            assert [line for line in world.service.database.snapshot(audit) if "aggregate" not in line] == []

    story()
