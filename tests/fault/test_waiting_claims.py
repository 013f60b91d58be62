"""Clients claim machines, wait for them, cancel and give them back, and everything is killed meanwhile.

Each machine is a lock: a machine that was acknowledged to one has no other holder. No claim is lost, none is passed
over by a later one that asks for the same, and in the end none waits while a machine that fits is free. A reader of the
events hears of each acknowledged change exactly once.

FAULT_SECONDS says for how long (each kill once by default). If it is said, PostgreSQL and MariaDB are servers of this
test's own, which crash too.
"""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fault import machines
from tests.fault.event_reader import EventReader, following
from tests.fault.fleet import GROUPS
from tests.fault.test_claims import HELD_BY_ANOTHER
from tests.fault.troubles import Stage, busy, repeated
from tests.fault.waiters import WaitingClient, left
from tests.fault.waiting_journal import Waiter, WaitingJournal
from tests.fault.watching import DOUBLY_HELD, watched
from tests.processes import Client, run
from tests.waiting import wait_until

_MACHINES = 4
_CLIENTS = 16


def test_machines_go_to_those_who_wait_whatever_is_killed(stage: Stage, tmp_path: Path) -> None:
    with following(stage.url, stage.database[1]) as reader:
        nodes = machines.enrol(stage.url, _MACHINES, GROUPS.values())
        with Client(stage.url) as client:
            for node in nodes[::2]:
                assert client.baremetal("PUT", f"/nodes/{node}/traits/CUSTOM_A").status_code == 204
        clients = [WaitingClient(number) for number in range(_CLIENTS)]
        with watched(stage.database[1], DOUBLY_HELD, HELD_BY_ANOTHER) as watch:
            with repeated(lambda: machines.repair(stage.url), 0.5), busy(clients, [stage.url]):
                stage.go_wrong(stage.kills(), 1)
                wait_until(lambda: handed_over(clients) > _CLIENTS, "machines to be handed over")
            with Client(stage.url) as client:
                wait_until(lambda: client.healthcheck().status_code == 200, "the service to be well")
                journal = WaitingJournal([waiter for each in clients for waiter in each.journal.waiters])
                there = left(client, journal.waiters)
                now = time.monotonic()
    findings = [*watch.findings, *journal.findings(there, now), *(each for one in clients for each in one.findings)]
    findings += [*unheard(reader, journal.waiters)]
    statuses = sum((each.statuses for each in clients), Counter[tuple[str, int]]())
    print("; ".join(f"{name} {status or 'lost'}: {number}" for (name, status), number in sorted(statuses.items())))
    print(
        f"{statuses.total()} requests, {handed_over(clients)} handed over, {watch.looks} looks; {dict(stage.happened)}"
    )
    print(*findings, sep="\n")
    assert findings == []
    assert [failure for each in clients for failure in each.failures] == []
    # After two sweeps no claim waits while a machine that fits is free: the audit says so.
    wait_until(lambda: run(tmp_path, "db", "check", *stage.database).stdout == "ok\n", "db check to find nothing")


def handed_over(clients: list[WaitingClient]) -> int:
    """Return how many claims got their machine after they had waited."""
    waiters = [waiter for each in clients for waiter in [*each.journal.waiters]]
    return sum(bool(waiter.machine and waiter.last_seen_waiting) for waiter in waiters)


def unheard(reader: EventReader, waiters: list[Waiter]) -> Iterator[str]:
    """Yield acknowledged changes of claims that have no event, or more than one."""
    for waiter in waiters:
        waited = reader.heard["scheduling.claim.waiting", waiter.uuid, waiter.uuid]
        if waited != 1 and waiter.last_seen_waiting:
            yield f"claim {waiter.uuid} waited, with {waited} events"
        claimed, released = (reader.of_machine(what, waiter.machine, waiter.uuid) for what in ("claimed", "released"))
        if waiter.machine and (claimed != 1 or (released != 1 and waiter.gone)):
            yield f"claim {waiter.uuid} had machine {waiter.machine}: {claimed} and {released} events; {waiter}"
