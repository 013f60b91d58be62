"""Several conductors as processes of their own: who owns which node, and what happens when one goes."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.hashring import ring_of
from tests.processes import Client, Program, conductor, serve
from tests.waiting import wait_until

#: Seconds; a process that is alive may get no time on a busy machine for some of them.
TIMEOUT = 4

#: How late what is measured may be.
LATE = 6

SETTINGS = {"conductor": {"heartbeat_interval": 0.2, "heartbeat_timeout": TIMEOUT}}
HOSTS = {"c1": "", "c2": "", "c3": "rack1"}
NODES = 40


class Site:
    """The service without a conductor of its own, conductors beside it, and nodes."""

    def __init__(self, folder: Path, database_url: str, stack: ExitStack) -> None:
        self._folder = folder
        self._database = ("--database", database_url)
        self._stack = stack
        _, url = stack.enter_context(serve(folder, "--without-conductor", *self._database, settings=SETTINGS))
        self.client = stack.enter_context(Client(url))

    def start(self, host: str, **settings: dict[str, Any]) -> Program:
        """Start the conductor ``host`` in its group."""
        options = ("--group", HOSTS[host], *self._database)
        return self._stack.enter_context(conductor(self._folder, host, *options, settings={**SETTINGS, **settings}))

    def alive(self) -> dict[str, bool]:
        """Who is alive, by host name."""
        conductors = self._get("/conductors")["conductors"]
        assert all(row["conductor_group"] == HOSTS[row["hostname"]] for row in conductors)
        return {row["hostname"]: row["alive"] for row in conductors}

    def owners(self) -> dict[str, str | None]:
        """The conductor of each node, by UUID."""
        return {node["uuid"]: node["conductor"] for node in self._get("/nodes?fields=uuid,conductor")["nodes"]}

    def create(self, group: str) -> str:
        """Enrol a node; returns its UUID."""
        response = self.client.baremetal("POST", "/nodes", {"driver": "fake-hardware", "conductor_group": group})
        assert response.status_code == 201, response.text
        uuid: str = response.json()["uuid"]
        return uuid

    def _get(self, path: str) -> Any:
        response = self.client.baremetal("GET", path)
        assert response.status_code == 200, response.text
        return response.json()


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Iterator[Site]:
    """The service over ``database_url``, still without any conductor."""
    with ExitStack() as stack:
        yield Site(tmp_path, database_url, stack)


def test_owners_follow_the_living(site: Site) -> None:
    """Nodes are owned as the ring over the living of their group says; who is killed is down within the time-out and a
    tick and its group is without an owner; who stops is down at once, and those who stay take over."""
    running = {host: site.start(host) for host in HOSTS}
    rack1 = [site.create("rack1") for _ in range(NODES // 4)]
    loose = [site.create("") for _ in range(NODES - len(rack1))]
    assert site.alive() == {"c1": True, "c2": True, "c3": True}
    assert site.owners() == owned(loose, "c1", "c2") | owned(rack1, "c3")

    running["c3"].process.kill()
    died = time.monotonic()
    wait_until(lambda: not site.alive()["c3"], "c3 to be down", seconds=TIMEOUT + LATE)
    assert time.monotonic() - died >= TIMEOUT - 1
    orphans: dict[str, str | None] = dict.fromkeys(rack1)
    assert site.owners() == owned(loose, "c1", "c2") | orphans
    assert site.alive() == {"c1": True, "c2": True, "c3": False}

    asked = time.monotonic()
    running["c2"].process.terminate()
    wait_until(lambda: not site.alive()["c2"], "c2 to be down", seconds=TIMEOUT - 1)
    assert site.owners() == owned(loose, "c1") | orphans
    assert time.monotonic() - asked < TIMEOUT - 1, "that is as slow as a crash"
    assert running["c2"].process.wait(10) == 0
    assert site.alive() == {"c1": True, "c2": False, "c3": False}

    site.start("c3")
    assert site.owners() == owned(loose, "c1") | owned(rack1, "c3")


def test_stop_while_working(site: Site) -> None:
    """Who is told to stop leaves the living at once, finishes the work that it has begun, and only then ends."""
    leaving = site.start("c3", fake={"power_delay": TIMEOUT})
    node = f"/nodes/{site.create('rack1')}"
    assert site.client.baremetal("PUT", f"{node}/states/power", {"target": "power on"}).status_code == 202
    time.sleep(0.5)  # it looks for work five times a second, and then works for four

    leaving.process.terminate()
    wait_until(lambda: not site.alive()["c3"], "c3 to be down", seconds=TIMEOUT - 1)
    assert leaving.process.poll() is None
    assert leaving.process.wait(10) == 0
    shown = site.client.baremetal("GET", node).json()
    assert (shown["power_state"], shown["target_power_state"]) == ("power on", None)
    assert (shown["reservation"], shown["last_error"], shown["conductor"]) == (None, None, None)


def owned(nodes: list[str], *hosts: str) -> dict[str, str | None]:
    """Who should own the nodes when ``hosts`` are the living of their group."""
    ring = ring_of(frozenset(hosts))
    return {node: ring.owner(node) for node in nodes}
