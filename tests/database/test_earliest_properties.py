"""Random fleets and requests: the first moment at which a request could be had, and how many machines are free at each,
against a look at each machine at each moment."""

import math
import uuid
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching import earliest
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import (
    BookedMachine,
    Booking,
    ClaimEnd,
    Consumer,
    Domain,
    DomainMember,
    Hold,
    Node,
    table_of,
)
from baremetal_sched.db.transaction import Database
from baremetal_sched.explain.explanations import earliest_of, explain_request
from baremetal_sched.placement import allocations
from baremetal_sched.placement.consumers import ConsumerWrite
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.names import ensure_class
from baremetal_sched.scheduling import capacity
from baremetal_sched.settings import load
from tests.database.test_candidate_properties import PROPERTY, RolledBack, database
from tests.examples import examples

__all__ = ["database"]

#: Seconds between two moments, by their numbers; 0 is now.
STEP = 10_000
MOMENTS = 12
#: Later than all that is known.
LAST = 2 * MOMENTS
#: The id of the booking of a request.
BOOKING = 1
#: In steps.
TURNAROUND = {"gold": 2, "silver": 1}
AHEAD = 1
RACKS = {"a": 1, "b": 2}
#: Seconds that may go by while the database is asked.
A_WHILE = STEP / 2

SETTINGS = load(
    overrides={
        "database": {"connection": "sqlite:///unused"},
        "scheduling": {
            "explain_time_limit": 0,
            "turnaround": TURNAROUND["silver"] * STEP,
            "turnaround_of": {"gold": TURNAROUND["gold"] * STEP},
            "withhold_before_windows": AHEAD * STEP,
            "shortest_claim": 0,
        },
    }
)


@dataclass(frozen=True)
class Machine:
    """A node, as far as it matters here. Moments are numbers. ``end``: of its consumer; None: it has no consumer;
    infinite: without end. ``holds``: from, until, and whether it drains. ``booked``: from and until, for others;
    ``is_own``: it is a machine of the booking of the request, if that names one."""

    resource_class: str
    state: str
    end: float | None
    is_late: bool
    is_retired: bool
    holds: list[tuple[int, float, bool]]
    rack: str | None
    booked: list[tuple[int, float]] = field(default_factory=list)
    is_own: bool = False

    def blocked(self) -> list[tuple[float, float]]:
        """The rule, in plain words."""
        turnaround = TURNAROUND[self.resource_class]
        found: list[tuple[float, float]] = [
            (start - (0 if drains else AHEAD), until) for start, until, drains in self.holds
        ]
        if self.end is not None or self.state == "active":
            known = self.end is not None and not self.is_late
            until = self.end + turnaround if known and self.end is not None else math.inf
            found.append((0, until if until > 0 else turnaround))
        if self.state in ("cleaning", "deleting"):
            found.append((0, turnaround))
        if self.state in ("clean failed", "manageable", "enroll") or (self.is_retired and self.state != "available"):
            found.append((0, math.inf))
        return found

    def is_free(self, start: int, until: float) -> bool:
        """Whether it can be had at a moment, and stays free until another."""
        return all(until <= begins or end <= start for begins, end in self.blocked())

    def is_to_be_had(self, moment: int) -> bool:
        """Whether it is free at a moment, and nobody has booked it for then, or has had it a turnaround before."""
        kept = any(start <= moment < until + TURNAROUND[self.resource_class] for start, until in self.booked)
        return self.is_free(moment, moment + 0.5) and not kept

    def is_unbooked(self, start: int, until: float | None) -> bool:
        """Whether bookings of others leave it from a moment until another; None: for ever."""
        turnaround = TURNAROUND[self.resource_class]
        end = math.inf if until is None else until + turnaround
        return all(end <= begins or ends + turnaround <= start for begins, ends in self.booked)


moments = st.integers(1, MOMENTS - 1)
holds = st.builds(
    lambda start, lasts, drains: (start, start + lasts, drains),
    st.integers(-2, MOMENTS - 2),
    st.sampled_from([1, 2, 3, 5, math.inf]),
    st.sampled_from([False, False, True]),
).filter(lambda hold: hold[1] > 0)
bookings = st.builds(
    lambda start, lasts: (start, start + lasts), st.integers(-2, MOMENTS), st.sampled_from([1, 2, 3, 5, math.inf])
).filter(lambda booked: booked[1] > 0)
machines = st.builds(
    Machine,
    resource_class=st.sampled_from(["gold", "gold", "silver"]),
    state=st.sampled_from(
        ["available"] * 6 + ["active", "active", "cleaning", "deleting", "clean failed", "manageable"]
    ),
    end=st.one_of(st.none(), st.none(), moments, moments, st.sampled_from([-3, -1, math.inf])),
    is_late=st.sampled_from([False, False, False, True]),
    is_retired=st.sampled_from([False] * 7 + [True]),
    holds=st.lists(holds, max_size=2),
    rack=st.sampled_from(["a", "a", "b", None]),
    booked=st.lists(bookings, max_size=2),
    is_own=st.booleans(),
)
fleets = st.lists(machines, max_size=6)
groups = st.builds(
    Several,
    count=st.integers(1, 3),
    spread_by=st.sampled_from([None, "rack"]),
    at_most=st.integers(1, 2),
    pack_by=st.sampled_from([None, None, "rack"]),
)
#: Until a moment, for so many steps, or without end.
ends = st.one_of(st.none(), st.tuples(st.just("until"), moments), st.tuples(st.just("for"), moments))


def build(session: Session, fleet: list[Machine], now: float, own: tuple[int, int] | None = None) -> None:
    for name in ("CUSTOM_GOLD", "CUSTOM_SILVER"):
        ensure_class(session, name)
    for name, domain in RACKS.items():
        session.add(Domain(id=domain, uuid=str(uuid.uuid4()), name=name, level="rack", created_at=utcnow(), revision=1))
    for machine in fleet:
        node = Node(
            uuid=str(uuid.uuid4()),
            created_at=utcnow(),
            driver="fake-hardware",
            conductor_group="",
            resource_class=machine.resource_class,
            provision_state="available",
            power_state="power off",
        )
        session.add(node)
        session.flush()
        if machine.rack is not None:
            row = {"node_id": node.id, "level": "rack", "domain_id": RACKS[machine.rack], "set_by": "person"}
            session.execute(insert(table_of(DomainMember)).values(row))
        if machine.end is not None:
            claim(session, node, machine, now)
        # No available node can be retired.
        node.provision_state, node.retired = machine.state, machine.is_retired and machine.state != "available"
        for start, until, drains in machine.holds:
            session.add(hold_of(node, now + start * STEP, now + until * STEP, drains, is_active=start <= 0))
        booked: list[tuple[int, float, int | None]] = [(*each, None) for each in machine.booked]
        if own is not None and machine.is_own:
            booked.append((*own, BOOKING))
        for start, until, booking in booked:
            session.add(
                BookedMachine(
                    node_id=node.id,
                    booking_id=booking,
                    starts_at=now + start * STEP,
                    ends_at=None if until == math.inf else now + until * STEP,
                    turnaround=TURNAROUND[machine.resource_class] * STEP,
                    made_at=now - STEP,
                )
            )
        starts = [start for start, *_ in machine.holds]
        node.maintenance = any(start <= 0 for start in starts)
        closes = [now + (start - AHEAD) * STEP for start in starts if start > 0]
        node.closes_at = min([*closes, *([now - STEP] if booked else [])], default=None)
        session.flush()


def claim(session: Session, node: Node, machine: Machine, now: float) -> None:
    end = machine.end or 0.0
    given = None if end == math.inf else End(at=now + end * STEP)
    amounts = {node.uuid: {f"CUSTOM_{machine.resource_class.upper()}": 1}}
    request = ConsumerWrite(str(uuid.uuid4()), amounts, "p", "u", None, end=given)
    allocations.write(session, [request], "Unable to allocate:")
    if machine.is_late:
        own = select(Consumer.id).where(Consumer.uuid == request.uuid).scalar_subquery()
        session.execute(update(ClaimEnd).where(ClaimEnd.consumer_id == own).values(state="late"))


def hold_of(node: Node, start: float, until: float, drains: bool, *, is_active: bool) -> Hold:
    return Hold(
        uuid=str(uuid.uuid4()),
        node_id=node.id,
        type="window",
        scope="system",
        asserted_at=start - STEP,
        written_at=start,
        starts_at=start,
        ends_at=None if until == math.inf else until,
        drain=drains,
        begun_at=start if is_active else None,
    )


def may_be_had(free: list[Machine], several: Several) -> bool:
    """Whether some choice of free machines satisfies the request."""
    for chosen in combinations(free, several.count):
        racks = [machine.rack for machine in chosen]
        spread = several.spread_by is None or (
            None not in racks and all(racks.count(rack) <= (several.at_most or 1) for rack in racks)
        )
        if spread and (several.pack_by is None or (None not in racks and len(set(racks)) == 1)):
            return True
    return False


def first_by_force(
    fleet: list[Machine],
    several: Several,
    end: tuple[str, int] | None,
    *,
    strict: bool,
    own: tuple[int, int] | None = None,
) -> int | None:
    fitting = [machine for machine in fleet if machine.resource_class == "gold" and (own is None or machine.is_own)]
    for moment in range(LAST):
        if end is not None and end[0] == "until" and moment >= end[1]:
            return None
        ends = None if end is None else end[1] if end[0] == "until" else moment + end[1]
        if own is not None and (moment < own[0] or ends is None or ends > own[1]):
            continue
        until = moment + 0.5 if ends is None or not strict else ends
        free = [each for each in fitting if each.is_free(moment, until) and each.is_unbooked(moment, ends)]
        if may_be_had(free, several):
            return moment
    return None


def requests(several: Several | None, *, strict: bool) -> list[MachineRequest]:
    given: dict[str, Any] = {"several": several, "strict_end": strict}
    query = "resources=CUSTOM_GOLD%3A1"
    return [
        NodeRequest("gold", **given),
        TreeRequest(query, served=False, version=QUERY_VERSION, **given),
    ]


def in_a_fleet(database: Database, fleet: list[Machine], check: Any, own: tuple[int, int] | None = None) -> None:
    def work(session: Session) -> None:
        now = session.scalar(select(epoch())) or 0.0
        if own is not None:
            times = {"starts_at": now + own[0] * STEP, "ends_at": now + own[1] * STEP, "made_at": now, "due_at": now}
            row = {"id": BOOKING, "uuid": str(uuid.uuid4()), "project": "p", "user": "u", "request": {}, "revision": 1}
            session.add(Booking(**row, **times, resource_class="g", body_digest="", count=1, created_at=utcnow()))
            session.flush()
        build(session, fleet, now, own)
        check(session, now)
        raise RolledBack

    with pytest.raises(RolledBack):
        database.write(work)


@settings(PROPERTY, max_examples=examples(100))
@given(fleet=fleets, several=groups, is_one=st.booleans(), end=ends, strict=st.booleans())
def test_the_first_moment(
    database: Database, fleet: list[Machine], several: Several, is_one: bool, end: tuple[str, int] | None, strict: bool
) -> None:
    group = Several(several.count) if is_one else several
    expected = first_by_force(fleet, group, end, strict=strict)

    def check(session: Session, now: float) -> None:
        given = None
        if end is not None:
            kind, number = end
            # What is read a moment later must still last as long as it should.
            given = End(at=now + number * STEP) if kind == "until" else End(seconds=number * STEP - A_WHILE)
        context = MachineContext(session, SETTINGS, end=given, needed=several.count if is_one else 1)
        for request in requests(None if is_one else several, strict=strict):
            found = earliest_of(context, request, explain_request(context, request))
            assert (found.at is None) == (found.reason is not None) == (expected is None), (found, expected)
            if expected is not None:
                assert found.at == pytest.approx(now + expected * STEP, abs=A_WHILE)

    in_a_fleet(database, fleet, check)


@settings(PROPERTY, max_examples=examples(50))
@given(
    fleet=fleets,
    several=groups,
    own=st.tuples(st.integers(-1, 4), st.integers(5, 9)),
    lasts=moments,
    strict=st.booleans(),
)
def test_the_first_moment_under_a_booking(
    database: Database, fleet: list[Machine], several: Several, own: tuple[int, int], lasts: int, strict: bool
) -> None:
    """Of the machines of the booking, within it. What others have booked is clear of it."""
    clear = TURNAROUND["gold"]
    fleet = [
        replace(each, booked=[row for row in each.booked if row[0] >= own[1] + clear or row[1] + clear <= own[0]])
        for each in fleet
    ]
    lasts = min(lasts, own[1] - max(own[0], 0))  # a longer request is refused
    end = ("for", lasts)
    expected = first_by_force(fleet, several, end, strict=strict, own=own)

    def check(session: Session, now: float) -> None:
        context = MachineContext(session, SETTINGS, end=End(seconds=lasts * STEP - A_WHILE, booking=BOOKING))
        for request in requests(several, strict=strict):
            found = earliest_of(context, request, explain_request(context, request))
            assert (found.at is None) == (expected is None), (found, expected)
            if expected is not None:
                assert found.at == pytest.approx(now + expected * STEP, abs=A_WHILE)

    in_a_fleet(database, fleet, check, own)


@settings(PROPERTY, max_examples=examples(50))
@given(fleet=fleets)
def test_free_machines_at_each_moment(database: Database, fleet: list[Machine]) -> None:
    def check(session: Session, now: float) -> None:
        for moment in range(MOMENTS):
            # In the middle of two moments: nothing changes then.
            at = now + moment * STEP + A_WHILE
            found = capacity.measure_at(session.connection(), SETTINGS, at, ["resource_class"], NodeFilters())
            free = {each.keys["resource_class"]: (each.free, each.total) for each in found}
            for name in {machine.resource_class for machine in fleet}:
                own = [machine for machine in fleet if machine.resource_class == name]
                assert free[name] == (sum(each.is_to_be_had(moment) for each in own), len(own)), moment

    in_a_fleet(database, fleet, check)


def test_too_many_machines(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earliest, "MOST", 1)
    fleet = [Machine("gold", "active", 1, False, False, [], None)] * 2

    def check(session: Session, now: float) -> None:
        context = MachineContext(session, SETTINGS)
        request = NodeRequest("gold")
        found = earliest_of(context, request, explain_request(context, request))
        assert found.document() == {
            "earliest": None,
            "earliest_reason": "More than 1 machines fit: narrow the request.",
        }

    in_a_fleet(database, fleet, check)
