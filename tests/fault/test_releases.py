"""This release beside the next one, a copy of it that has one migration more, and beside an older one, under load.

FAULT_SECONDS says for how long there is load before and after the upgrade (3). FAULT_OLDER names the older release's
commit.
"""

import io
import os
import random
import shutil
import subprocess
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from baremetal_sched.db import schema
from baremetal_sched.db.engine import database_url as normal_url
from tests.fault.journal import Journal
from tests.fault.site import GROUPS, Site
from tests.fault.test_conductors import UNSETTLED, report, settle
from tests.fault.waiting_groups import SETTINGS, WaitingGroups
from tests.processes import BAREMETAL_SCHED, Client, conductor, program, serve
from tests.waiting import START, wait_until

SECONDS = float(os.environ.get("FAULT_SECONDS", "3"))
WRITERS = 8
NODES = 16
ROOT = Path(__file__).parents[2]
NEXT = f"{int(schema.head()) + 1:04}"
OLDER = os.environ.get("FAULT_OLDER", "fe463c9f")

#: It keeps something for speed of which this release knows nothing: how many traits each provider has.
MIGRATION = f'''
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{schema.head()}"
served_since = "SINCE"


def upgrade() -> None:
    op.add_column("resource_providers", sa.Column("trait_count", sa.Integer(), nullable=False, server_default="0"))
    own = "SELECT COUNT(*) FROM provider_traits WHERE provider_id = resource_providers.id"
    op.execute(f"UPDATE resource_providers SET trait_count = ({{own}})")


def downgrade() -> None:
    op.drop_column("resource_providers", "trait_count")
'''

#: Written by a release that does not keep that.
STALE = """
SELECT COUNT(*) FROM resource_providers WHERE trait_count <>
    (SELECT COUNT(*) FROM provider_traits WHERE provider_id = resource_providers.id)
"""


class Load:
    """Writers through one URL: the traits of nodes, and maintenance. ``answers`` are statuses with their times."""

    def __init__(self, url: str) -> None:
        self.answers: list[tuple[float, int]] = []
        self._url = url
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator["Load"]:
        """While it is running."""
        with ThreadPoolExecutor(WRITERS) as pool:
            writers: list[Future[None]] = [pool.submit(self._write, number) for number in range(WRITERS)]
            try:
                yield self
            finally:
                self._stop.set()
        for writer in writers:
            writer.result()

    def statuses(self, since: float = 0.0) -> Counter[int]:
        """Statuses of the requests that began at ``since`` (monotonic) or later."""
        return Counter(status for began, status in self.answers if began >= since)

    def _write(self, number: int) -> None:
        dice = random.Random(number)
        with Client(self._url) as client:
            while not self._stop.is_set():
                node = f"n{dice.randrange(NODES)}"
                traits = dice.sample(["CUSTOM_A", "CUSTOM_B", "CUSTOM_C", "HW_CPU_X86_VMX"], dice.randint(0, 4))
                began = time.monotonic()
                if dice.random() < 0.8:
                    response = client.baremetal("PUT", f"/nodes/{node}/traits", {"traits": traits})
                else:
                    response = client.baremetal(dice.choice(["PUT", "DELETE"]), f"/nodes/{node}/maintenance")
                self.answers.append((began, response.status_code))
                if response.status_code == 503:
                    time.sleep(0.05)


@pytest.fixture
def ahead(tmp_path: Path) -> Path:
    """A folder with a copy of this release; commands that are started there are the copy's."""
    folder = tmp_path / "ahead"
    for part in ("baremetal_sched", "migrations"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def add_migration(ahead: Path, since: str) -> None:
    """Give the copy one migration more; ``since`` is the oldest release that can serve what comes of it."""
    (ahead / "migrations" / "versions" / f"{NEXT}_next.py").write_text(MIGRATION.replace("SINCE", since))


def db(folder: Path, *arguments: str) -> str:
    """``baremetal-sched db`` of the release in ``folder``, which must work; returns what it printed."""
    with program((*BAREMETAL_SCHED, "db", *arguments), folder, f"db-{arguments[0]}") as running:
        assert running.process.wait(START) == 0, running.output + running.log
        return running.output


def scalar(database_url: str, query: str) -> Any:
    """The result of a query."""
    engine = create_engine(normal_url(database_url))
    with engine.connect() as connection:
        found = connection.scalar(text(query))
    engine.dispose()
    return found


def create_nodes(url: str) -> None:
    """The nodes that are written."""
    with Client(url) as client:
        for number in range(NODES):
            body = {"driver": "fake-hardware", "name": f"n{number}"}
            response = wait_until(lambda body=body: created(client.baremetal("POST", "/nodes", body)), "a node")
            assert response.status_code == 201, response.text


def created(response: Any) -> Any:
    """The response, or None while there is no conductor yet."""
    return None if response.status_code in (400, 503) else response


def test_an_upgrade_that_needs_a_stop(database_url: str, tmp_path: Path, ahead: Path) -> None:
    """The older release refuses from before the migration on, although nothing stops it, and writes nothing after."""
    add_migration(ahead, NEXT)
    with serve(tmp_path, "--workers", "2", "--database", database_url) as (older, url):
        create_nodes(url)
        with Load(url).running() as load:
            time.sleep(SECONDS)
            db(ahead, "upgrade", "--database", database_url)
            upgraded = time.monotonic()
            time.sleep(SECONDS)
        before, after = load.statuses() - load.statuses(upgraded), load.statuses(upgraded)
        assert before[204] > WRITERS
        assert set(load.statuses()) <= {200, 202, 204, 409, 503}, load.statuses()
        assert set(after) == {503}, after
        assert scalar(database_url, STALE) == 0
        with Client(url) as client:
            assert client.healthcheck().json()["checks"]["schema"] == f"at {NEXT}, needs {schema.head()}"
        with serve(ahead, "--database", database_url) as (_, newer_url), Client(newer_url) as client:
            assert client.baremetal("GET", "/nodes").status_code == 200
            assert db(ahead, "check", "--database", database_url) == "ok\n"
        assert older.process.poll() is None, "it waits; it does not die"


def test_an_upgrade_that_needs_no_stop(database_url: str, tmp_path: Path, ahead: Path) -> None:
    """Both releases serve, before, during and after it, and what both keep stays right."""
    if database_url.startswith("sqlite"):
        pytest.skip("serve finishes the upgrade of a SQLite file: no other host serves it")
    add_migration(ahead, schema.head())
    with serve(tmp_path, "--workers", "2", "--database", database_url) as (_, url):
        create_nodes(url)
        with Load(url).running() as load:
            time.sleep(SECONDS)
            db(ahead, "upgrade", "--database", database_url)
            with (
                serve(ahead, "--without-conductor", "--database", database_url) as (_, newer_url),
                Load(newer_url).running() as newer_load,
            ):
                time.sleep(SECONDS)
                wait_until(lambda: newer_load.statuses()[204] > WRITERS, "the newer release to write")
        assert set(load.statuses() + newer_load.statuses()) <= {200, 202, 204, 409}, load.statuses()
    assert db(tmp_path, "check", "--database", database_url) == "ok\n"
    assert db(ahead, "check", "--database", database_url) == "ok\n"
    assert scalar(database_url, "SELECT version_num FROM alembic_version") == NEXT
    with serve(tmp_path, "--database", database_url):
        pass  # the older release can be started again


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A folder with the older release; skips the test if its commit is not here."""
    folder = tmp_path / "older"
    folder.mkdir()
    archived = subprocess.run(["git", "archive", OLDER, "baremetal_sched", "migrations"], cwd=ROOT, capture_output=True)
    if archived.returncode:
        pytest.skip(f"commit {OLDER} is not in this repository: {archived.stderr.decode()}")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def upgrade_from(older: Path, newer: Path, database_url: str) -> None:
    """Let the database be that of the older release, upgraded to the newer one while the older one may still run."""
    if database_url.startswith("sqlite"):
        pytest.skip("no other host serves a SQLite file")
    for folder, *command in ((newer, "downgrade", "--yes", "base"), (older, "upgrade"), (newer, "upgrade")):
        db(folder, *command, "--database", database_url)


@pytest.mark.parametrize("api", ["older", "newer"])
def test_conductors_of_both_releases(
    api: str, database_url: str, tmp_path: Path, older: Path, subtests: pytest.Subtests
) -> None:
    """Conductors of an older release and of this one deploy and clean, and take over from each other when one is
    stopped or killed. The nodes of ``rack2`` belong to the release that the API is not of."""
    upgrade_from(older, tmp_path, database_url)
    releases = {"c1": older, **({"api": older} if api == "older" else {"c3": older})}
    with ExitStack() as stack:
        site = Site(tmp_path, database_url, stack, None, releases, {"fake": {"deploy_delay": 0.5}})
        site.start(*GROUPS)
        tenants, happened = site.enrol(NODES), Counter[str]()
        until = time.monotonic() + SECONDS
        with site.busy(tenants, 0.05):
            faults = cycle(product((site.stop, site.kill, site.suspend), ("c1", "c2")))
            for number, (happen, host) in enumerate(faults):
                if number >= 6 and time.monotonic() > until:
                    break
                wait_until(lambda host=host: site.is_deploying(host), f"{host} to deploy")
                happen(host)
                happened[f"{happen.__name__} {host}"] += 1
        wait_until(lambda: site.scalar(UNSETTLED) == 0, "all work to be done", seconds=START)
        settle(site, tenants)
        journal = Journal(site.all_lives)
        report(site, tenants, journal, happened)
    for failures in ([failure for tenant in tenants for failure in tenant.failures], journal.findings()):
        with subtests.test():
            assert not failures, failures[:5]
    for folder in (tmp_path, older):
        with subtests.test(folder=folder.name):
            assert db(folder, "check", "--database", database_url) == "ok\n"


def test_groups_wait_while_both_releases_serve(database_url: str, tmp_path: Path, older: Path) -> None:
    """Claims of several machines and servers of server groups wait through each release, and get the machines that are
    given back through each."""
    upgrade_from(older, tmp_path, database_url)
    database = ("--database", database_url)
    with ExitStack() as stack:
        clients = []
        for folder, host in ((older, "c1"), (tmp_path, "c2")):
            _, url = stack.enter_context(serve(folder, "--without-conductor", *database, settings=SETTINGS))
            stack.enter_context(conductor(folder, host, *database, settings=SETTINGS))
            clients.append(stack.enter_context(Client(url)))
        groups, findings = WaitingGroups(url, clients[0]), list[str]()
        until = time.monotonic() + SECONDS
        for number, (asks, frees) in enumerate(cycle(product(clients, clients))):
            if number >= 4 and time.monotonic() > until:
                break
            findings += groups.turn(asks, frees)
    assert findings == []
    for folder in (tmp_path, older):
        assert db(folder, "check", *database) == "ok\n"
