"""Random stories of claims and machines: who is handed what, in which order, against a model in plain Python."""

import uuid as uuid_module
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineContext
from baremetal_sched.baremetal.matching.tree_request import TreeRequest
from baremetal_sched.baremetal.nodes import nodes, traits
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.baremetal.schemas.allocations import TraitEntry
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.placement import names, waiting_requests
from baremetal_sched.scheduling import audit as claims_audit
from baremetal_sched.scheduling import claims, handover
from baremetal_sched.scheduling.claims import NewClaim
from tests.databases import make_empty
from tests.examples import examples
from tests.reservations import free_uuid
from tests.service import Service

SWEEP = next(task for task in PERIODIC_TASKS if task.name == "claims")
CLASSES = ("gold", "silver")
TRAITS = ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
PROJECTS = ("blue", "green")
#: Seconds: how long claims wait, and how much time passes at once. An example takes less than the difference.
PATIENCE, PASSES = (1_500, 3_500), 1_000
#: How many entries of the queue are looked at: more than there ever are.
MANY = 50


# -- the model ---------------------------------------------------------------------------------------------------------


@dataclass
class Machine:
    """A node: its columns and traits, and the claim or other consumer that has it."""

    uuid: str
    columns: dict[str, Any]
    traits: frozenset[str]
    holder: str | None = None
    deleted: bool = False

    @property
    def free(self) -> bool:
        usable = {"maintenance": False, "provision_state": "available", "power_state": "power on", "reservation": None}
        given_out = self.holder is not None or self.deleted
        return not given_out and all(self.columns[name] == value for name, value in usable.items())


@dataclass(frozen=True)
class Asked:
    """The request of a claim: like a query of placement, or like an allocation (``owner``, ``candidates``)."""

    resource_class: str
    required: frozenset[str] = frozenset()
    some: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    project: str | None = None
    is_query: bool = True
    owner: str | None = None
    candidates: tuple[str, ...] = ()

    def request(self) -> TreeRequest | NodeRequest:
        """The same for the service."""
        some = [f"in:{','.join(sorted(self.some))}"] if self.some else []
        conditions = [*sorted(self.required), *some, *(f"!{name}" for name in sorted(self.forbidden))]
        if self.is_query:
            query = "&".join(
                [f"resources=CUSTOM_{self.resource_class.upper()}:1", *(f"required={one}" for one in conditions)]
            )
            return TreeRequest(query, served=False, version=39, project=self.project)
        eligible = EVERYTHING if self.project is None else Visibility(self.project)
        entries = [TraitEntry(one) for one in conditions]
        return NodeRequest(self.resource_class, entries, self.candidates, self.owner, eligible=eligible)

    def fits(self, machine: Machine) -> bool:
        """Whether the machine is free, and what is asked for."""
        owner, lessee = machine.columns["owner"], machine.columns["lessee"]
        if self.is_query:
            is_theirs = self.project is None or (lessee or owner) in (None, self.project)
        else:
            is_theirs = self.project in (None, owner, lessee) and self.owner in (None, owner, lessee)
            is_theirs = is_theirs and (not self.candidates or machine.uuid in self.candidates)
        return (
            machine.free
            and is_theirs
            and machine.columns["resource_class"] == self.resource_class
            and self.required <= machine.traits
            and not (self.some and not self.some & machine.traits)
            and not self.forbidden & machine.traits
        )


@dataclass
class Waiter:
    """A claim. ``busy``: its consumer has something else already, so that it cannot be served."""

    uuid: str
    asked: Asked
    number: int
    deadline: int
    state: str = "waiting"
    priority: int = 0
    busy: bool = False


@dataclass
class Model:
    """All machines and claims. When a machine becomes free, only the first ``most`` different requests of its class
    are looked at."""

    most: int
    machines: list[Machine] = field(default_factory=list)
    waiters: list[Waiter] = field(default_factory=list)
    now: int = 0
    asked: int = 0

    def add(self, uuid: str, asked: Asked, deadline: int, state: str = "waiting") -> Waiter:
        """Add a claim, after all others."""
        self.asked += 1
        self.waiters.append(Waiter(uuid, asked, self.asked, deadline, state))
        return self.waiters[-1]

    def queue(self, resource_class: str) -> list[Waiter]:
        """Return who waits for machines of the class, the first one first."""
        waiting = [
            one
            for one in self.waiters
            if one.state == "waiting" and one.deadline > self.now and one.asked.resource_class == resource_class
        ]
        return sorted(waiting, key=lambda one: (-one.priority, one.number))

    def looked_at(self, resource_class: str, most: int) -> list[Waiter]:
        """Return those of the queue who are among the first ``most`` entries: equal requests are one."""
        queue = self.queue(resource_class)
        seen = list(dict.fromkeys((one.priority, one.asked) for one in queue))[:most]
        return [one for one in queue if (one.priority, one.asked) in seen]

    def served(self, machine: Machine, most: int) -> Waiter | None:
        """Return whose turn it is if this machine is given away."""
        looked_at = self.looked_at(machine.columns["resource_class"], most)
        return next((one for one in looked_at if one.asked.fits(machine)), None)

    def may_get(self, waiter: Waiter, machine: Machine, most: int) -> bool:
        """Return whether the machine may be given to this claim: none ahead of it fits. If there may be more entries
        than are looked at, each project has a turn, so that the second of a project may be passed over."""
        queue = self.queue(waiter.asked.resource_class)
        ahead = queue[: queue.index(waiter)]
        turns = [(one.priority, one.asked.project) for one in ahead]
        had_turn = [most < MANY and turn in turns[:place] for place, turn in enumerate(turns)]
        passed_over = [one for one, had in zip(ahead, had_turn, strict=True) if not had and one.asked.fits(machine)]
        return waiter.asked.fits(machine) and not passed_over


# -- the service beside it ---------------------------------------------------------------------------------------------


class Door:
    """Serves claims as the service does, and notes who was given what and who failed, in order."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    def give(self, context: MachineContext, claim: WaitingRequest, node: Node) -> bool:
        given = claims.give(context, claim, node)
        if given:
            self.noted.append((claim.uuid, node.uuid))
        return given

    def end(self, context: MachineContext, claim: WaitingRequest, state: str, reason: str) -> None:
        self.noted.append((claim.uuid, state))
        claims.end(context, claim, state, reason)


class Story:
    """A service and its model. Each method does one thing to both, and compares them."""

    def __init__(self, service: Service, door: Door, most: int) -> None:
        self.service, self.door, self.model = service, door, Model(most)
        self.settings = service.app.settings
        self.write: Callable[[Callable[[Session], Any]], Any] = service.database.write
        self.write(lambda session: names.ensure_traits(session, TRAITS) and None)
        self.elsewhere = service.placement("POST", "/resource_providers", {"name": "elsewhere"}).json["uuid"]
        stock = {"resource_class": "VCPU", "total": 1000}
        service.placement("POST", f"/resource_providers/{self.elsewhere}/inventories", stock)

    # What is done with machines.

    def enrol(self, resource_class: str, owner: str | None, lessee: str | None, own: frozenset[str]) -> None:
        values = {"resource_class": resource_class, "owner": owner, "lessee": lessee}
        uuid = self.service.add_node(f"n{len(self.model.machines)}", traits=tuple(sorted(own)), **values)
        usable = {"maintenance": False, "provision_state": "available", "power_state": "power on", "reservation": None}
        machine = Machine(uuid, {**values, **usable}, own)
        self.model.machines.append(machine)
        self._freed(machine)

    def change(self, place: int, name: str, value: Any) -> None:
        machine = self._machine(place)
        if machine is None or (name == "resource_class" and machine.holder is not None):
            return
        machine.columns[name] = value
        self.service.set_columns(machine.uuid, **{name: value})
        self._freed(machine)

    def set_traits(self, place: int, own: frozenset[str]) -> None:
        machine = self._machine(place)
        if machine is None:
            return
        machine.traits = own
        uuid = machine.uuid
        self.write(lambda session: traits.replace_traits(session, nodes.find_for_change(session, uuid), sorted(own)))
        self._freed(machine)

    def delete(self, place: int) -> None:
        machine = self._machine(place)
        if machine is None:
            return
        may_go = machine.holder is None and machine.columns["provision_state"] == "available"
        may_go = may_go and machine.columns["reservation"] is None
        answer = self.service.baremetal("DELETE", f"/nodes/{machine.uuid}", status="*")
        if may_go:
            assert answer.status_int == 204, answer.text
        machine.deleted = answer.status_int == 204
        if machine.deleted and machine.holder is not None:
            assert machine.columns["maintenance"], "only then a machine that is claimed can be deleted"
            self._released(machine.holder)
        self._freed(machine)

    # What is done with claims.

    def take(self, place: int) -> None:
        """A client of placement claims a machine that it is offered."""
        machine = self._machine(place)
        if machine is None or not machine.free:
            return
        consumer = str(uuid_module.uuid4())
        self.service.claim(consumer, machine.uuid, f"CUSTOM_{machine.columns['resource_class'].upper()}")
        machine.holder = consumer
        self._freed()

    def claim_now(self, asked: Asked) -> None:
        new = self._new(asked)
        fitting = [machine for machine in self.model.machines if asked.fits(machine)]
        got = self.write(lambda session: claims.claim_now(session, new, self.settings) is not None)
        assert got == bool(fitting)
        if got:
            waiter = self.model.add(new.uuid, asked, self.model.now, "claimed")
            (held,) = self._held(waiter)
            next(machine for machine in fitting if machine.uuid == held).holder = waiter.uuid
        self._freed()

    def wait(self, asked: Asked, seconds: int) -> None:
        new = self._new(asked)
        waiter = self.model.add(new.uuid, asked, self.model.now + seconds)
        self.write(lambda session: claims.wait(session, new, seconds, "None is free.", self.settings) is None)
        self._follow(MANY)
        assert waiter.state != "waiting" or not any(map(asked.fits, self.model.machines)), "it waits beside a machine"
        self._compare()

    def withdraw(self, place: int) -> None:
        """The claim is cancelled, or all that it has is given back."""
        waiter = self._waiter(place, "waiting", "claimed", "released", "failed", "timed_out")
        if waiter is None:
            return

        def work(session: Session) -> None:
            found = waiting_requests.find(session, waiter.uuid)
            assert found is not None
            claims.withdraw(session, found)

        self.write(work)
        self.model.waiters.remove(waiter)
        self._freed(*self._give_back(waiter.uuid))

    def release(self, places: frozenset[int], way: str) -> None:
        """Some give back through placement what they have, in one request if it is a POST."""
        found = [self._waiter(place, "claimed") for place in sorted(places)]
        consumers = list(dict.fromkeys(one.uuid for one in found if one is not None))
        if way == "DELETE" or not consumers:
            for consumer in consumers[:1]:
                self.service.placement("DELETE", f"/allocations/{consumer}")
                self._released(consumer)
            return
        nothing = {"allocations": {}, "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
        bodies = {
            consumer: {
                **nothing,
                "consumer_generation": self.service.placement("GET", f"/allocations/{consumer}").json.get(
                    "consumer_generation"
                ),
            }
            for consumer in consumers
        }
        if way == "PUT":
            self.service.placement("PUT", f"/allocations/{consumers[0]}", bodies[consumers[0]])
            self._released(consumers[0])
            return
        self.service.placement("POST", "/allocations", bodies)
        self._released(*consumers)

    def release_other(self, place: int) -> None:
        """A client of placement gives back a machine that it claimed there."""
        known = {waiter.uuid for waiter in self.model.waiters}
        machine = self._machine(place)
        if machine is None or machine.holder is None or machine.holder in known:
            return
        self.service.placement("DELETE", f"/allocations/{machine.holder}")
        self._freed(*self._give_back(machine.holder))

    def get_elsewhere(self, place: int) -> None:
        """The consumer of a claim that waits gets something else, as it could where UUIDs were not reserved."""
        waiter = self._waiter(place, "waiting")
        if waiter is None or waiter.busy:
            return
        waiter.busy = True
        free_uuid(self.service, waiter.uuid)
        self.service.claim(waiter.uuid, self.elsewhere, "VCPU")
        self._freed()

    def prefer(self, place: int, priority: int) -> None:
        waiter = self._waiter(place, "waiting")
        if waiter is None:
            return
        waiter.priority = priority
        change = update(WaitingRequest).where(WaitingRequest.uuid == waiter.uuid).values(priority=priority)
        self.write(lambda session: session.execute(change) is None)
        self._freed()

    # Time.

    def let_time_pass(self) -> None:
        """The clock goes on: as seen from it, all that was noted is longer ago."""
        self.model.now += PASSES
        earlier = {name: getattr(WaitingRequest, name) - PASSES for name in ("asked_at", "deadline")}
        self.write(lambda session: session.execute(update(WaitingRequest).values(earlier)) is None)
        self._freed()

    def sweep(self) -> None:
        self.service.conductors["r1"].run_periodic_task(SWEEP)
        self._follow(MANY)
        for waiter in self.model.waiters:
            assert waiter.state != "waiting" or waiter.deadline > self.model.now
            fitting = [machine for machine in self.model.machines if waiter.asked.fits(machine)]
            assert waiter.state != "waiting" or not fitting, "the sweep left it beside a machine"
        self._compare()

    # What comes of it.

    def _released(self, *consumers: str) -> None:
        for waiter in self.model.waiters:
            if waiter.uuid in consumers:
                waiter.state = "released"
        self._freed(*(machine for consumer in consumers for machine in self._give_back(consumer)))

    def _give_back(self, consumer: str) -> list[Machine]:
        given_back = [machine for machine in self.model.machines if machine.holder == consumer]
        for machine in given_back:
            machine.holder = None
        return given_back

    def _freed(self, *machines: Machine) -> None:
        """Compare the hand-overs after something was done that may have freed these machines."""
        failed = any(what == waiting_requests.FAILED for _, what in self.door.noted)
        self._follow(self.model.most)
        if not failed or self.model.most == MANY:  # with a failure the first entries are others than those looked at
            for machine in machines:
                assert self.model.served(machine, self.model.most) is None, "it was not handed over"
        self._compare()

    def _follow(self, most: int) -> None:
        """Do in the model what the service has done, if it was somebody's turn."""
        for uuid, what in self.door.noted:
            waiter = next(one for one in self.model.waiters if one.uuid == uuid)
            if what == waiting_requests.TIMED_OUT:
                assert waiter.deadline <= self.model.now
                waiter.state = what
            elif what == waiting_requests.FAILED:
                assert waiter.busy
                assert any(self.model.may_get(waiter, machine, most) for machine in self.model.machines)
                waiter.state = what
            else:
                machine = next(one for one in self.model.machines if one.uuid == what)
                assert not waiter.busy
                assert self.model.may_get(waiter, machine, most)
                waiter.state, machine.holder = "claimed", uuid
        self.door.noted.clear()

    def _compare(self) -> None:
        shown = self.service.database.read(
            lambda session: {waiter.uuid: claims.show(session, waiter.uuid) for waiter in self.model.waiters}
        )
        for waiter in self.model.waiters:
            found, queue = shown[waiter.uuid], self.model.queue(waiter.asked.resource_class)
            waits = waiter in queue
            state = "timed_out" if waiter.state == "waiting" and not waits else waiter.state
            assert (found.state, found.position) == (state, queue.index(waiter) + 1 if waits else None)
            held = [machine.uuid for machine in self.model.machines if machine.holder == waiter.uuid]
            assert list(found.allocations) == held

    def _held(self, waiter: Waiter) -> list[str]:
        return list(self.service.database.read(lambda session: claims.show(session, waiter.uuid).allocations))

    @staticmethod
    def _new(asked: Asked) -> NewClaim:
        return NewClaim(str(uuid_module.uuid4()), asked.request(), "p", "u", None, None, "digest")

    def _machine(self, place: int) -> Machine | None:
        there = [machine for machine in self.model.machines if not machine.deleted]
        return there[place % len(there)] if there else None

    def _waiter(self, place: int, *states: str) -> Waiter | None:
        found = [waiter for waiter in self.model.waiters if waiter.state in states]
        return found[place % len(found)] if found else None


# -- stories -----------------------------------------------------------------------------------------------------------

Step = Callable[[Story], None]

places = st.integers(0, 7)
classes = st.sampled_from([*CLASSES, CLASSES[0], CLASSES[0]])
projects = st.sampled_from([None, None, *PROJECTS])
own_traits = st.frozensets(st.sampled_from(TRAITS), max_size=3)
nothing: frozenset[str] = frozenset()
few_traits = st.sampled_from([nothing, nothing, nothing, *(frozenset({name}) for name in TRAITS)])
requests = st.builds(
    Asked, classes, few_traits, st.sampled_from([nothing, nothing, frozenset(TRAITS[:2])]), few_traits,
    projects, st.booleans(),
).filter(lambda asked: not asked.required & asked.forbidden)  # fmt: skip


def _step(name: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    def bound(values: Mapping[str, Any]) -> Step:
        return lambda story: getattr(story, name)(**values)

    return st.fixed_dictionaries(arguments).map(bound)


@st.composite
def _asking(draw: st.DrawFn, name: str, **arguments: st.SearchStrategy[Any]) -> Step:
    """A claim that may want one of two machines, or those of an owner, as allocations can."""
    asked = draw(requests)
    wants = draw(st.none() | st.none() | st.frozensets(places, min_size=1, max_size=2))
    owner = draw(projects)
    rest = {key: draw(strategy) for key, strategy in arguments.items()}

    def step(story: Story) -> None:
        wanted = asked
        if not asked.is_query:
            there = [story._machine(place) for place in sorted(wants or ())]
            uuids = sorted({machine.uuid for machine in there if machine is not None})
            wanted = replace(asked, owner=owner, candidates=tuple(uuids))
        getattr(story, name)(wanted, **rest)

    return step


ways = st.sampled_from(["DELETE", "PUT", "POST", "POST"])
changes = st.sampled_from(
    [
        *(("maintenance", value) for value in (True, False, False)),
        *(("provision_state", value) for value in ("cleaning", "available", "available")),
        *(("power_state", value) for value in (None, "power on", "power on")),
        *(("reservation", value) for value in ("r1", None, None)),
        *(("resource_class", value) for value in CLASSES),
        *((name, value) for name in ("owner", "lessee") for value in (None, *PROJECTS)),
    ]
)
enrolments = _step("enrol", resource_class=classes, owner=projects, lessee=projects, own=own_traits)
waits = _asking("wait", seconds=st.sampled_from(PATIENCE))
steps = st.one_of(
    enrolments,
    waits,
    waits,
    st.builds(lambda place, change: lambda story: story.change(place, *change), places, changes),
    st.builds(lambda place, change: lambda story: story.change(place, *change), places, changes),
    _step("set_traits", place=places, own=own_traits),
    _step("delete", place=places),
    _step("take", place=places),
    _asking("claim_now"),
    _step("withdraw", place=places),
    _step("release", places=st.frozensets(places, min_size=1, max_size=3), way=ways),
    _step("release_other", place=places),
    _step("get_elsewhere", place=places),
    _step("prefer", place=places, priority=st.integers(-1, 2)),
    _step("let_time_pass"),
    _step("sweep"),
)


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    found = Door()
    monkeypatch.setitem(handover.DOORS, waiting_requests.CLAIM, found)
    return found


@pytest.mark.ci
@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    begin=st.lists(st.one_of(enrolments, enrolments, waits), min_size=4, max_size=8),
    then=st.lists(steps, min_size=12, max_size=30),
    most=st.sampled_from([1, 2, MANY, MANY]),
)
def test_who_is_handed_what(
    service: Service, door: Door, monkeypatch: pytest.MonkeyPatch, begin: list[Step], then: list[Step], most: int
) -> None:
    make_empty(service.database_url)
    service.database._memory.clear()
    door.noted.clear()
    service.add_conductor("r1")
    monkeypatch.setattr(service.database.handover, "_most", most)
    story = Story(service, door, most)
    for step in (*begin, *then):
        step(story)
    assert service.database.snapshot(audit) == []
    assert service.database.snapshot(lambda session: claims_audit.audit(session, story.settings)) == []
