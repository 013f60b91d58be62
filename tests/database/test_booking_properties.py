"""Random fleets and bookings: each is made if and only if some choice of machines satisfies it, all others staying
where they are; and what is proposed instead, against a look at each choice at each moment."""

import math
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineRequest
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.baremetal.nodes.traits import replace_traits
from baremetal_sched.baremetal.schemas.allocations import TraitEntry
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Booking, Domain, DomainMember, Node, table_of
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.scheduling import NotBookable
from baremetal_sched.placement.names import ensure_class, ensure_traits
from baremetal_sched.scheduling.bookings.alternatives import NoChoice
from baremetal_sched.scheduling.bookings.booking import NewBooking, book
from baremetal_sched.scheduling.bookings.changing import change
from baremetal_sched.settings import load
from tests.database.test_candidate_properties import PROPERTY, RolledBack, database
from tests.database.test_earliest_properties import STEP as STEP
from tests.database.test_earliest_properties import Machine, claim, hold_of
from tests.database_clock import settable
from tests.examples import examples

__all__ = ["database"]

NOW = 1_800_000_000.0
#: Moments have numbers, 0 is now; later than all that is known.
MOMENTS, LAST = 12, 40
#: In steps, as in the machines.
TURNAROUND = {"gold": 2, "silver": 1}
AHEAD = 1
RACKS = {"a": 1, "b": 2, "c": 3}
TRAITS = ("CUSTOM_A", "CUSTOM_B")

SETTINGS = load(
    overrides={
        "database": {"connection": "sqlite:///unused"},
        "scheduling": {
            "turnaround": TURNAROUND["silver"] * STEP,
            "turnaround_of": {"gold": TURNAROUND["gold"] * STEP},
            "withhold_before_windows": AHEAD * STEP,
            "shortest_claim": 0,
        },
    }
)


@dataclass(frozen=True)
class Bookable(Machine):
    """A node with traits."""

    traits: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Asked:
    """A booking of machines of a class, with a trait or any, from a moment on for so many steps."""

    resource_class: str
    trait: str | None
    several: Several
    start: int
    lasts: int
    of_nodes: bool

    def request(self) -> MachineRequest:
        if self.of_nodes:
            traits = [] if self.trait is None else [TraitEntry(self.trait)]
            return NodeRequest(self.resource_class, traits, several=self.several)
        query = f"resources=CUSTOM_{self.resource_class.upper()}:1"
        query += "" if self.trait is None else f"&required={self.trait}"
        return TreeRequest(query, served=False, version=QUERY_VERSION, several=self.several)

    def new(self) -> NewBooking:
        times = NOW + self.start * STEP, NOW + (self.start + self.lasts) * STEP
        return NewBooking(str(uuid.uuid4()), None, "p", "u", self.request(), *times, "d", is_bound=False)


holds = st.tuples(
    st.integers(-2, MOMENTS - 2), st.sampled_from([1, 2, 3, 5, math.inf]), st.sampled_from([False, False, True])
).map(lambda each: (each[0], each[0] + each[1], each[2]))
machines = st.builds(
    Bookable,
    resource_class=st.sampled_from(["gold", "gold", "gold", "silver"]),
    state=st.sampled_from(["available"] * 8 + ["active", "cleaning", "clean failed", "manageable"]),
    end=st.one_of(*[st.none()] * 4, st.integers(1, MOMENTS - 1), st.sampled_from([-3, math.inf])),
    is_late=st.sampled_from([False] * 5 + [True]),
    is_retired=st.sampled_from([False] * 9 + [True]),
    holds=st.lists(holds.filter(lambda hold: hold[1] > 0), max_size=1),
    rack=st.sampled_from(["a", "a", "b", "c", None]),
    traits=st.frozensets(st.sampled_from(TRAITS)),
)
groups = st.builds(
    Several,
    count=st.integers(1, 3),
    spread_by=st.sampled_from([None, "rack"]),
    at_most=st.integers(1, 2),
    pack_by=st.sampled_from([None, None, "rack"]),
)
asked = st.builds(
    Asked,
    resource_class=st.sampled_from(["gold", "gold", "silver"]),
    trait=st.sampled_from([None, None, *TRAITS]),
    several=groups,
    start=st.integers(0, MOMENTS - 3),
    lasts=st.integers(1, 5),
    of_nodes=st.booleans(),
)

#: Which booking is changed, by how many steps its start and its end move, and its new number of machines.
changes = st.tuples(st.integers(0, 4), st.integers(-3, 4), st.integers(-3, 4), st.sampled_from([None, None, 1, 2, 3]))

#: From, and until.
Times = tuple[int, int]


def build(session: Session, fleet: Sequence[Bookable]) -> list[int]:
    """Enter the machines, and return the ids of their nodes."""
    for name in ("CUSTOM_GOLD", "CUSTOM_SILVER"):
        ensure_class(session, name)
    ensure_traits(session, TRAITS)
    for name, domain in RACKS.items():
        session.add(Domain(id=domain, uuid=str(uuid.uuid4()), name=name, level="rack", created_at=utcnow(), revision=1))
    found = []
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
        replace_traits(session, node, sorted(machine.traits))
        if machine.rack is not None:
            row = {"node_id": node.id, "level": "rack", "domain_id": RACKS[machine.rack], "set_by": "person"}
            session.execute(insert(table_of(DomainMember)).values(row))
        if machine.end is not None:
            claim(session, node, machine, NOW)
        node.provision_state, node.retired = machine.state, machine.is_retired and machine.state != "available"
        for start, until, drains in machine.holds:
            session.add(hold_of(node, NOW + start * STEP, NOW + until * STEP, drains, is_active=start <= 0))
        starts = [start for start, *_ in machine.holds]
        node.maintenance = any(start <= 0 for start in starts)
        node.closes_at = min((NOW + (start - AHEAD) * STEP for start in starts if start > 0), default=None)
        session.flush()
        found.append(node.id)
    return found


class Model:
    """The machines and their bookings in plain Python."""

    def __init__(self, fleet: Sequence[Bookable]) -> None:
        self.fleet = fleet
        #: The bookings of each machine, by the id of the booking.
        self.booked: list[dict[int, Times]] = [{} for _ in fleet]

    def is_free(self, place: int, start: int, until: float, own: int | None = None) -> bool:
        machine = self.fleet[place]
        takes = TURNAROUND[machine.resource_class]
        others = [times for booking, times in self.booked[place].items() if booking != own]
        return machine.is_free(start, until) and all(
            until + takes <= begins or ends + takes <= start for begins, ends in others
        )

    def of(self, booking: int) -> set[int]:
        """The machines of a booking."""
        return {place for place, rows in enumerate(self.booked) if booking in rows}

    def keep(self, booking: int, chosen: Collection[int], times: Times) -> None:
        for place, rows in enumerate(self.booked):
            rows.pop(booking, None)
            if place in chosen:
                rows[booking] = times

    def choices(self, asked: Asked, start: int, until: float, stays: Collection[int] = ()) -> Iterator[tuple[int, ...]]:
        """Yield the choices of as many machines as are asked for, besides those that stay."""
        fitting = (
            place
            for place, machine in enumerate(self.fleet)
            if machine.resource_class == asked.resource_class
            and (asked.trait is None or asked.trait in machine.traits)
            and place not in stays
            and self.is_free(place, start, until)
        )
        for chosen in combinations(fitting, asked.several.count):
            if satisfies(asked.several, [self.fleet[place].rack for place in (*stays, *chosen)]):
                yield chosen

    def can(self, asked: Asked, start: int, until: float) -> bool:
        return next(self.choices(asked, start, until), None) is not None

    def earliest(self, asked: Asked) -> int | None:
        return next((start for start in range(LAST) if self.can(asked, start, start + asked.lasts)), None)

    def longest(self, asked: Asked) -> int | None:
        if self.can(asked, asked.start, math.inf):
            return None
        return max((each for each in range(1, LAST) if self.can(asked, asked.start, asked.start + each)), default=None)


def satisfies(several: Several, racks: Sequence[str | None]) -> bool:
    spread = None not in racks and all(racks.count(rack) <= (several.at_most or 1) for rack in racks)
    pack = None not in racks and len(set(racks)) == 1
    return (several.spread_by is None or spread) and (several.pack_by is None or pack)


def rows_of(session: Session, nodes: Sequence[int], booking: int) -> set[int]:
    query = select(BOOKED.c.node_id).where(BOOKED.c.booking_id == booking)
    return {nodes.index(node) for node in session.scalars(query)}


def booked(session: Session, asked: Asked) -> Booking | NotBookable:
    try:
        return book(session, SETTINGS, asked.new())
    except NoChoice as refused:
        return refused.error(session, SETTINGS)


@settings(PROPERTY, max_examples=examples(100))
@given(fleet=st.lists(machines, max_size=6), wishes=st.lists(asked, min_size=1, max_size=5))
def test_booked_if_and_only_if_possible(database: Database, fleet: list[Bookable], wishes: list[Asked]) -> None:
    def work(session: Session) -> None:
        nodes, model = build(session, fleet), Model(fleet)
        for each in wishes:
            until = each.start + each.lasts
            possible = set(model.choices(each, each.start, until))
            booking = booked(session, each)
            if isinstance(booking, NotBookable):
                assert not possible, (each, booking)
                earliest, longest = model.earliest(each), model.longest(each)
                expected = None if earliest is None else NOW + earliest * STEP
                assert booking.details["earliest"] == expected, (each, booking)
                assert booking.details["longest"] == (None if longest is None else longest * STEP), (each, booking)
                continue
            chosen = rows_of(session, nodes, booking.id)
            assert tuple(sorted(chosen)) in possible, (each, chosen)
            for place in chosen:
                model.booked[place][booking.id] = each.start, until
        raise RolledBack

    with settable(database) as clock:
        clock.stopped_at = NOW
        with pytest.raises(RolledBack):
            database.write(work)


def changed(session: Session, booking: Booking, times: Times, count: int) -> Booking | Exception:
    moments = {"starts_at": NOW + times[0] * STEP, "ends_at": NOW + times[1] * STEP}
    try:
        return change(session, SETTINGS, booking, **moments, count=count, is_bound=False)
    except (NotBookable, InvalidValue) as error:
        return error


@settings(PROPERTY, max_examples=examples(60))
@given(
    fleet=st.lists(machines, min_size=2, max_size=6),
    wishes=st.lists(asked, min_size=1, max_size=4),
    wanted=st.lists(changes, min_size=1, max_size=4),
)
def test_changed_if_and_only_if_possible(
    database: Database, fleet: list[Bookable], wishes: list[Asked], wanted: list[tuple[int, int, int, int | None]]
) -> None:
    """Machines that can stay stay; a change that is not possible changes nothing."""

    def work(session: Session) -> None:
        nodes, model = build(session, fleet), Model(fleet)
        made: list[tuple[Booking, Asked, Times]] = []
        for each in wishes:
            booking = booked(session, each)
            if isinstance(booking, Booking):
                made.append((booking, each, (each.start, each.start + each.lasts)))
                model.keep(booking.id, rows_of(session, nodes, booking.id), made[-1][2])
        for which, by, longer, number in wanted if made else ():
            booking, each, (start, until) = made[which % len(made)]
            count, had = number or booking.count, model.of(booking.id)
            times = start + (by if start else 0), until + longer
            moves = times[0] != start
            needs_time = moves or times[1] > until
            stays = {place for place in had if not needs_time or model.is_free(place, *times, booking.id)}
            missing = count - len(stays)
            rest = replace(each, several=replace(each.several, count=max(missing, 0)))
            is_valid = times[0] >= 0 and times[1] > times[0]
            possible = is_valid and (missing <= 0 or any(model.choices(rest, *times, stays)))
            result = changed(session, booking, times, count)
            now = rows_of(session, nodes, booking.id)
            assert isinstance(result, Booking) == possible, (each, times, count, result)
            if not possible:
                assert now == had
                continue
            assert len(now) == booking.count == count
            assert now <= stays if missing <= 0 else stays <= now
            assert missing <= 0 or tuple(sorted(now - stays)) in set(model.choices(rest, *times, stays))
            model.keep(booking.id, now, times)
            made[which % len(made)] = booking, each, times
        raise RolledBack

    with settable(database) as clock:
        clock.stopped_at = NOW
        with pytest.raises(RolledBack):
            database.write(work)
