"""Fifty clients book the last machine of a class for the same day, again and again, while workers, conductors and the
database are killed: it is never booked twice, and what was booked and not cancelled is there.

FAULT_SECONDS says for how long (each kill once by default).
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from tests.fault import machines
from tests.fault.caller import Caller
from tests.fault.fleet import GROUPS
from tests.fault.troubles import Stage, busy
from tests.fault.watching import DOUBLY_HELD, watched
from tests.processes import Client, run
from tests.waiting import wait_until

_CLIENTS = 50
_DAY = {"starts_at": "2050-01-02T00:00:00Z", "ends_at": "2050-01-03T00:00:00Z"}

#: Machines with two uses at one moment.
DOUBLY_BOOKED = """
SELECT one.node_id, one.booking_id, other.booking_id FROM booked_machines one JOIN booked_machines other
ON other.node_id = one.node_id AND other.id > one.id AND other.starts_at < one.ends_at + one.turnaround
AND one.starts_at < other.ends_at + other.turnaround
"""


@dataclass
class Booker(Caller):
    """One client. ``booked``: its bookings, as far as it knows that they are there; ``doubtful``: those that it has
    cancelled, and was told nothing."""

    booked: set[str] = field(init=False, default_factory=set)
    doubtful: set[str] = field(init=False, default_factory=set)
    #: How often it has booked.
    times: int = field(init=False, default=0)

    def act(self) -> None:
        """Book the machine, or give it up."""
        if self.booked or self.doubtful:
            is_there = bool(self.booked)
            uuid = (self.booked or self.doubtful).pop()
            answer = self._call("cancel", self._client.scheduling, "DELETE", f"/bookings/{uuid}")
            if answer.is_unknown:
                self.doubtful.add(uuid)
            elif answer.status == 404 and is_there:
                self.failures.append(f"booking {uuid} was confirmed, and is not there")
            return
        uuid = str(uuid4())
        body = {"resource_class": "gold", "uuid": uuid, "project_id": "p", "user_id": "u", **_DAY}
        if self._call("book", self._client.scheduling, "POST", "/bookings", body).is_done:
            self.booked.add(uuid)
            self.times += 1


def test_the_last_machine_is_booked_once_whatever_is_killed(stage: Stage, tmp_path: Path) -> None:
    machines.enrol(stage.url, 1, GROUPS.values())
    bookers = [Booker(number) for number in range(_CLIENTS)]
    with watched(stage.database[1], DOUBLY_HELD, DOUBLY_BOOKED) as watch, busy(bookers, [stage.url]):
        stage.go_wrong(stage.kills(), 1)
        wait_until(lambda: sum(each.times for each in bookers) > 0, "the machine to be booked")
    with Client(stage.url) as client:
        wait_until(lambda: client.healthcheck().status_code == 200, "the service to be well")
        found = {each["uuid"] for each in client.scheduling("GET", "/bookings").json()["bookings"]}
    statuses = sum((each.statuses for each in bookers), Counter[tuple[str, int]]())
    print("; ".join(f"{name} {status or 'lost'}: {number}" for (name, status), number in sorted(statuses.items())))
    print(f"booked {sum(each.times for each in bookers)} times, {watch.looks} looks; {dict(stage.happened)}")
    assert watch.findings == []
    assert [failure for each in bookers for failure in each.failures] == []
    assert {uuid for each in bookers for uuid in each.booked} <= found
    wait_until(lambda: run(tmp_path, "db", "check", *stage.database).stdout == "ok\n", "db check to find nothing")
