"""The time of changing a node, and of other requests while some wait: ``python -m tests.benchmarks.waiting``.

A served process with its conductor, on each database in turn. Power and provision changes are asked for one at a time,
each of a node of its own. Lists of nodes are asked for one at a time too: while nothing else is asked for, and while
other requests wait for nodes that are locked, or for drivers whose conductor has died. Times are those of the
client, in milliseconds.

The databases are emptied.
"""

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import click
import requests
from sqlalchemy import MetaData, update

from baremetal_sched.db.models import Node
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load
from tests.processes import Client, Program, conductor, serve
from tests.waiting import wait_until

URLS = ("sqlite", "postgresql://postgres@127.0.0.1/bench_waiting", "mariadb://root@127.0.0.1/bench_waiting")

CONDUCTOR = "c1"

#: Nodes in the list.
LISTED = 100

#: What is asked of nodes, by title: the state that they must be in, the path below the node, and the body.
CHANGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "PUT states/power": ("manageable", "/states/power", {"target": "power on"}),
    "PUT states/provision clean": (
        "manageable",
        "/states/provision",
        {"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset"}]},
    ),
    "PUT states/provision active": ("available", "/states/provision", {"target": "active"}),
}


def enroll(client: Client, state: str, count: int) -> list[str]:
    """Return the UUIDs of new nodes in this state."""

    def reach(verb: str, wanted: str) -> None:
        for uuid in uuids:
            answer = client.baremetal("PUT", f"/nodes/{uuid}/states/provision", {"target": verb})
            assert answer.status_code == 202, answer.text
        for uuid in uuids:
            path = f"/nodes/{uuid}?fields=provision_state"
            wait_until(lambda: client.baremetal("GET", path).json()["provision_state"] == wanted, wanted)  # noqa: B023

    body = {"driver": "fake-hardware", "properties": {"cpu_arch": "x86_64"}}
    created = [client.baremetal("POST", "/nodes", body) for _ in range(count)]
    uuids: list[str] = [answer.json()["uuid"] for answer in created]
    if state != "enroll":
        reach("manage", "manageable")
    if state == "available":
        reach("provide", "available")
    return uuids


def timed(ask: Callable[[], requests.Response], status: int) -> float:
    """Return the milliseconds until the answer is there, which must have this status."""
    began = time.perf_counter()
    answer = ask()
    taken = (time.perf_counter() - began) * 1000
    assert answer.status_code == status, answer.text
    return taken


def measure_changes(client: Client, title: str, rounds: int) -> list[float]:
    """Return how long each change took. The next one is asked for when the node is at rest."""
    state, path, body = CHANGES[title]
    taken = []
    for uuid in enroll(client, state, rounds):
        taken.append(timed(lambda: client.baremetal("PUT", f"/nodes/{uuid}{path}", body), 202))  # noqa: B023
        shown = f"/nodes/{uuid}?fields=reservation"
        wait_until(lambda: client.baremetal("GET", shown).json()["reservation"] is None, "the end")  # noqa: B023
    return taken


def measure_lists(client: Client, seconds: float) -> list[float]:
    """Return how long each list took, asked for again and again for some time."""
    until = time.monotonic() + seconds
    taken = []
    while not taken or time.monotonic() < until:
        taken.append(timed(lambda: client.baremetal("GET", f"/nodes?limit={LISTED}"), 200))
        time.sleep(0.02)
    return taken


@contextmanager
def locked(connection: str, uuids: list[str]) -> Iterator[None]:
    """Within this the nodes are reserved for their conductor."""
    database = Database(load(overrides={"database": {"connection": connection}}))

    def reserve(holder: str | None) -> None:
        statement = update(Node).where(Node.uuid.in_(uuids)).values(reservation=holder)
        database.write(lambda session: session.execute(statement))

    reserve(CONDUCTOR)
    try:
        yield
    finally:
        reserve(None)
        database.dispose()


@contextmanager
def without(running: Program) -> Iterator[None]:
    """From now on there is no conductor, and none has been missed yet, so nobody answers what drivers are asked."""
    running.process.kill()
    yield


@contextmanager
def waiting(
    url: str, asks: list[Callable[[Client], requests.Response]], reason: AbstractContextManager[None]
) -> Iterator[None]:
    """Requests wait for this reason, each on a connection of its own; whoever is answered asks again."""
    stopped, statuses = threading.Event(), Counter[int]()

    def repeat(ask: Callable[[Client], requests.Response]) -> None:
        with Client(url) as client:
            while not stopped.is_set():
                statuses[ask(client).status_code] += 1
                stopped.wait(0.1)

    with ThreadPoolExecutor(len(asks)) as threads:
        with reason:
            running = [threads.submit(repeat, ask) for ask in asks]
            time.sleep(1)
            yield
            stopped.set()
        for each in running:
            each.result()
    assert set(statuses) <= {200, 202, 409, 503}, statuses


def switch_on(uuid: str) -> Callable[[Client], requests.Response]:
    """Return what asks for a change of the node."""
    return lambda client: client.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"})


def ask_driver(uuid: str) -> Callable[[Client], requests.Response]:
    """Return what asks the driver of the node something."""
    return lambda client: client.baremetal("GET", f"/nodes/{uuid}/management/boot_device/supported")


def empty(connection: str) -> None:
    """Drop all tables."""
    engine = Database(load(overrides={"database": {"connection": connection}})).engine
    found = MetaData()
    found.reflect(engine)
    found.drop_all(engine)
    engine.dispose()


def measure(connection: str, folder: Path, rounds: int, waiters: int, seconds: float) -> dict[str, list[float]]:
    """Return milliseconds, by title."""
    settings = {"database": {"connection": connection}, "conductor": {"answer_timeout": 20}}
    taken = {}
    with (
        serve(folder, "--without-conductor", settings=settings) as (_, url),
        conductor(folder, CONDUCTOR, settings=settings) as running,
        Client(url) as client,
    ):
        titles = [title for title in CHANGES for _ in range(2)]  # the first ones find caches cold
        for title in titles:
            taken[title] = measure_changes(client, title, rounds)
        uuids = enroll(client, "manageable", waiters)
        measure_lists(client, 2)
        taken["GET nodes, idle"] = measure_lists(client, seconds)
        with waiting(url, [switch_on(uuid) for uuid in uuids], locked(connection, uuids)):
            taken[f"GET nodes, {waiters} wait for nodes"] = measure_lists(client, seconds)
        with waiting(url, [ask_driver(uuid) for uuid in uuids], without(running)):
            taken[f"GET nodes, {waiters} wait for drivers"] = measure_lists(client, seconds)
    return taken


def report(title: str, taken: list[float]) -> str:
    """Return a line with median and 95th percentile."""
    ordered = sorted(taken)
    percentile = ordered[-(-95 * len(ordered) // 100) - 1]
    return f"{title:34} median {median(ordered):9.1f}  p95 {percentile:9.1f}  ({len(ordered)})"


@click.command(help=__doc__)
@click.option("--database", "connections", multiple=True, default=URLS, show_default=True, help="URL, or sqlite.")
@click.option("--rounds", default=30, show_default=True, help="How often each change is asked for.")
@click.option("--waiters", default=32, show_default=True, help="Requests that wait at the same time.")
@click.option("--seconds", default=15.0, show_default=True, help="For how long lists are asked for.")
def main(connections: tuple[str, ...], rounds: int, waiters: int, seconds: float) -> None:
    for connection in connections:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            print(connection.partition(":")[0])
            if connection == "sqlite":
                connection = f"sqlite:///{folder}/bench.sqlite"
            else:
                empty(connection)
            with redirect_stdout(StringIO()):  # the end of the log
                found = measure(connection, folder, rounds, waiters, seconds)
            for title, taken in found.items():
                print(" ", report(title, taken), flush=True)


if __name__ == "__main__":
    main()
