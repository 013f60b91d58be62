"""Random stories of claims with ends, against a model in plain Python: nothing ends early by the clock of the database,
nothing is lost, each interval before an end is told at most once, and what is late is given back in the end.

The clock of the database stands still unless the story lets time pass. Conductors die between two statements.
"""

import uuid as uuid_module
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.models import (
    Allocation,
    ClaimEnd,
    Conductor,
    Consumer,
    EventNote,
    Inventory,
    Node,
    ResourceProvider,
)
from baremetal_sched.errors.placement import CapacityExceeded
from baremetal_sched.errors.scheduling import HasEnded
from baremetal_sched.placement import allocations, ends
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import ENDING, LATE, OVER, SET, End
from tests.database_clock import SettableClock, settable
from tests.databases import make_empty
from tests.examples import examples, parts
from tests.service import Service

SWEEP = next(task for task in PERIODIC_TASKS if task.name == "ends")
DAY, HOUR = 86_400.0, 3600.0
BEGIN = 1_800_000_000.0
INTERVALS = (DAY, HOUR)
#: Seconds until an end that is late is tried again: first, and at most.
PAUSES = (5.0, 300.0)


# -- the model ---------------------------------------------------------------------------------------------------------


@dataclass
class Machine:
    """A node: its state, whose it is, and whether it is locked out."""

    uuid: str
    state: str = "available"
    holder: str | None = None
    instance: str | None = None
    locked_out: bool = False
    gone: bool = False

    @property
    def is_free(self) -> bool:
        return self.state == "available" and self.holder is None and not self.locked_out and not self.gone


@dataclass
class Moment:
    """The end of a claim: a row of ``claim_ends``."""

    at: float
    set_at: float
    state: str = SET
    told: float | None = None
    tries: int = 0
    due_at: float = 0.0
    is_late_told: bool = False


@dataclass
class Model:
    """All machines and ends by claim, and the events of ends: the type, the claim, and the interval."""

    machines: list[Machine] = field(default_factory=list)
    ends: dict[str, Moment] = field(default_factory=dict)
    told: Counter[tuple[str, str, float | None]] = field(default_factory=Counter)
    now: float = BEGIN

    def held(self, claim: str) -> list[Machine]:
        return [machine for machine in self.machines if machine.holder == claim]

    def leave(self, claim: str, *machines: Machine, is_passed: bool = False) -> None:
        """A claim has these machines no more; without any it is gone."""
        moment = self.ends.get(claim)
        for machine in machines:
            machine.holder = None
            if moment is not None and moment.state in OVER and not is_passed:
                self.told["ended", claim, None] += 1
        if not self.held(claim):
            self.ends.pop(claim, None)

    def pass_on(self, machine: Machine, taker: str) -> None:
        giver = machine.holder
        assert giver is not None
        moment = self.ends.get(giver)
        self.leave(giver, machine, is_passed=True)
        machine.holder = taker
        own = self.ends.get(taker)
        if moment is not None and (own is None or moment.at < own.at):
            self.ends[taker] = deepcopy(moment)

    def settle(self, claim: str) -> None:
        """Do what a conductor does about the end of a claim."""
        moment, machines = self.ends[claim], self.held(claim)
        if self.now < moment.at:
            begun = [each for each in INTERVALS if moment.set_at < moment.at - each <= self.now]
            if begun and (moment.told is None or min(begun) < moment.told):
                moment.told = min(begun)
                self.told["ends_soon", claim, moment.told] += 1
            return
        if (moment.state == LATE and self.now < moment.due_at) or (moment.state == ENDING and self._is_busy(machines)):
            return
        goes_on, moment.state = moment.state == ENDING, ENDING
        deployed = [machine for machine in machines if machine.state != "available"]
        if any(machine.locked_out or machine.state == "cleaning" for machine in machines) or (goes_on and deployed):
            self._put_off(claim, moment)
        elif deployed:
            for machine in deployed:
                machine.state = "deleting"
        else:
            self.leave(claim, *machines)

    @staticmethod
    def _is_busy(machines: list[Machine]) -> bool:
        return any(machine.state in ("deleting", "cleaning") for machine in machines)

    def _put_off(self, claim: str, moment: Moment) -> None:
        first, longest = PAUSES
        moment.state, moment.due_at = LATE, self.now + min(longest, first * 2**moment.tries)
        moment.tries += 1
        if not moment.is_late_told:
            self.told["late", claim, None] += 1
        moment.is_late_told = True

    def view(self) -> dict[str, Any]:
        """What ``Story.observed`` returns."""
        held: dict[str, set[str]] = {}
        for machine in self.machines:
            if machine.holder is not None:
                held.setdefault(machine.holder, set()).add(machine.uuid)
        return {
            "held": held,
            "ends": {claim: (each.at, each.state, each.told, each.tries) for claim, each in self.ends.items()},
            "states": {machine.uuid: machine.state for machine in self.machines if not machine.gone},
            "told": dict(self.told),
        }


# -- the service beside it ---------------------------------------------------------------------------------------------


class Died(BaseException):
    """The conductor is gone."""


class Story:
    """A service and its model. Each method does one thing to both; then they are compared."""

    def __init__(self, service: Service, clock: SettableClock) -> None:
        self.service, self.clock, self.model = service, clock, Model()
        self.claims: list[str] = []
        self.write: Callable[[Callable[[Session], Any]], Any] = service.database.write

    def enrol(self) -> None:
        uuid = self.service.add_node(f"n{len(self.model.machines)}")
        self.model.machines.append(Machine(uuid))

    # What users and operators do.

    def claim(self, places: list[int], seconds: float | None) -> None:
        machines = list({machine.uuid: machine for place in places for machine in self._machines(place)}.values())
        uuid = str(uuid_module.uuid4())
        end = None if seconds is None else End(seconds=seconds, told_before=INTERVALS)
        amounts = {machine.uuid: {"CUSTOM_GOLD": 1} for machine in machines}
        request = ConsumerWrite(uuid, amounts, "p", "u", None, kind="claim", end=end)
        if not machines:
            return
        if not all(machine.is_free for machine in machines):
            with pytest.raises(CapacityExceeded):
                self.write(lambda session: allocations.write(session, [request], "Unable to allocate:"))
            return
        self.write(lambda session: allocations.write(session, [request], "Unable to allocate:"))
        self.claims.append(uuid)
        for machine in machines:
            machine.holder = uuid
        if seconds is not None:
            self.model.ends[uuid] = Moment(self.model.now + seconds, self.model.now)

    def prolong(self, place: int, seconds: float | None) -> None:
        claim, model = self._claim(place), self.model
        if claim is None:
            return
        end = None if seconds is None else End(seconds=seconds, told_before=INTERVALS)
        moment = model.ends.get(claim)

        def change(session: Session) -> None:
            row = session.scalars(select(Consumer.id).where(Consumer.uuid == claim)).one()
            ends.change(session, {row: claim}, end)

        if moment is not None and (moment.state != SET or moment.at <= model.now):
            with pytest.raises(HasEnded):
                self.write(change)
            return
        self.write(change)
        model.ends.pop(claim, None)
        if seconds is not None:
            model.ends[claim] = Moment(model.now + seconds, model.now)

    def release(self, place: int) -> None:
        claim = self._claim(place)
        if claim is not None:
            self.write(lambda session: allocations.release(session, claim))
            self.model.leave(claim, *self.model.held(claim))

    def pass_on(self, place: int, to: int | None) -> None:
        """A machine on which nothing is deployed passes to another claim, or a new consumer."""
        machines = [each for each in self.model.machines if each.holder is not None and each.state == "available"]
        if not machines:
            return
        machine = machines[place % len(machines)]
        giver, taker = machine.holder, None if to is None else self._claim(to)
        assert giver is not None
        if taker == giver:
            return
        taker = taker or str(uuid_module.uuid4())
        kept = [each.uuid for each in self.model.held(giver) if each is not machine]
        given = [each.uuid for each in self.model.held(taker)] + [machine.uuid]
        requests = [
            ConsumerWrite(uuid, {each: {"CUSTOM_GOLD": 1} for each in uuids}, "p", "u")
            for uuid, uuids in ((giver, kept), (taker, given))
        ]
        self.write(lambda session: allocations.write(session, requests, "Unable to allocate:"))
        self.model.pass_on(machine, taker)
        self.claims.append(taker)

    def deploy(self, place: int) -> None:
        """A machine of a claim, the end of which has not been taken, is deployed for it."""
        machines = [each for each in self.model.machines if each.holder is not None and each.state == "available"]
        if not machines:
            return
        machine = machines[place % len(machines)]
        moment = self.model.ends.get(machine.holder or "")
        if (moment is None or moment.state == SET) and not machine.locked_out:
            is_first = all(each.instance != machine.holder for each in self.model.machines)
            machine.instance = machine.holder if is_first else None
            self._become(machine, "active", instance_uuid=machine.instance)

    def clean(self, place: int) -> None:
        """A machine of a claim is cleaned, or that is over."""
        machines = [each for each in self.model.machines if each.holder is not None and not each.locked_out]
        if not machines:
            return
        machine = machines[place % len(machines)]
        if machine.state in ("available", "cleaning"):
            self._become(machine, "available" if machine.state == "cleaning" else "cleaning")

    def _become(self, machine: Machine, state: str, **values: Any) -> None:
        self.service.set_columns(machine.uuid, provision_state=state, **values)
        machine.state = state

    def lock_out(self, place: int) -> None:
        for machine in self._resting(place):
            self._hold(machine, {"type": "lockout"})
            machine.locked_out = True

    def plan(self, place: int) -> None:
        """Holds that are planned do not stop an end."""
        for machine in self._resting(place):
            self._hold(machine, {"type": "window", "starts_at": "2100-01-01T00:00:00Z"})

    def _hold(self, machine: Machine, body: Any) -> None:
        path = f"/scheduling/v1/nodes/{machine.uuid}/holds"
        self.service.http.post_json(path, {**body, "or_existing": True})

    def free_of_holds(self, place: int) -> None:
        for machine in self._resting(place):
            self.service.http.delete(f"/scheduling/v1/nodes/{machine.uuid}/holds", status="*")
            machine.locked_out = False

    def delete(self, place: int) -> None:
        """A node in maintenance is deleted, whoever has it."""
        for machine in self._machines(place):
            if machine.state != "available" or machine.locked_out:
                return
            self.service.baremetal("PUT", f"/nodes/{machine.uuid}/maintenance", {})
            self.service.baremetal("DELETE", f"/nodes/{machine.uuid}", status=204)
            machine.gone = True
            if machine.holder is not None:
                self.model.leave(machine.holder, machine)

    # Time, and conductors.

    def let_pass(self, seconds: float) -> None:
        self.clock.step(seconds)
        self.model.now += seconds
        alive = update(Conductor).values(heartbeat_at=self.model.now)
        self.write(lambda session: session.execute(alive) and None)

    def work(self) -> None:
        self.service.work()
        for machine in self.model.machines:
            if machine.state == "deleting":
                machine.state, machine.instance = "available", None

    def sweep(self) -> None:
        self.service.conductors["c1"].run_periodic_task(SWEEP)
        for claim in [*self.model.ends]:
            self.model.settle(claim)

    def die(self, statements: int) -> None:
        """A conductor dies before a statement of its sweep: each end is as before, or as after it."""
        left = statements

        def die(*_: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Died

        engine = self.service.database.engine
        event.listen(engine, "before_cursor_execute", die)
        try:
            self.service.conductors["c1"].run_periodic_task(SWEEP)
        except Died:
            pass
        finally:
            event.remove(engine, "before_cursor_execute", die)
        observed = self.observed()
        for claim in [*self.model.ends]:
            done = deepcopy(self.model)
            done.settle(claim)
            if self._of(claim, done.view()) == self._of(claim, observed):
                self.model = done

    @staticmethod
    def _of(claim: str, view: dict[str, Any]) -> Any:
        told = {key: count for key, count in view["told"].items() if key[1] == claim}
        return view["ends"].get(claim), view["held"].get(claim), told

    # What comes of it.

    def compare(self) -> None:
        assert self.observed() == self.model.view()

    def observed(self) -> dict[str, Any]:
        return self.service.database.read(self._observed)

    @staticmethod
    def _observed(session: Session) -> dict[str, Any]:
        held: dict[str, set[str]] = {}
        have = select(Consumer.uuid, ResourceProvider.uuid).select_from(Allocation).join(Consumer)
        for consumer, machine in session.execute(have.join(ResourceProvider)):
            held.setdefault(consumer, set()).add(machine)
        rows = session.execute(select(Consumer.uuid, ClaimEnd).join(ClaimEnd, ClaimEnd.consumer_id == Consumer.id))
        told: Counter[tuple[str, str, float | None]] = Counter()
        for kind, data in session.execute(select(EventNote.type, EventNote.data)):
            name = kind.removeprefix("scheduling.claim.")
            if name in ("ends_soon", "late", "ended"):
                document = orjson.loads(data) if isinstance(data, str | bytes) else data
                told[name, document["claim"]["uuid"], document["end"]["seconds"]] += 1
        return {
            "held": held,
            "ends": {uuid: (round(row.ends_at, 2), row.state, row.told, row.tries) for uuid, row in rows},
            "states": {uuid: state for uuid, state in session.execute(select(Node.uuid, Node.provision_state))},
            "told": dict(told),
        }

    def finish(self) -> None:
        """After long enough, each claim with an end is given back, once."""
        self.work()
        for machine in self.model.machines:
            if not machine.gone and machine.locked_out:
                self.free_of_holds(self._place(machine))
            if machine.state == "cleaning":
                self._become(machine, "available")
        self.let_pass(30 * DAY)
        for _ in range(3):
            self.sweep()
            self.work()
            self.compare()
            self.let_pass(PAUSES[1])
        assert self.model.ends == {}
        counted = Counter((kind, claim) for kind, claim, _ in self.model.told.elements() if kind == "late")
        assert not counted or max(counted.values()) == 1
        assert self.service.database.snapshot(audit) == []

    def _place(self, machine: Machine) -> int:
        return [each.uuid for each in self.model.machines if not each.gone].index(machine.uuid)

    def _machines(self, place: int) -> Iterator[Machine]:
        there = [machine for machine in self.model.machines if not machine.gone]
        yield from there[place % len(there) :][:1] if there else ()

    def _resting(self, place: int) -> Iterator[Machine]:
        """Yield the machine unless a conductor has it."""
        yield from (machine for machine in self._machines(place) if machine.state != "deleting")

    def _claim(self, place: int) -> str | None:
        there = [claim for claim in dict.fromkeys(self.claims) if self.model.held(claim)]
        return there[place % len(there)] if there else None


# -- stories -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A method of a story, and its arguments."""

    name: str
    given: Mapping[str, Any]

    def __call__(self, story: Story) -> None:
        getattr(story, self.name)(**self.given)


places = st.integers(0, 3)
spans = st.sampled_from([None, 600.0, HOUR, 2 * HOUR, DAY, 2 * DAY])


def _step(name: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.builds(Step, st.just(name), st.fixed_dictionaries(arguments))


claims = _step("claim", places=st.lists(places, min_size=1, max_size=2), seconds=spans)
passing = _step("let_pass", seconds=st.sampled_from([5.0, 300.0, HOUR, 3 * HOUR, DAY]))
steps = st.one_of(
    claims,
    claims,
    _step("prolong", place=places, seconds=spans),
    _step("release", place=places),
    _step("pass_on", place=places, to=st.none() | places),
    _step("pass_on", place=places, to=st.none() | places),
    _step("deploy", place=places),
    _step("clean", place=places),
    _step("lock_out", place=places),
    _step("plan", place=places),
    _step("free_of_holds", place=places),
    _step("delete", place=places),
    passing,
    passing,
    passing,
    _step("work"),
    _step("sweep"),
    _step("sweep"),
    _step("die", statements=st.integers(0, 40)),
)


@pytest.mark.parametrize("part", parts(3))
@settings(
    max_examples=examples(50),
    phases=[Phase.generate],  # stories are short as they are, and making one shorter takes minutes
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(begin=st.lists(claims, min_size=1, max_size=3), then=st.lists(steps, min_size=8, max_size=25))
def test_each_end_comes_once_and_not_early(service: Service, part: int, begin: list[Step], then: list[Step]) -> None:
    make_empty(service.database_url)
    service.database._memory.clear()
    with settable(service.database) as clock:
        clock.stopped_at = BEGIN
        service.add_conductor("c1")
        story = Story(service, clock)
        for _ in range(3):
            story.enrol()
        for step in (*begin, *then):
            step(story)
            story.compare()
        story.finish()
        calendars = service.database.read(lambda session: session.scalars(select(Inventory.calendar)).all())
        assert all(each >= 0 for each in calendars)
