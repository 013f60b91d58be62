"""Claims through both APIs, beside everything else that changes machines, and everything that goes wrong meanwhile.

Clients claim the same few machines, whole and in parts, move their claims, change, replace and maintain machines, and
hang providers below them. Workers of the API are killed, its database falls silent or crashes, other sessions hold
locks, conductors are killed or started twice. No machine is ever held by two consumers, nothing that was confirmed is
lost, and the audit finds nothing. A reader of the events hears of each change once, and knows in the end what is there.

FAULT_SECONDS says for how long (each trouble once by default), FAULT_CLAIMANTS how many clients (6). If it is said,
PostgreSQL and MariaDB are servers of this test's own, which crash too.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.fault.claim_journal import ClaimJournal
from tests.fault.claimants import Claimant
from tests.fault.event_reader import EventReader, following
from tests.fault.fleet import Fleet
from tests.fault.troubles import SECONDS, Stage, busy
from tests.fault.watching import DOUBLY_HELD, watched
from tests.processes import Client, run
from tests.waiting import wait_until

CLAIMANTS = int(os.environ.get("FAULT_CLAIMANTS", "6"))

#: What clients do all the time, and what they do now and then.
OFTEN, RARELY = ("claim", "allocate", "release", "patch"), ("move", "maintenance", "remove", "re-parent", "cut off")

#: Nodes of a bare metal allocation that another consumer holds.
HELD_BY_ANOTHER = """
SELECT n.uuid, n.allocation_uuid, c.uuid FROM nodes n JOIN resource_providers root ON root.uuid = n.uuid
JOIN resource_providers p ON p.root_id = root.id JOIN allocations a ON a.provider_id = p.id
JOIN consumers c ON c.id = a.consumer_id WHERE n.allocation_uuid IS NOT NULL AND n.allocation_uuid <> c.uuid
"""


def test_no_machine_is_held_twice_and_nothing_is_lost(stage: Stage, tmp_path: Path) -> None:
    fleet = Fleet()
    with following(stage.url, stage.database[1]) as reader:
        with Client(stage.url) as client:
            fleet.enrol(client)
        claimants = [Claimant(number, fleet, CLAIMANTS) for number in range(CLAIMANTS)]
        with watched(stage.database[1], DOUBLY_HELD, HELD_BY_ANOTHER) as watch, busy(claimants, [stage.url]):
            stage.go_wrong(stage.quick_troubles(), 0.5)
            wait_until(lambda: not unseen(claimants, OFTEN), "each kind of request to succeed")
    journal = ClaimJournal([claimant.record for claimant in claimants])
    findings = [*watch.findings, *journal.findings(), *journal.missing(), *lost(stage.url, claimants, journal)]
    findings += [*unheard(reader, journal)]
    report(claimants, journal, stage.happened)
    print(f"{watch.looks} looks, live in {stage.slowest_live:.2f} s, served again in {stage.slowest_recovery:.2f} s")
    print(*findings, sep="\n")
    assert findings == []
    assert [failure for claimant in claimants for failure in claimant.failures] == []
    audited = run(tmp_path, "db", "check", *stage.database)
    assert (audited.returncode, audited.stdout) == (0, "ok\n"), audited.stdout
    # That was not for nothing.
    assert unseen(claimants, OFTEN + (RARELY if SECONDS >= 30 else ())) == []


def unseen(claimants: list[Claimant], kinds: tuple[str, ...]) -> list[str]:
    """Kinds of requests of which none has succeeded."""
    statuses = [each for claimant in claimants for each in list(claimant.statuses)]
    return [kind for kind in kinds if not any(name == kind and 200 <= status < 300 for name, status in statuses)]


def lost(url: str, claimants: list[Claimant], journal: ClaimJournal) -> Iterator[str]:
    """Confirmed claims that are missing in the end."""
    with Client(url) as client:
        for claimant in claimants:
            claimant.removed_by_anyone = frozenset(journal.removals)
            yield from claimant.check(client)
        for consumer, amounts in journal.certain():
            found = client.placement("GET", f"/allocations/{consumer}").json()["allocations"]
            held = {uuid: part["resources"] for uuid, part in found.items()}
            if held != amounts:
                yield f"consumer {consumer}: {amounts} was confirmed, {held} is there"


def unheard(reader: EventReader, journal: ClaimJournal) -> Iterator[str]:
    """Yield machines that a consumer got more often, as was confirmed, than events say."""
    got = Counter((hold.machine, hold.consumer) for record in journal.records for hold in record.holds)
    for (machine, consumer), times in got.items():
        if reader.of_machine("claimed", machine, consumer) < times:
            yield f"consumer {consumer} got machine {machine} {times} times, and an event is missing"


def report(claimants: list[Claimant], journal: ClaimJournal, happened: Counter[str]) -> None:
    """Print the numbers."""
    statuses = sum((claimant.statuses for claimant in claimants), Counter[tuple[str, int]]())
    for (name, status), number in sorted(statuses.items()):
        print(f"{number:8} {name} {status or 'lost'}")
    grants = sum(len(record.grants) for record in journal.records)
    acknowledged = sum(record.acknowledged for record in journal.records)
    print(
        f"{statuses.total()} requests, {acknowledged} writes confirmed, {grants} machines given out, "
        f"{len(journal.given_up)} consumers given up, {len(journal.removals)} nodes removed; {dict(happened)}"
    )
