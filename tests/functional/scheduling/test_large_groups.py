"""A large group on a busy fleet gets its turn: at its first planned start at the latest, and nothing stands idle for it
that somebody may have until then."""

import heapq
import itertools
from collections.abc import Callable
from random import Random

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.db.models import Node, WaitingRequest
from baremetal_sched.placement.tables import INVENTORIES, PROVIDERS
from baremetal_sched.placement.waiting_requests import IS_WAITING, WAITING
from tests.database_clock import SettableClock, settable
from tests.functional.scheduling.laboratory import SWEEPS
from tests.functional.scheduling.test_claims import UUID, post, show
from tests.functional.scheduling.test_plans import NOW, YEARS
from tests.service import Service

#: Seconds: the turnaround, and how long machines are used.
T, SHORTEST, LONGEST = 60.0, 120.0, 3600.0
MACHINES, GROUP = 20, 16
#: Seconds between two who come, so that they need 95 % of the time of all machines.
INTERVAL = (SHORTEST + LONGEST) / 2 / MACHINES / 0.95
#: Seconds after which the group comes.
BUSY = LONGEST


class Fleet:
    """Machines, those who come, and what must be true at each moment."""

    def __init__(self, service: Service, clock: SettableClock, random: Random) -> None:
        self.service, self._clock, self._random = service, clock, random
        self._moments: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.now = NOW
        self.starts: list[float] = []
        #: Machine seconds that others used since the group came.
        self.used = 0.0

    def at(self, moment: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._moments, (moment, next(self._order), act))

    def run(self) -> None:
        """Go from moment to moment until the group has its machines."""
        for _ in range(MACHINES + 5):
            self._ask()
        self.at(NOW, self._come)
        self.at(NOW + BUSY, self._group_comes)
        while not self.starts or show(self.service)["state"] == "waiting":
            moment, _, act = heapq.heappop(self._moments)
            if self.now >= NOW + BUSY:
                self.used += (moment - self.now) * (MACHINES - len(self.service.database.read(_free)))
            self.now = self._clock.stopped_at = moment
            act()
            self.service.database.read(self._check)

    def _come(self) -> None:
        """Somebody comes, and is followed by another."""
        self._ask()
        self.at(self.now + self._random.expovariate(1 / INTERVAL), self._come)
        self._look()

    def _ask(self) -> None:
        """Somebody needs a machine, and waits for it."""
        lasts = self._random.uniform(SHORTEST, LONGEST)
        answer = post(self.service, {"resource_class": "gold"}, status="*", wait=80_000, **{"for": lasts})
        assert answer.status_int in (201, 202), answer

    def _group_comes(self) -> None:
        body = {"resource_class": "gold", "consumer": {"uuid": UUID, "project_id": "large"}, "count": GROUP}
        post(self.service, body, status=202, wait=80_000, **{"for": LONGEST})

    def _look(self) -> None:
        """The conductor gives back what has ended, and looks again within the turnaround after the next end."""
        for name in ("ends", "claims"):
            SWEEPS[name].run(self.service.conductors["c1"]._host)
        if not any(act == self._look for *_, act in self._moments):
            self.at(self.now + self._random.uniform(T / 2, 0.9 * T), self._look)

    def _check(self, session: Session) -> None:
        """The planned start is never later than it was, and nobody waits for a machine that they may have."""
        rows = session.execute(select(BOOKED).where(BOOKED.c.waiting_id.is_not(None))).all()
        start = min((row.starts_at for row in rows), default=None)
        if start is not None:
            assert len(rows) == GROUP, rows
            assert start <= min(self.starts, default=start), (start, self.starts)
            self.starts.append(start)
        free, kept = _free(session), {row.node_id for row in rows}
        lengths = session.scalars(select(WaitingRequest.lasts).where(IS_WAITING, WaitingRequest.state == WAITING)).all()
        for node in free:
            idle = [each for each in lengths if node not in kept or self.now + (each or 0.0) + T <= (start or 0.0)]
            assert not idle, (node, idle, self.now, start, "waits in vain")


def _free(session: Session) -> set[int]:
    """The nodes that nobody has."""
    query = select(Node.id).join(PROVIDERS, PROVIDERS.c.uuid == Node.uuid)
    query = query.join(INVENTORIES, INVENTORIES.c.provider_id == PROVIDERS.c.id)
    return {*session.scalars(query.where(INVENTORIES.c.used == 0))}


@pytest.mark.parametrize("seed", range(2))
def test_a_large_group_gets_its_turn(database_url: str, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"gather": "ends", "turnaround": T}
    with (
        Service(database_url, scheduling=options, conductor=YEARS) as service,
        settable(service.database) as clock,
    ):
        clock.stopped_at = NOW
        service.add_conductor("c1")
        for number in range(MACHINES):
            service.add_node(f"n{number}")
        fleet = Fleet(service, clock, Random(seed))
        fleet.run()
        assert show(service)["state"] == "claimed"
        assert fleet.now <= fleet.starts[0], (fleet.now, fleet.starts)
        waited, early = fleet.now - NOW - BUSY, fleet.starts[0] - fleet.now
        use = fleet.used / waited / MACHINES
        with capsys.disabled():
            print(f"\nserved after {waited:.0f} s, {early:.0f} s before its planned start; {use:.0%} in use until then")
