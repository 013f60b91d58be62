"""Conductors that are killed, suspended and stopped while nodes are provisioned, and a database that dies meanwhile.

In the end no node is stuck, none was worked on by two conductors at once, every orphan was owned again in time, nothing
that was confirmed is lost, nodes and providers agree, and a reader of the events knows all that is there.

FAULT_SECONDS says for how long (one round by default), FAULT_NODES on how many nodes (30): 600 and 1000 for the real
thing, which is ``tox -e fault``. PostgreSQL and MariaDB are servers of this test's own.
"""

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

import pytest

from tests.conftest import SERVERS as CONFIGURED
from tests.databases import make_empty
from tests.fault.event_reader import following
from tests.fault.journal import Journal
from tests.fault.servers import SERVERS, Server, server
from tests.fault.site import GROUPS, SECONDS, Site
from tests.fault.tenants import Tenant
from tests.processes import run
from tests.waiting import START, wait_until

NODES = int(os.environ.get("FAULT_NODES", "30"))
#: What a tenant waits between two requests.
PAUSE = 0.05

UNSETTLED = """
SELECT (SELECT COUNT(*) FROM node_work) + (SELECT COUNT(*) FROM nodes WHERE reservation IS NOT NULL)
     + (SELECT COUNT(*) FROM nodes WHERE provision_state LIKE '%ing' OR provision_state LIKE '%wait%')
"""


@pytest.fixture(params=["sqlite", *SERVERS])
def site(request: pytest.FixtureRequest, sqlite_template: Path, tmp_path: Path) -> Iterator[Site]:
    """A site, on a database whose server may be killed if there is one and its programs are here."""
    kind: str = request.param
    configured = [url for url in CONFIGURED if url.startswith(kind)]
    with ExitStack() as stack:
        mine: Server | None = None
        if kind == "sqlite":
            url = f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'fault.sqlite')}"
        elif SERVERS[kind].is_installed():
            mine = stack.enter_context(server(kind))
            url = mine.url
        elif configured:
            url = configured[0]
        else:
            pytest.skip(f"{kind} is not installed")
        if kind != "sqlite":
            make_empty(url)
        yield Site(tmp_path, url, stack, mine)


def faults(site: Site) -> Iterator[tuple[str, Callable[[], None]]]:
    """The sequence of events: every fault to every conductor, and in each round to the database."""
    kinds = [site.kill, site.suspend, site.stop]
    if site.is_embedded:  # who is suspended while he writes keeps the file locked
        kinds.remove(site.suspend)
    for turn in count():
        for number, host in enumerate(GROUPS):
            kind = kinds[(number + turn) % len(kinds)]
            yield f"{kind.__name__} {host}", partial(kind, host)
        if site.server is not None:
            down = (1.0, site.heartbeat_timeout + 1)[turn % 2]
            yield f"database down for {down} s", partial(site.restart_database, down)


def test_nothing_is_stuck_doubled_or_lost(site: Site, tmp_path: Path) -> None:
    site.start(*GROUPS)
    happened: Counter[str] = Counter()
    with following(site.url, site.database[1]):
        tenants = site.enrol(NODES)
        until, least = time.monotonic() + SECONDS, len(GROUPS) + (site.server is not None)
        with site.busy(tenants, PAUSE):
            for number, (name, happen) in enumerate(faults(site)):
                if number >= least and time.monotonic() > until:
                    break
                print(f"{datetime.now(UTC):%H:%M:%S} {name}", flush=True)
                happen()
                happened[name] += 1
        wait_until(lambda: site.scalar(UNSETTLED) == 0, "all work to be done", seconds=START)
        settle(site, tenants)
    journal = Journal(site.all_lives)
    report(site, tenants, journal, happened)

    failures = [failure for tenant in tenants for failure in tenant.failures]
    assert not failures, failures[:5]
    assert not journal.findings(), journal.findings()[:5]
    assert '"level": "error"' not in site.api.log
    audit = run(tmp_path, "db", "check", *site.database)
    assert (audit.returncode, audit.stdout) == (0, "ok\n"), audit.stdout
    # That was not for nothing.
    assert journal.steps > NODES
    assert all(tenant.confirmed for tenant in tenants)


def settle(site: Site, tenants: list[Tenant]) -> None:
    """Every node can still be made available; what was written is looked for."""
    with ThreadPoolExecutor(len(tenants)) as threads:
        list(threads.map(lambda tenant: tenant.check_writes(site.url), tenants))
        list(threads.map(lambda tenant: tenant.go_home(site.url, START + NODES), tenants))


def report(site: Site, tenants: list[Tenant], journal: Journal, happened: Counter[str]) -> None:
    """Print the numbers."""
    statuses = sum((tenant.statuses for tenant in tenants), Counter[tuple[str, int]]())
    for (name, status), number in sorted(statuses.items()):
        print(f"{number:8} {name} {status}")
    print(f"{journal.pieces} pieces of work, {journal.lost} of them fenced off in time, {journal.steps} steps")
    print(f"{happened.total()} faults: {dict(happened)}")
    for what, seconds in sorted(site.seconds.items()):
        print(f"{what}: {len(seconds)} times, after {median(seconds):.2f} s, {max(seconds):.2f} s at the most")
