"""Nodes, images, allocations of both kinds and servers are made and deleted, and everything is killed meanwhile.

Clients delete what others have just made, claim and boot what others delete. What was acknowledged is so in the end,
what was refused is not, and what is not known has happened or not, as a whole: a node that is held is never deleted
(unless in maintenance), and none is held by two.

FAULT_SECONDS says for how long (each kill once by default). If it is said, PostgreSQL and MariaDB are servers of this
test's own, which crash too.
"""

from collections import Counter
from pathlib import Path

from tests.fault import machines
from tests.fault.lifetimes import DELETE, KINDS, MAKE, NODE, Lifetimes, Line, Outcome, counts
from tests.fault.makers import Maker, Yard, left
from tests.fault.test_claims import HELD_BY_ANOTHER
from tests.fault.test_servers import SERVER_ON_TWO, settle
from tests.fault.troubles import Stage, busy, repeated
from tests.fault.watching import DOUBLY_HELD, watched
from tests.processes import Client, run
from tests.waiting import wait_until

_MAKERS = 6
#: Claims and servers of nodes that are gone.
ON_NO_NODE = """
SELECT c.uuid, p.uuid FROM consumers c JOIN allocations a ON a.consumer_id = c.id
JOIN resource_providers p ON p.id = a.provider_id WHERE NOT EXISTS (SELECT 1 FROM nodes n WHERE n.uuid = p.uuid)
"""


def test_what_was_deleted_stays_deleted_and_nothing_else_is(stage: Stage, tmp_path: Path) -> None:
    with Client(stage.url) as client:
        yard = Yard(machines.flavor(client))
    makers = [Maker(number, yard) for number in range(_MAKERS)]
    with watched(stage.database[1], DOUBLY_HELD, HELD_BY_ANOTHER, SERVER_ON_TWO, ON_NO_NODE) as watch:
        with repeated(lambda: machines.repair(stage.url), 0.5), busy(makers, [stage.url]):
            stage.go_wrong(stage.kills(), 1)
            wait_until(lambda: has_seen_all(lines_of(makers)), "each kind of thing to be made and deleted")
        lines = lines_of(makers)
        journal = Lifetimes(lines)
        with Client(stage.url) as client:
            settle(client)
            there = left(client, journal)
    report(makers, lines, stage.happened)
    findings = [*watch.findings, *journal.findings(there)]
    print(f"{len(there)} things left, {watch.looks} looks, served again in {stage.slowest_recovery:.2f} s")
    print(*findings, sep="\n")
    assert findings == []
    assert [failure for maker in makers for failure in maker.failures] == []
    audited = run(tmp_path, "db", "check", *stage.database)
    assert (audited.returncode, audited.stdout) == (0, "ok\n"), audited.stdout


def lines_of(makers: list[Maker]) -> list[Line]:
    """The answers to all clients so far."""
    return [line for maker in makers for line in [*maker.lines]]


def has_seen_all(lines: list[Line]) -> bool:
    """Was each kind of thing made and deleted, and a node not deleted, as it was held?"""
    expected = {(kind, act, Outcome.ACKNOWLEDGED) for kind in KINDS for act in (MAKE, DELETE)}
    return counts(lines).keys() >= expected | {(NODE, DELETE, Outcome.REFUSED)}


def report(makers: list[Maker], lines: list[Line], happened: Counter[str]) -> None:
    """Print the numbers."""
    for (kind, act, outcome), number in sorted(counts(lines).items()):
        print(f"{number:8} {act} {kind}: {outcome}")
    statuses = sum((maker.statuses for maker in makers), Counter[tuple[str, int]]())
    print("; ".join(f"{name} {status or 'lost'}: {number}" for (name, status), number in sorted(statuses.items())))
    print(f"{statuses.total()} requests; {dict(happened)}")
