"""The audit beside writers through both APIs: it finds nothing that is not wrong.

FAULT_SECONDS says for how long (3): 60 for the real thing.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load
from tests.processes import Client, serve

SECONDS = float(os.environ.get("FAULT_SECONDS", "3"))
WRITERS = 16
#: So few that writers meet.
NODES = 24


class Writer:
    """One client that changes nodes, claims them and lets them go, through both APIs."""

    def __init__(self, number: int, url: str) -> None:
        self.statuses: Counter[int] = Counter()
        self.failures: list[str] = []
        self._random = random.Random(number)
        self._number = number
        self._url = url

    def write(self, until: float) -> "Writer":
        """Write at random until the time is over."""
        operations: list[Callable[[str], None]] = [
            self._maintain,
            self._maintain,
            self._patch,
            self._set_traits,
            self._claim,
            self._claim,
            self._release,
            self._allocate,
            self._deallocate,
            self._replace,
        ]
        with Client(self._url) as self._client:
            while time.monotonic() < until:
                self._random.choice(operations)(f"n{self._random.randrange(NODES)}")
        return self

    def _note(self, response: Any) -> Any:
        self.statuses[response.status_code] += 1
        # SQLite lets one write at a time: on a busy machine one may wait for too long.
        if response.status_code >= 500 and response.status_code != 503:
            self.failures.append(f"{response.request.method} {response.url}: {response.text[:300]}")
        return response

    def _baremetal(self, *arguments: Any) -> Any:
        return self._note(self._client.baremetal(*arguments))

    def _maintain(self, node: str) -> None:
        self._baremetal(self._random.choice(["PUT", "DELETE"]), f"/nodes/{node}/maintenance")

    def _patch(self, node: str) -> None:
        value = self._random.choice(["gold", "silver"])
        self._baremetal("PATCH", f"/nodes/{node}", [{"op": "add", "path": "/resource_class", "value": value}])

    def _set_traits(self, node: str) -> None:
        traits = self._random.sample(["CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_VMX"], self._random.randint(0, 3))
        self._baremetal("PUT", f"/nodes/{node}/traits", {"traits": traits})

    def _consumer(self) -> str:
        return str(UUID(int=(self._number + 1) << 64 | self._random.randint(1, 3)))

    def _claim(self, node: str) -> None:
        found = self._note(self._client.placement("GET", f"/resource_providers?name={node}"))
        providers = found.json().get("resource_providers")
        if providers:
            resource_class = self._random.choice(["CUSTOM_GOLD", "CUSTOM_SILVER"])
            body = {
                "allocations": {providers[0]["uuid"]: {"resources": {resource_class: 1}}},
                "consumer_generation": None,
                "project_id": "p",
                "user_id": "u",
                "consumer_type": "INSTANCE",
            }
            self._note(self._client.placement("PUT", f"/allocations/{self._consumer()}", body))

    def _release(self, node: str) -> None:
        self._note(self._client.placement("DELETE", f"/allocations/{self._consumer()}"))

    def _allocate(self, node: str) -> None:
        resource_class = self._random.choice(["gold", "silver"])
        self._baremetal("POST", "/allocations", {"resource_class": resource_class, "name": f"a{self._number}"})

    def _deallocate(self, node: str) -> None:
        self._baremetal("DELETE", f"/allocations/a{self._number}")

    def _replace(self, node: str) -> None:
        self._baremetal("DELETE", f"/nodes/{node}")
        create(self._baremetal, node)


def create(baremetal: Callable[..., Any], name: str) -> None:
    """A node that can be given out, except its power state."""
    # Below 1.11 nodes are created available.
    created = baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": name}, "1.10")
    if created.status_code == 201:
        baremetal("PATCH", f"/nodes/{name}", [{"op": "add", "path": "/resource_class", "value": "gold"}])
        baremetal("PUT", f"/nodes/{name}/states/power", {"target": "power on"})


def test_the_audit_finds_nothing_beside_writers(database_url: str, tmp_path: Path) -> None:
    database = Database(load(overrides={"database": {"connection": database_url}}))
    findings: list[str] = []
    audits = 0
    options = {"conductor": {"heartbeat_interval": 1, "sync_providers_interval": 1}}
    with serve(tmp_path, "--workers", "2", "--database", database_url, settings=options) as (_, url):
        with Client(url) as client:
            for number in range(NODES):
                create(client.baremetal, f"n{number}")
        until = time.monotonic() + SECONDS
        with ThreadPoolExecutor(WRITERS) as threads:
            running = [threads.submit(Writer(number, url).write, until) for number in range(WRITERS)]
            while time.monotonic() < until:
                findings += database.snapshot(audit)
                audits += 1
            writers = [writer.result() for writer in running]
        findings += database.snapshot(audit)
        undone = [event for event in history_of(url) if "changed directly" in event]
    database.dispose()
    statuses = sum((writer.statuses for writer in writers), Counter())
    print(f"{audits} audits beside {statuses}")
    assert findings == []
    assert undone == [], "reconciliation must find nothing either"
    assert [failure for writer in writers for failure in writer.failures] == []
    assert statuses[204] + statuses[200] + statuses[201] + statuses[202] > WRITERS


def history_of(url: str) -> list[str]:
    """The events of all nodes."""
    with Client(url) as client:
        nodes = client.baremetal("GET", "/nodes").json()["nodes"]
        events = [client.baremetal("GET", f"/nodes/{node['uuid']}/history?detail=True").json() for node in nodes]
    return [event["event"] for found in events for event in found["history"]]
