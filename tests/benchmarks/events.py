"""What events cost: seconds of a processor of the service and of PostgreSQL for a request, with events beside without.

    python -m tests.benchmarks.events [--url postgresql://postgres@127.0.0.1] [--blocks 5]

Two services run on two databases, of the same server, and take turns. The numbering of the events counts, too.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import create_engine, text

_TICK = os.sysconf("SC_CLK_TCK")
_HEADERS = {
    "X-OpenStack-Ironic-API-Version": "1.110",
    "OpenStack-API-Version": "placement 1.39",
    "Content-Type": "application/json",
}
#: The highest quotient that is good.
TARGET = 1.06


def _processes() -> Iterator[tuple[int, int, str, float]]:
    """Yield the id, the parent's id, the command line and the seconds of a processor of each process."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            yield int(folder.name), int(fields[1]), command, (int(fields[11]) + int(fields[12])) / _TICK


class Side:
    """One service and its database."""

    def __init__(self, server: str, database: str, port: int, enabled: bool) -> None:
        self._database, self._port = database, port
        environment = {**os.environ, "OS_EVENTS__ENABLED": str(enabled)}
        command = [sys.executable, "-m", "baremetal_sched", "serve", "--workers", "1", "--port", str(port)]
        self.process = subprocess.Popen(
            [*command, "--database", f"{server}/{database}"], env=environment, stdout=subprocess.DEVNULL
        )
        while self.process.poll() is None:
            with suppress(OSError):
                self._connection = HTTPConnection("127.0.0.1", port)
                self.call("GET", "/healthcheck")
                break
            time.sleep(0.2)
        self.node = self._add_node()
        self.call("PUT", f"/baremetal/v1/nodes/{self.node}/traits", {"traits": ["CUSTOM_A", "CUSTOM_B"]})
        self.consumer = self.trait = 0

    def call(self, method: str, path: str, body: Any = None) -> Any:
        self._connection.request(method, path, None if body is None else json.dumps(body), _HEADERS)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {content!r}")
        return json.loads(content) if content[:1] in (b"{", b"[") else None

    def _add_node(self) -> str:
        fields = {"driver": "fake-hardware", "resource_class": "gold"}
        node: str = self.call("POST", "/baremetal/v1/nodes", fields)["uuid"]
        self.call("PUT", f"/baremetal/v1/nodes/{node}/states/power", {"target": "power on"})
        self._until(node, "power_state", "power on")
        for target, state in (("manage", "manageable"), ("provide", "available")):
            self._provision(node, target, state)
        return node

    def _provision(self, node: str, target: str, state: str) -> None:
        self.call("PUT", f"/baremetal/v1/nodes/{node}/states/provision", {"target": target})
        self._until(node, "provision_state", state)

    def _until(self, node: str, field: str, value: str) -> None:
        wanted = {field: value, "reservation": None}
        while {**self.call("GET", f"/baremetal/v1/nodes/{node}?fields={field},reservation"), "links": 0} != {
            **wanted,
            "links": 0,
        }:
            time.sleep(0.05)

    def seconds(self) -> float:
        """Return the seconds of a processor that the service and the database have used."""
        found = [*_processes()]
        own = {self.process.pid}
        for _ in range(4):
            own |= {process for process, parent, _, _ in found if parent in own}
        of_database = f" {self._database} "
        return sum(
            s
            for process, _, command, s in found
            if process in own or ("postgres:" in command and of_database in command)
        )

    def put_trait(self) -> None:
        self.trait += 1
        method = "PUT" if self.trait % 2 else "DELETE"
        self.call(method, f"/baremetal/v1/nodes/{self.node}/traits/CUSTOM_Z")

    def claim_and_release(self) -> None:
        consumer = str(uuid.uuid4())
        allocations = {self.node: {"resources": {"CUSTOM_GOLD": 1}}}
        body = {"allocations": allocations, "project_id": "p", "user_id": "u", "consumer_generation": None}
        self.call("PUT", f"/placement/allocations/{consumer}", {**body, "consumer_type": "INSTANCE"})
        self.call("DELETE", f"/placement/allocations/{consumer}")

    def deploy(self) -> None:
        info = {"image_source": "http://127.0.0.1/image", "image_checksum": "0" * 32, "root_gb": 1}
        self.call("PATCH", f"/baremetal/v1/nodes/{self.node}", [{"op": "add", "path": "/instance_info", "value": info}])
        self._provision(self.node, "active", "active")
        self._provision(self.node, "deleted", "available")


@contextmanager
def _side(url: str, name: str, port: int, enabled: bool) -> Iterator[Side]:
    engine = create_engine(
        f"{url}/postgres".replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 LC_COLLATE 'C'"))
    side = Side(url, name, port, enabled)
    try:
        yield side
    finally:
        side.process.terminate()
        side.process.wait()
        with engine.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
        engine.dispose()


def block(side: Side, work: Callable[[Side], None], count: int) -> float:
    """Return the milliseconds of a processor for one of ``count``."""
    before = side.seconds()
    for _ in range(count):
        work(side)
    time.sleep(1.2)  # its events get their numbers
    return (side.seconds() - before) / count * 1000


def main(url: str, blocks: int) -> None:
    works = {"PUT or DELETE trait": (Side.put_trait, 600), "claim and release": (Side.claim_and_release, 400)}
    with ExitStack() as stack:
        with_, without = (
            stack.enter_context(_side(url, name, port, enabled))
            for name, port, enabled in (("bench_events_on", 18181, True), ("bench_events_off", 18182, False))
        )
        for title, (work, count) in {**works, "deployment": (Side.deploy, 12)}.items():
            taken: dict[Side, list[float]] = {with_: [], without: []}
            for side in taken:
                block(side, work, max(2, count // 4))
            for _ in range(blocks):
                for side, values in taken.items():
                    values.append(block(side, work, count))
            quotients = [on / off for on, off in zip(*taken.values(), strict=True)]
            on, off = (median(values) for values in taken.values())
            verdict = "" if on / off <= TARGET else f", above {TARGET}"
            print(f"{title}: {on:.3f} ms with events, {off:.3f} without: {on / off:.3f}{verdict}", end=" ")
            print(f"(blocks: {', '.join(f'{each:.3f}' for each in quotients)})", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", default="postgresql://postgres@127.0.0.1")
    parser.add_argument("--blocks", type=int, default=5)
    options = parser.parse_args()
    main(options.url, options.blocks)
