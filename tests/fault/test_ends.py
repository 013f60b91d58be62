"""Clients claim machines for a moment and never give them back, while conductors, workers and the database are killed.

Each claim ends exactly once and not before its time, no machine is another's before, and in the end all are free.

FAULT_SECONDS says for how long (each kill once by default). If it is said, PostgreSQL and MariaDB are servers of this
test's own, which crash too.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.fault import machines
from tests.fault.caller import Caller
from tests.fault.event_reader import EventReader, following
from tests.fault.fleet import GROUPS
from tests.fault.troubles import Stage, busy, repeated
from tests.fault.watching import DOUBLY_HELD, watched
from tests.processes import Client, run
from tests.waiting import wait_until

_MACHINES = 4
_CLIENTS = 6
#: Seconds for which a machine is claimed at most.
_LONGEST = 2.0


@dataclass
class Guest(Caller):
    """One client. ``confirmed`` and ``unknown`` are its claims; it does not know whether the latter are made."""

    confirmed: list[str] = field(init=False, default_factory=list)
    unknown: list[str] = field(init=False, default_factory=list)
    _waiting: str = field(init=False, default="")

    def act(self) -> None:
        """Claim a machine for a moment, or wait for one."""
        if self._waiting:
            answer = self._call("look", self._client.scheduling, "GET", f"/claims/{self._waiting}?wait=1")
            if not answer.is_unknown and (answer.status == 404 or answer.body["state"] != "waiting"):
                self._waiting = ""
            return
        uuid = str(uuid4())
        consumer = {"uuid": uuid, "project_id": "p", "user_id": "u"}
        body = {"resource_class": "gold", "consumer": consumer, "for": self._dice.uniform(0.1, _LONGEST)}
        if self._dice.random() < 0.5:
            body["wait"] = 600
        answer = self._call("claim", self._client.scheduling, "POST", "/claims", body)
        if answer.is_done:
            self.confirmed.append(uuid)
            self._waiting = uuid
        elif answer.is_unknown:
            self.unknown.append(uuid)


def test_claims_end_once_whatever_is_killed(stage: Stage, tmp_path: Path) -> None:
    with following(stage.url, stage.database[1]) as reader:
        nodes = machines.enrol(stage.url, _MACHINES, GROUPS.values())
        guests = [Guest(number) for number in range(_CLIENTS)]
        with watched(stage.database[1], DOUBLY_HELD) as watch:
            with repeated(lambda: machines.repair(stage.url), 0.5), busy(guests, [stage.url]):
                stage.go_wrong(stage.kills(), 1)
                wait_until(lambda: ended(reader).total() > _CLIENTS, "claims to end")
            with Client(stage.url) as client:
                wait_until(lambda: client.healthcheck().status_code == 200, "the service to be well")
                wait_until(lambda: {*machines.offered(client)} == {*nodes}, "all machines to be given back")
    findings = [*watch.findings, *wrong(reader, guests)]
    statuses = sum((each.statuses for each in guests), Counter[tuple[str, int]]())
    print("; ".join(f"{name} {status or 'lost'}: {number}" for (name, status), number in sorted(statuses.items())))
    print(f"{ended(reader).total()} claims ended, {watch.looks} looks; {dict(stage.happened)}")
    print(*findings, sep="\n")
    assert findings == []
    assert [failure for each in guests for failure in each.failures] == []
    wait_until(lambda: run(tmp_path, "db", "check", *stage.database).stdout == "ok\n", "db check to find nothing")


def ended(reader: EventReader) -> Counter[str]:
    """How often each claim has ended."""
    return _by_consumer(reader, "scheduling.claim.ended")


def _by_consumer(reader: EventReader, kind: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for (name, _, consumer), number in [*reader.heard.items()]:
        found[consumer] += number * (name == kind)
    return +found


def wrong(reader: EventReader, guests: list[Guest]) -> Iterator[str]:
    """Yield claims that did not end exactly once, or had a machine without an end."""
    kinds = ("scheduling.machine.claimed", "scheduling.machine.released", "scheduling.claim.ended")
    heard: dict[str, Any] = {kind: _by_consumer(reader, kind) for kind in kinds}
    for guest in guests:
        for uuid in guest.confirmed:
            if {heard[kind][uuid] for kind in kinds} != {1}:
                yield f"claim {uuid}: {[heard[kind][uuid] for kind in kinds]} times claimed, released and ended"
        for uuid in guest.unknown:
            if len({heard[kind][uuid] for kind in kinds}) != 1 or heard[kinds[0]][uuid] > 1:
                yield f"claim {uuid}: {[heard[kind][uuid] for kind in kinds]} times claimed, released and ended"
