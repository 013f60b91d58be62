"""The year of a laboratory with bookings and large groups: what those who book do, and what must be true then."""

import uuid as uuid_module
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from sqlalchemy import Connection, case, exists, or_, select

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.db import compiled
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.db.types import Query
from baremetal_sched.placement.tables import PENDING_CLAIMS
from tests.functional.scheduling.laboratory import (
    AFTER,
    CLAIMS,
    DAY,
    HOUR,
    IS_FREE,
    IS_IDLE,
    Laboratory,
    Use,
    placement_class,
)

BOOKINGS = "/scheduling/v1/bookings"
_FOREVER = float("inf")

_ROWS: Query = (
    select(Node.uuid.label("machine"), BOOKED.c.starts_at, BOOKED.c.ends_at, BOOKED.c.turnaround, BOOKED.c.booking_id)
    .add_columns(PENDING_CLAIMS.c.uuid.label("planned"))
    .select_from(BOOKED.join(Node.__table__, Node.id == BOOKED.c.node_id))
    .outerjoin(PENDING_CLAIMS, PENDING_CLAIMS.c.id == BOOKED.c.waiting_id)
    .order_by(BOOKED.c.starts_at)
)
#: Machines that nobody has, and that no hold keeps from others.
_IDLE: Query = select(Node.uuid, Node.resource_class, case((IS_FREE, 1), else_=0).label("is_open")).where(
    *IS_IDLE, or_(IS_FREE, ~exists().where(Hold.node_id == Node.id))
)


@dataclass
class _Planned:
    """A large group that waits: its planned start and the machines of it, as they were seen last; and the ``first``
    planned start since one of its machines was kept from it."""

    start: float
    machines: set[str]
    first: float


class BookedYear(Laboratory):
    """A laboratory whose machines are booked, and kept for large groups."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.turnaround: float = self.service.app.settings.scheduling.turnaround
        #: What was asked for under bookings.
        self.under: dict[str, list[Use]] = defaultdict(list)
        #: Machines that somebody keeps for longer, or that were held, since the last look at plans.
        self.delayed: set[str] = set()
        self._plans: dict[str, _Planned] = {}
        self.planned = self.delays = 0

    def settle(self) -> None:
        """Let the conductors do all that is due, bookings included, and check what must be true."""
        self.sweep("bookings")
        super().settle()

    def _check_booked(self, queue: list[Any], held: Mapping[str, Any], now: float) -> None:
        rows, idle = self.service.database.select(_read)
        of_machine: dict[str, list[Any]] = defaultdict(list)
        for row in rows:
            of_machine[row.machine].append(row)
        for own in of_machine.values():
            for one, other in pairwise(own):
                assert _over(one) <= other.starts_at, (one, other, "two uses of a machine at one moment")
        for row in held.values():
            self._check_user(row, of_machine[row.machine])
        taken = {row.machine for row in held.values()}
        free = [row for row in idle if row.uuid not in taken]
        for row in queue:
            fit = [each for each in free if self._may_have(row, each, of_machine[each.uuid], now)]
            assert len(fit) < self.uses[row.uuid].count, (row, fit, now, "waits in vain")
        self._check_plans({row.uuid for row in queue}, rows)

    def _check_user(self, user: Any, rows: Sequence[Any]) -> None:
        """Nobody uses a machine that is booked by others, unless the use is late."""
        if user.state == "late":
            return
        ends_at = _FOREVER if user.ends_at is None else user.ends_at + self.turnaround
        for row in rows:
            is_own = row.booking_id is not None and row.booking_id == user.booking_id
            assert is_own or ends_at <= row.starts_at, (user, row, "two uses of a machine at one moment")

    def _may_have(self, waiting: Any, machine: Any, rows: Sequence[Any], now: float) -> bool:
        """Whether a request that waits may have a free machine now: under its booking, or until the next one."""
        if waiting.booking_id is not None:
            own = (row for row in rows if row.booking_id == waiting.booking_id)
            return any(row.starts_at <= self.now and now < row.ends_at for row in own)
        others = [row for row in rows if row.planned != waiting.uuid]
        lasts = _FOREVER if waiting.ends_at is None else waiting.ends_at - now
        until = now + (lasts if waiting.lasts is None else waiting.lasts) + self.turnaround
        is_clear = all(until <= row.starts_at or _over(row) <= self.now for row in others)
        return waiting.resource_class == placement_class(machine) and (machine.is_open or (bool(rows) and is_clear))

    def _check_plans(self, waiting: set[str], rows: Sequence[Any]) -> None:
        """A group that has a plan keeps it, no later, and is served at its first planned start at the latest, unless
        one of its machines is kept from it."""
        by_group: dict[str, list[Any]] = defaultdict(list)
        for row in rows:
            if row.booking_id is None:
                by_group[row.planned].append(row)
        assert {*by_group} <= waiting, (by_group, "a plan of nobody")
        for uuid, before in [*self._plans.items()]:
            if before.machines & self.delayed or uuid not in waiting:
                self.delays += uuid in waiting
                del self._plans[uuid]
                continue
            assert uuid in by_group, (before, self.now, "a plan was given up")
            assert by_group[uuid][0].starts_at <= before.start, (before, by_group[uuid], self.now, "a plan is later")
            assert self.now <= before.first + 1.5 * AFTER, (before, self.now, "is served too late")
        self.delayed.clear()
        for uuid, own in by_group.items():
            start, known = own[0].starts_at, self._plans.get(uuid)
            assert len({row.starts_at for row in own}) == 1, own
            assert len(own) == self.uses[uuid].count, own
            if known is None or known.start != start:
                self.at(start + 2 * AFTER, lambda: True)
            self.planned += known is None
            self._plans[uuid] = _Planned(start, {row.machine for row in own}, start if known is None else known.first)

    def check_empty(self) -> None:
        """Nothing is left, nothing is booked, and both views agree."""
        super().check_empty()
        assert self.service.database.select(_read)[0] == []


def _over(row: Any) -> float:
    """Return when the turnaround after the time of a row is over."""
    return _FOREVER if row.ends_at is None else float(row.ends_at + row.turnaround)


def _read(connection: Connection) -> tuple[list[Any], list[Any]]:
    rows, idle = (compiled.run(connection, each, {}).all() for each in (_ROWS, _IDLE))
    return [*rows], [*idle]


class Bookers:
    """Those who book: they use what they booked, mostly, or cancel it."""

    def __init__(self, laboratory: BookedYear, random: Random, give_back: Callable[[Use], bool]) -> None:
        self.laboratory, self._http, self._random = laboratory, laboratory.service.http, random
        self._give_back = give_back
        self._cancelled: set[str] = set()

    def book(self) -> bool:
        """Book some machines for some hours or days."""
        random, now, at = self._random, self.laboratory.now, self.laboratory.at
        starts_at = now + random.uniform(0.2, 4) * DAY
        ends_at, count = starts_at + random.uniform(2, 48) * HOUR, random.randint(1, 3)
        uuid = self._uuid()
        times = {"starts_at": self.laboratory.words(starts_at), "ends_at": self.laboratory.words(ends_at)}
        body = {"uuid": uuid, "resource_class": "gold", "project_id": "p", "user_id": "u", "count": count, **times}
        answer = self._http.post_json(BOOKINGS, body, status="*")
        assert answer.status_int in (201, 409), answer
        if answer.status_int == 409:
            return True
        for moment in (starts_at, ends_at):
            at(moment + AFTER, lambda: True)
        for _ in range(count):
            if random.random() < 0.9:
                at(starts_at + random.uniform(-0.1, 0.5) * (ends_at - starts_at), self._claim, uuid, ends_at)
        if random.random() < 0.2:
            at(now + random.random() * (ends_at - now), self._cancel, uuid)
        return True

    def _claim(self, booking: str, ends_at: float) -> bool:
        if booking in self._cancelled:
            return False
        uuid = self._uuid()
        consumer = {"uuid": uuid, "project_id": "p", "user_id": "u"}
        waits = {"wait": 12 * 3600} if self._random.random() < 0.7 else {}
        body = {"resource_class": "gold", "consumer": consumer, "booking": booking, **waits}
        answer = self._http.post_json(CLAIMS, body, status="*")
        assert answer.status_int in (201, 202, 409), answer
        if answer.status_int != 409:
            use = Use.of(uuid, "claim", {"until": ends_at})
            self.laboratory.add(use)
            self.laboratory.under[booking].append(use)
            if self._random.random() < 0.3:
                moment = self.laboratory.now + self._random.random() * (ends_at - self.laboratory.now)
                self.laboratory.at(moment, self._give_back, use)
        return True

    def _cancel(self, booking: str) -> bool:
        """What is claimed under it ends."""
        answer = self._http.delete(f"{BOOKINGS}/{booking}?force=true", status="*")
        assert answer.status_int in (204, 404, 409), answer
        if answer.status_int == 204:
            self._cancelled.add(booking)
            for use in self.laboratory.under[booking]:
                use.until = use.ends_at = min(use.ends_at or self.laboratory.now, self.laboratory.now)
        return True

    def _uuid(self) -> str:
        return str(uuid_module.UUID(int=self._random.getrandbits(128), version=4))
