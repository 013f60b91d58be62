"""The time of agents' heartbeats while their commands run: ``python -m tests.benchmarks.agents``.

A served process and a conductor of its own, on each database in turn. All machines are being deployed, and each has an
agent that executes a command for as long as this takes: each of its heartbeats makes the conductor ask it. Meanwhile
a client lists the nodes. Times are those of the clients, in milliseconds, from the moment when a call was due. The
agents are in the process of this program.

The databases are emptied.
"""

import json
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import click

from tests.benchmarks.waiting import empty, report
from tests.emulators.stub_agent import StubAgent
from tests.processes import Client, Program, conductor, serve
from tests.waiting import START, wait_until

URLS = ("sqlite", "postgresql://postgres@127.0.0.1/bench_agents")
SETTINGS: dict[str, dict[str, Any]] = {
    "inspection_rules": {"allow_loopback": True},
    "conductor": {"automated_clean": False, "sync_power_state_interval": 0},
}
#: Threads that send heartbeats: more than are ever answered at a time.
_THREADS = 24
_MOST = 100.0


class Agents:
    """Agents that execute a command each until the end. Agent ``number`` is at ``<url>/<number>``."""

    def __init__(self, count: int) -> None:
        self.stubs = [StubAgent() for _ in range(count)]
        self.url = ""
        #: How often they were asked for their commands.
        self.asked = 0
        for stub in self.stubs:
            stub.is_quick = False

    @contextmanager
    def serve(self) -> Iterator[None]:
        agents = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(self) -> None:
                _, number, path = self.path.split("/", 2)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
                agents.asked += self.command == "GET"
                self._answer(*agents.stubs[int(number)].handle(self.command, f"/{path}", body))

            do_GET = do_POST = _do  # noqa: N815 - their names are given

            def do_HEAD(self) -> None:
                """The image."""
                self._answer(200, b"")

            def _answer(self, status: int, content: bytes) -> None:
                head = f"HTTP/1.1 {status} .\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
                self.wfile.write(head.encode() + content)
                self.close_connection = True

            def log_message(self, *arguments: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    @property
    def at_work(self) -> int:
        """Return how many have a command."""
        return sum(bool(stub.names) for stub in self.stubs)


def address(number: int) -> str:
    """Return the MAC of a machine."""
    return f"52:54:00:00:{number // 256:02x}:{number % 256:02x}"


def deploy(client: Client, agents: Agents) -> list[bytes]:
    """Create the nodes, and deploy their machines; return the bodies of their agents' heartbeats."""
    image = {"image_source": f"{agents.url}/0/x.raw", "image_checksum": "0" * 64}
    names = [f"n{number}" for number in range(len(agents.stubs))]
    for number, name in enumerate(names):
        body = {"driver": "fake-hardware", "name": name, "deploy_interface": "direct", "instance_info": image}
        created = client.baremetal("POST", "/nodes", body)
        assert created.status_code == 201, created.text
        client.baremetal("POST", "/ports", {"node_uuid": created.json()["uuid"], "address": address(number)})
    for verb, state in (("manage", "manageable"), ("provide", "available"), ("active", "wait call-back")):
        for name in names:
            asked = client.baremetal("PUT", f"/nodes/{name}/states/provision", {"target": verb})
            assert asked.status_code == 202, asked.text
        path = f"/nodes?limit=1000&provision_state={state}"
        wait_until(lambda: len(client.baremetal("GET", path).json()["nodes"]) == len(names), state, seconds=START)  # noqa: B023
    return [json.dumps(_heartbeat(client, agents, number)).encode() for number in range(len(names))]


def _heartbeat(client: Client, agents: Agents, number: int) -> dict[str, str]:
    found = client.baremetal("GET", f"/lookup?addresses={address(number)}").json()
    token = found["config"]["agent_token"]
    return {"callback_url": f"{agents.url}/{number}", "agent_token": token, "agent_version": "13.0"}


def processor_seconds(program: Program) -> float:
    """Return what the processes of a program have taken so far."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == program.process.pid:  # the process group
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Clock:
    """Calls, each at its time, and what they took: those of the first ``settles`` seconds are not counted.

    A call that begins late, because no thread was free, has taken longer by that.
    """

    def __init__(self, settles: float, seconds: float) -> None:
        self._began = time.monotonic() + 0.5
        self._counts_from, self._ends = self._began + settles, self._began + settles + seconds
        self.statuses: Counter[int] = Counter()
        self.refusals: set[str] = set()

    def repeat(
        self, url: str, calls: list[Callable[[Client], Any]], interval: float, offset: float = 0.0
    ) -> list[float]:
        """Make all ``calls`` within each interval, evenly spread, the first after ``offset``; return milliseconds."""
        taken = []
        with Client(url) as client:
            for turn in range(10**9):
                due = self._began + offset + interval * turn / len(calls)
                if due > self._ends:
                    return taken
                time.sleep(max(0.0, due - time.monotonic()))
                answer = calls[turn % len(calls)](client)
                self.statuses[answer.status_code] += 1
                self.refusals |= {answer.text} if answer.status_code >= 400 else set()
                if due >= self._counts_from:
                    taken.append((time.monotonic() - due) * 1000)
        return taken


def measure(connection: str, folder: Path, count: int, interval: float, lists: int, seconds: float) -> dict[str, Any]:
    """Return milliseconds by title, how often agents were asked in a second, and what clients were answered."""
    settings = {**SETTINGS, "database": {"connection": connection}}
    agents = Agents(count)
    with ExitStack() as stack:
        stack.enter_context(agents.serve())
        served, url = stack.enter_context(serve(folder, "--without-conductor", settings=settings))
        conducting = stack.enter_context(conductor(folder, "c1", settings=settings))
        client = stack.enter_context(Client(url))
        bodies = deploy(client, agents)
        beats = [
            lambda one, number=number: one.baremetal("POST", f"/heartbeat/n{number}", json.loads(bodies[number]))
            for number in range(count)
        ]
        clock = Clock(2 * interval + 10, seconds)
        with ThreadPoolExecutor(_THREADS + 1) as threads:
            beating = [
                threads.submit(clock.repeat, url, beats[first::_THREADS], interval, interval * first / count)
                for first in range(min(_THREADS, count))
            ]
            listing = threads.submit(clock.repeat, url, [lambda one: one.baremetal("GET", "/nodes")] * lists, 1.0)
            time.sleep(2 * interval + 10)
            assert agents.at_work == count, f"{agents.at_work} agents have a command"
            asked, since = agents.asked, time.monotonic()
            before = [processor_seconds(each) for each in (served, conducting)]
            found = {"heartbeats": [each for one in beating for each in one.result()], "lists": listing.result()}
        elapsed = time.monotonic() - since
        after = [processor_seconds(each) for each in (served, conducting)]
        load = [round((now - then) / elapsed, 2) for now, then in zip(after, before, strict=True)]
        rate = (agents.asked - asked) / elapsed
        states = Counter(
            node["provision_state"] for node in client.baremetal("GET", "/nodes?limit=1000").json()["nodes"]
        )
    assert set(states) <= {"wait call-back", "deploying"}, states
    return {**found, "rate": rate, "load": load, "answers": dict(clock.statuses), "refusals": sorted(clock.refusals)}


@click.command(help=__doc__)
@click.option("--database", "connections", multiple=True, default=URLS, show_default=True, help="URL, or sqlite.")
@click.option("--agents", "count", default=200, show_default=True, help="How many machines have one.")
@click.option("--interval", default=5.0, show_default=True, help="Seconds between heartbeats of an agent.")
@click.option("--lists", default=5, show_default=True, help="Lists of nodes in a second.")
@click.option("--seconds", default=30.0, show_default=True, help="For how long is measured.")
def main(connections: tuple[str, ...], count: int, interval: float, lists: int, seconds: float) -> None:
    for connection in connections:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            print(connection.partition(":")[0])
            if connection == "sqlite":
                connection = f"sqlite:///{folder}/bench.sqlite"
            else:
                empty(connection)
            with redirect_stdout(StringIO()):  # the end of the log
                found = measure(connection, folder, count, interval, lists, seconds)
            print(f"  agents are asked {found.pop('rate'):.1f} times a second; answers: {found.pop('answers')}")
            print("  processors that are busy: API {}, conductor {}".format(*found.pop("load")))
            for text in found.pop("refusals"):
                print(f"  {text[:300]}")
            for title, taken in found.items():
                percentile = sorted(taken)[-(-99 * len(taken) // 100) - 1]
                print(
                    " ", report(title, taken), f" p99 {percentile:9.1f} (target of heartbeats: {_MOST:g})", flush=True
                )


if __name__ == "__main__":
    main()
