"""A laboratory whose machines come and go: its time, and what must be true at each moment.

Time is the clock of the database, which is set from one moment to the next. At a moment something happens (users,
``test_year``), then the conductors sweep and work, then the promises are checked against a model of who should have
what: what a caller was answered, and nothing that the service worked out since.
"""

import heapq
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import Connection, and_, case, false, or_, select, text

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db import compiled
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import EventNote, Node, table_of
from baremetal_sched.db.types import Query
from baremetal_sched.machines import states
from baremetal_sched.placement.tables import ALLOCATIONS, CLAIM_ENDS, CONSUMERS, PENDING_CLAIMS, PROVIDERS
from tests.database_clock import SettableClock
from tests.service import Service

CLAIMS = "/scheduling/v1/claims"
NOTES = table_of(EventNote)

#: Seconds.
HOUR, DAY = 3600.0, 86_400.0
#: A look at what has happened comes so much later.
AFTER = 1.0
#: An end that is late is tried again after so many seconds at most.
LONGEST_TRY = 300.0

#: The sweeps of a conductor.
SWEEPS = {task.name: task for task in PERIODIC_TASKS if task.group == "scheduling"}

# These are created once, which is most of what they cost.
_NOW: Query = select(epoch().label("now"))
#: Who has which machine, and until when.
_HOLDERS: Query = (
    select(PROVIDERS.c.uuid.label("machine"), CONSUMERS.c.uuid.label("consumer"))
    .add_columns(
        CLAIM_ENDS.c.set_at, CLAIM_ENDS.c.ends_at, CLAIM_ENDS.c.state, CLAIM_ENDS.c.told, CLAIM_ENDS.c.booking_id
    )
    .join_from(ALLOCATIONS, PROVIDERS, PROVIDERS.c.id == ALLOCATIONS.c.provider_id)
    .join(CONSUMERS, CONSUMERS.c.id == ALLOCATIONS.c.consumer_id)
    .outerjoin(CLAIM_ENDS, CLAIM_ENDS.c.consumer_id == CONSUMERS.c.id)
)
_ASKED = ("uuid", "state", "resource_class", "deadline", "ends_at", "lasts", "booking_id")
_WAITING: Query = select(*(PENDING_CLAIMS.c[name] for name in _ASKED)).where(PENDING_CLAIMS.c.decided_at.is_(None))
#: SQL conditions on a node: nobody has it, and it is available; and anybody may have it now.
IS_IDLE = (
    Node.provision_state == states.AVAILABLE,
    *(Node.maintenance == false(), Node.instance_uuid.is_(None), Node.reservation.is_(None)),
)
IS_FREE = and_(
    *IS_IDLE,
    or_(Node.closes_at.is_(None), Node.closes_at > epoch()),
)
#: Machines that are somebody's, or that somebody may have now.
_MACHINES: Query = select(
    *(Node.uuid, Node.resource_class, Node.instance_uuid, case((IS_FREE, 1), else_=0).label("is_free"))
).where(or_(Node.instance_uuid.is_not(None), IS_FREE))


#: A moment, the order of those that are the same, and what happens.
_Moment = tuple[float, int, Callable[[], bool]]


@dataclass
class Use:
    """What a user has asked for: until a moment, or for so many seconds, or neither. ``consumers``: those of its
    machines. Once it ``has`` machines, ``ends_at`` is its end; None: it has none."""

    uuid: str
    kind: str
    count: int
    consumers: list[str]
    until: float | None = None
    seconds: float | None = None
    has: set[str] = field(default_factory=set)
    ends_at: float | None = None

    @classmethod
    def of(cls, uuid: str, kind: str, end: Mapping[str, float], count: int = 1) -> "Use":
        several = [str(uuid5(UUID(uuid), str(number))) for number in range(1, count + 1)]
        own = [uuid] if count == 1 else several
        return cls(uuid, kind, count, own, until=end.get("until"), seconds=end.get("seconds"))

    def is_right(self, ends_at: float | None, earliest: float, latest: float) -> bool:
        """Whether this is its end if it has got its machines between two moments."""
        if ends_at is None or (self.until, self.seconds) == (None, None):
            return (ends_at, self.until, self.seconds) == (None, None, None)
        if self.seconds is None:
            return abs(ends_at - (self.until or 0.0)) < 0.01
        return earliest - 0.01 <= ends_at - self.seconds <= latest + 0.01


class Laboratory:
    """Machines, their users, and moments. ``tell_before``: the intervals of the settings."""

    def __init__(self, service: Service, clock: SettableClock, tell_before: tuple[float, ...]) -> None:
        self.service, self._clock, self._tell_before = service, clock, tell_before
        self.machines: dict[str, str] = {}
        self.uses: dict[str, Use] = {}
        #: Those that have machines, or wait.
        self.living: dict[str, Use] = {}
        self.of_consumer: dict[str, Use] = {}
        #: When the last lockout of a machine was over; infinity: it has one.
        self.locked_until: dict[str, float] = {}
        self.now = self._read_clock()
        self._checked = self.now
        self.ended = Counter[str]()
        self.was_late: set[str] = set()
        #: The moments of ends that are looked forward to.
        self._known: set[tuple[str, float]] = set()
        self._moments: list[_Moment] = []
        self._order = itertools.count()

    # -- time ----------------------------------------------------------------------------------------------------------

    def at(self, moment: float, act: Callable[..., bool], *arguments: Any) -> None:
        """Let something happen at a moment (seconds since 1970); ``act`` returns whether something did."""
        entry: _Moment = (moment, next(self._order), partial(act, *arguments))
        heapq.heappush(self._moments, entry)

    def run(self) -> None:
        """Go from moment to moment until there is none."""
        while self._moments:
            moment, _, act = heapq.heappop(self._moments)
            self._clock.step(max(0.0, moment - self._read_clock()))
            self.now = self._read_clock()
            if act():
                self.settle()

    def _read_clock(self) -> float:
        return float(self.service.database.select(lambda connection: compiled.run(connection, _NOW, {}).scalar()))

    def words(self, moment: float) -> str:
        """A moment as requests name it."""
        return datetime.fromtimestamp(moment, UTC).isoformat()

    # -- uses ----------------------------------------------------------------------------------------------------------

    def add(self, use: Use) -> None:
        """Expect a use that was granted, or waits."""
        self.uses[use.uuid] = self.living[use.uuid] = use
        self.of_consumer.update(dict.fromkeys(use.consumers, use))

    def know_end(self, use: Use, until: str | None) -> None:
        """Note the end of a use that the service has answered, to the second; None: it has none."""
        said = None if until is None else datetime.fromisoformat(until).timestamp()
        found = {row.ends_at for row in self.service.database.select(_read)[0] if row.consumer in use.consumers}
        assert len(found) == 1, (use, found)
        (use.ends_at,) = found
        assert (said is None) == (use.ends_at is None), (use, until)
        assert said is None or abs(said - (use.ends_at or 0.0)) < 1, (use, until)

    def is_locked(self, machine: str) -> bool:
        """Whether nobody may touch a machine now."""
        return self.locked_until.get(machine, 0.0) > self.now

    # -- what must be true ---------------------------------------------------------------------------------------------

    def sweep(self, *names: str) -> None:
        """Let the conductors look at holds, ends or waiting requests."""
        for name in names:
            for conductor in self.service.conductors.values():
                SWEEPS[name].run(conductor._host)

    def settle(self) -> None:
        """Let the conductors do all that is due, and check what must be true."""
        self.sweep("ends")
        self.service.work()
        self.sweep("ends", "claims")  # what has been undeployed is released
        self.check()

    def check(self) -> None:
        """Nothing is given back early or twice, nothing is forgotten, and nobody waits for a machine that is free."""
        holders, waiting, machines, now = self.service.database.select(_read)
        assert len({row.machine for row in holders}) == len(holders), (holders, "a machine has two users")
        held = {row.consumer: row for row in holders}
        queue = {row.uuid: row for row in waiting}
        for consumer, row in held.items():
            use = self.of_consumer[consumer]
            assert use.uuid in self.living, (use, row, "was given back, and is held")
        for use in [*self.living.values()]:
            self._check_use(use, [held[each] for each in use.consumers if each in held], use.uuid in queue, now)
        for row in holders:
            if row.ends_at is not None:
                self._look_forward(row)
                self._check_end(row, now)
        self._check_waiting(waiting, held, machines, now)
        self._check_booked(waiting, held, now)
        for row in machines:
            is_own = row.instance_uuid is None or held[row.instance_uuid].machine == row.uuid
            assert is_own, (row, "is somebody's who does not have it")
        self._checked = now

    def _check_use(self, use: Use, rows: list[Any], waits: bool, now: float) -> None:
        """Who was not asked to give anything back, and has no end that is over, has what they had."""
        if rows and not use.has:
            assert len(rows) == use.count, (use, rows, "has got some of its machines")
            use.has, use.ends_at = {row.machine for row in rows}, rows[0].ends_at
            assert use.is_right(use.ends_at, self._checked, now), (use, self._checked, now, "has not got its end")
        if use.has:
            is_due = use.ends_at is not None and use.ends_at <= now
            lost = use.has - {row.machine for row in rows}
            assert not lost or is_due, (use, lost, now, "was given back early")
            assert is_due or {row.ends_at for row in rows} == {use.ends_at}, (use, rows, "has another end")
            if not rows:
                self.ended[use.uuid] += 1
                del self.living[use.uuid]
        elif not waits:  # it has waited in vain
            del self.living[use.uuid]

    def _look_forward(self, row: Any) -> None:
        """Look at the moment of an end that is new."""
        if (row.consumer, row.ends_at) in self._known:
            return
        self._known.add((row.consumer, row.ends_at))
        self.at(row.ends_at + AFTER, self._look, self.of_consumer[row.consumer])

    def _look(self, use: Use) -> bool:
        """Nothing happens but that time has passed."""
        return use.uuid in self.living

    def _check_end(self, row: Any, now: float) -> None:
        """An end is over only if it is late for a reason, and the shortest interval before it that has begun since it
        was set was told."""
        if row.ends_at > now:
            assert row.state == "set", (row, now, "ends early")
            begun = [each for each in self._tell_before if row.set_at < row.ends_at - each <= self._checked]
            assert not begun or (row.told or 2 * DAY) <= min(begun), (row, now, "was not told")
        elif row.ends_at <= now - AFTER / 2:
            assert row.state == "late", (row, now, "is held after its end")
            until = self.locked_until.get(row.machine, 0.0)
            assert until >= now - LONGEST_TRY - AFTER, (row, now, "is late without a reason")
            self.was_late.add(row.consumer)
            if until <= now:
                self.at(now + LONGEST_TRY + AFTER, self._look, self.of_consumer[row.consumer])

    def _check_waiting(self, queue: list[Any], held: dict[str, Any], machines: list[Any], now: float) -> None:
        """Nobody waits while as many machines are free as they need, and nobody longer than they said."""
        taken = {row.machine for row in held.values()}
        free = Counter(placement_class(row) for row in machines if row.is_free and row.uuid not in taken)
        for row in queue:
            assert row.deadline > now - AFTER, (row, now, "waits for too long")
            assert free[row.resource_class] < self.uses[row.uuid].count, (row, free, now, "waits in vain")

    def _check_booked(self, queue: list[Any], held: Mapping[str, Any], now: float) -> None:
        """For laboratories with bookings."""

    def check_events(self) -> None:
        """Each interval before an end was told at most once, and each end that came was told once."""
        rows = self.service.database.select(_events)
        told = Counter((subject, data["end"]["at"], data["end"]["seconds"]) for subject, data in rows["ends_soon"])
        assert not [each for each, count in told.items() if count > 1]
        ended = Counter(data["consumer"]["uuid"] for _, data in rows["ended"])
        assert not [each for each, count in ended.items() if count > self.of_consumer[each].count]
        assert {self.of_consumer[each].uuid for each in ended} == {*self.ended}

    def check_empty(self) -> None:
        """Nothing is left, and both views agree."""
        holders, waiting, machines, _ = self.service.database.select(_read)
        assert (holders, waiting, sum(row.is_free for row in machines)) == ([], [], len(self.machines))
        left = (
            "SELECT (SELECT count(*) FROM consumers), (SELECT count(*) FROM claim_ends), (SELECT count(*) FROM holds)"
        )
        assert tuple(self.service.database.select(lambda each: each.execute(text(left)).one())) == (0, 0, 0)
        assert self.service.database.snapshot(audit) == []


def placement_class(machine: Any) -> str:
    """The class of a machine as requests that wait have it."""
    return f"CUSTOM_{machine.resource_class.upper()}"


def _read(connection: Connection) -> tuple[list[Any], list[Any], list[Any], float]:
    now, *found = (compiled.run(connection, each, {}) for each in (_NOW, _HOLDERS, _WAITING, _MACHINES))
    holders, waiting, machines = ([*each.all()] for each in found)
    return holders, waiting, machines, float(now.scalar())


def _events(connection: Connection) -> dict[str, list[tuple[str, Any]]]:
    """The events of ends, by the last word of their types: subject and data."""
    found: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    query = select(NOTES.c.type, NOTES.c.subject, NOTES.c.data).where(NOTES.c.type.like("scheduling.claim.%"))
    for kind, subject, data in connection.execute(query):
        found[kind.rpartition(".")[2]].append((subject, json.loads(data)))
    return found
