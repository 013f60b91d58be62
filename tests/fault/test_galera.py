"""Claims on a Galera cluster of three, each API process at a server of its own, while servers are killed and suspended.

It runs if FAULT_GALERA=1, and for FAULT_SECONDS (each trouble once by default).
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from requests import RequestException
from sqlalchemy import create_engine, text

from baremetal_sched.db.models import Base
from tests.databases import make_empty
from tests.fault import galera, machines
from tests.fault.caller import Caller
from tests.fault.claim_journal import ClaimJournal
from tests.fault.claimants import Claimant
from tests.fault.fleet import GROUPS, Fleet
from tests.fault.test_claims import CLAIMANTS, HELD_BY_ANOTHER, lost, report
from tests.fault.test_waiting_claims import handed_over
from tests.fault.troubles import SECONDS, SETTINGS, busy
from tests.fault.waiters import WaitingClient, left
from tests.fault.waiting_journal import WaitingJournal
from tests.fault.watching import DOUBLY_HELD, watched
from tests.processes import Client, conductor, run, serve
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.skipif(os.environ.get("FAULT_GALERA") != "1", reason="takes minutes; FAULT_GALERA=1 runs it"),
]

#: How long a server is gone, and how long all of them are there.
_PAUSE = 8

#: Machines, clients that wait for them, and clients that hold them.
_MACHINES, _WAITING, _HOLDING = 4, 8, 2


@pytest.fixture
def nodes() -> Iterator[list[galera.Node]]:
    """A cluster with the schema."""
    if missing := galera.missing():
        pytest.skip(f"not installed: {missing}")
    with galera.cluster() as made:
        make_empty(made[0].url)
        yield made


@pytest.fixture
def urls(nodes: list[galera.Node], tmp_path: Path) -> Iterator[list[str]]:
    """URLs of API processes, one for each server; each of two conductors is at a server too."""
    with ExitStack() as stack:
        found = []
        for node in nodes:
            folder = tmp_path / f"api{node.number}"
            folder.mkdir()
            options = ("--without-conductor", "--database", node.url)
            found.append(stack.enter_context(serve(folder, *options, settings=SETTINGS))[1])
        for node, (host, group) in zip(nodes, GROUPS.items(), strict=False):
            options = ("--group", group, "--database", node.url)
            stack.enter_context(conductor(tmp_path, host, *options, settings=SETTINGS))
        yield found


def test_no_machine_is_held_twice_on_a_cluster(nodes: list[galera.Node], urls: list[str], tmp_path: Path) -> None:
    fleet = Fleet()
    with Client(urls[0]) as client:
        fleet.enrol(client)
    claimants = [Claimant(number, fleet, CLAIMANTS) for number in range(CLAIMANTS)]
    happened: Counter[str] = Counter()
    until = time.monotonic() + SECONDS
    with watched(nodes[0].url, DOUBLY_HELD, HELD_BY_ANOTHER) as watch, busy(claimants, urls):
        while not happened or time.monotonic() < until:
            time.sleep(_PAUSE)
            nodes[1].crash()
            time.sleep(_PAUSE)
            assert serves(urls[0])
            nodes[1].start()
            happened["server killed"] += 1
            time.sleep(_PAUSE)
            nodes[2].suspend()
            time.sleep(_PAUSE)
            assert serves(urls[0])
            nodes[2].resume()
            happened["server suspended"] += 1
            for url in urls:
                wait_until(lambda url=url: serves(url), "all API processes to serve again")
    for node in nodes:
        node.wait()
    journal = ClaimJournal([claimant.record for claimant in claimants])
    findings = [*watch.findings, *journal.findings(), *lost(urls[0], claimants, journal)]
    report(claimants, journal, happened)
    # A server that was suspended answers from what it knew, until it has learned what the others did meanwhile.
    print(f"{watch.looks} looks; {len(journal.missing())} times a consumer was not found that was there")
    print(*findings, sep="\n")
    assert findings == []
    assert [failure for claimant in claimants for failure in claimant.failures] == []
    try:
        wait_until(lambda: not differing(nodes), "all servers to have the same rows")
    except AssertionError:
        pytest.fail(f"after a minute these tables differ: {differing(nodes)}")
    for node in nodes:
        audited = run(tmp_path, "db", "check", "--database", node.url)
        assert (audited.returncode, audited.stdout) == (0, "ok\n"), audited.stdout


@dataclass
class HoldingClient(Caller):
    """Asserts holds of the machines and releases them."""

    nodes: list[str] = field(default_factory=list)

    def act(self) -> None:
        """Assert a hold of a machine, or release all that it has."""
        path = f"/nodes/{self._dice.choice(self.nodes)}/holds"
        if self._dice.random() < 0.5:
            self._call("hold", self._client.scheduling, "POST", path, {"type": "operator_hold"})
        else:
            self._call("release holds", self._client.scheduling, "DELETE", path)
        time.sleep(self._dice.random() / 4)


def test_nobody_is_overtaken_on_a_cluster(nodes: list[galera.Node], urls: list[str], tmp_path: Path) -> None:
    """Deadlocks between servers are lost races: ten clients wait, claim and hold, and none sees a 500."""
    fleet = machines.enrol(urls[0], _MACHINES, GROUPS.values())
    with Client(urls[0]) as client:
        for node in fleet[::2]:
            assert client.baremetal("PUT", f"/nodes/{node}/traits/CUSTOM_A").status_code == 204
    waiting = [WaitingClient(number) for number in range(_WAITING)]
    holding = [HoldingClient(_WAITING + number, nodes=fleet) for number in range(_HOLDING)]
    clients = [*waiting, *holding]
    until = time.monotonic() + SECONDS
    with watched(nodes[0].url, DOUBLY_HELD, HELD_BY_ANOTHER) as watch, busy(clients, urls):
        wait_until(lambda: handed_over(waiting) > _WAITING and time.monotonic() >= until, "hand-overs", SECONDS + 300)
    with Client(urls[0]) as client:
        for node in fleet:
            assert client.scheduling("DELETE", f"/nodes/{node}/holds").status_code in (204, 404)
        journal = WaitingJournal([waiter for each in waiting for waiter in each.journal.waiters])
        there = left(client, journal.waiters)
        now = time.monotonic()
    findings = [*watch.findings, *journal.findings(there, now), *(each for one in waiting for each in one.findings)]
    statuses = sum((each.statuses for each in clients), Counter[tuple[str, int]]())
    print("; ".join(f"{name} {status or 'lost'}: {number}" for (name, status), number in sorted(statuses.items())))
    print(f"{statuses.total()} requests, {handed_over(waiting)} handed over, {watch.looks} looks")
    print(*findings, sep="\n")
    assert findings == []
    assert [failure for each in clients for failure in each.failures] == []
    for node in nodes:
        checked = ("db", "check", "--database", node.url)
        wait_until(lambda checked=checked: run(tmp_path, *checked).stdout == "ok\n", "db check to find nothing")


def serves(url: str) -> bool:
    """Whether an API process writes and reads."""
    try:
        with Client(url) as client:
            changed = client.placement("PUT", "/resource_classes/CUSTOM_PROBE")
            return changed.ok and client.baremetal("GET", "/nodes?limit=1").ok
    except RequestException:
        return False


def differing(nodes: list[galera.Node]) -> dict[str, list[set[Any]]]:
    """The tables that have not the same rows everywhere, and for each server the rows that not all have."""
    first, *others = (contents(node.url) for node in nodes)
    found = {}
    for table, checksum in first.items():
        if any(other[table] != checksum for other in others):
            # A checksum of a table may differ although its rows do not.
            rows = [rows_of(node.url, table) for node in nodes]
            everywhere = set.intersection(*rows)
            if any(found_rows - everywhere for found_rows in rows):
                found[table] = [found_rows - everywhere for found_rows in rows]
            else:
                print(f"the checksums of {table} differ, its rows do not")
    return found


def contents(url: str) -> dict[str, int]:
    """Checksums of all tables but that of heartbeats."""
    tables = ", ".join(sorted(Base.metadata.tables.keys() - {"conductors"}))
    return {row[0].split(".")[1]: int(row[1]) for row in ask(url, f"CHECKSUM TABLE {tables}")}


def rows_of(url: str, table: str) -> set[tuple[Any, ...]]:
    """The rows of a table."""
    return {tuple(row) for row in ask(url, f"SELECT * FROM {table}")}


def ask(url: str, statement: str) -> list[Any]:
    """The rows that a statement brings."""
    engine = create_engine(url)
    with engine.connect() as connection:
        rows = [*connection.execute(text(statement))]
    engine.dispose()
    return rows
