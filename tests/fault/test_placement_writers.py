"""Many writers at once on few providers: whatever they hear, the books are right in the end.

FAULT_SECONDS says for how long (3), FAULT_WRITERS how many write (8): 600 and 64 for the real thing, ``tox -e fault``.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import create_engine, text

from baremetal_sched.db.engine import database_url as normal_url
from tests.processes import Client, run, serve

SECONDS = float(os.environ.get("FAULT_SECONDS", "3"))
WRITERS = int(os.environ.get("FAULT_WRITERS", "8"))
PROVIDERS = 50
#: Of these the class CUSTOM_BOARD moves between the two of each pair with each reshaping.
PAIRS = 5

#: No inventory may be over capacity: inventories never shrink here, they only move.
OVER_CAPACITY = """
SELECT COUNT(*) FROM inventories i
LEFT JOIN (SELECT provider_id, resource_class_id, SUM(used) AS held FROM allocations
           GROUP BY provider_id, resource_class_id) a
  ON a.provider_id = i.provider_id AND a.resource_class_id = i.resource_class_id
WHERE COALESCE(a.held, 0) > i.capacity OR COALESCE(a.held, 0) <> i.used
"""
#: A consumer holds something, and what is held is held of something.
LOST = """
SELECT (SELECT COUNT(*) FROM consumers c WHERE NOT EXISTS (SELECT 1 FROM allocations a WHERE a.consumer_id = c.id))
     + (SELECT COUNT(*) FROM allocations a WHERE NOT EXISTS (SELECT 1 FROM inventories i
        WHERE i.provider_id = a.provider_id AND i.resource_class_id = a.resource_class_id))
"""


def provider(number: int) -> str:
    """The UUID of a provider."""
    return str(UUID(int=number + 1))


@dataclass
class Writer:
    """One client, and every status that it saw."""

    number: int
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def write(self, url: str, until: float) -> "Writer":
        """Claim, move, reshape and release at random until the time is over."""
        self._random = random.Random(self.number)
        operations: list[Callable[[], None]] = [self._claim, self._claim, self._move, self._reshape, self._release]
        with Client(url) as self._client:
            while time.monotonic() < until:
                self._random.choice(operations)()
        return self

    def _call(self, name: str, method: str, path: str, body: Any = None) -> Any:
        started = time.monotonic()
        response = self._client.placement(method, path, body)
        self.slowest = max(self.slowest, time.monotonic() - started)
        self.statuses[name, response.status_code] += 1
        if response.status_code >= 500 or response.status_code == 400:
            self.failures.append(f"{name}: {response.status_code} {response.text[:500]}")
        return response.json() if response.content else None

    def _consumer(self) -> str:
        """One of few, half of them shared by all writers."""
        owner = self._random.choice([self.number, WRITERS])
        return str(UUID(int=(owner + 1) << 64 | self._random.randint(1, 6)))

    def _held(self, consumer: str) -> dict[str, Any]:
        """The allocations of the consumer, as they may be written again."""
        found = self._call("look", "GET", f"/allocations/{consumer}")
        return self._holding(
            {uuid: {"resources": part["resources"]} for uuid, part in found["allocations"].items()},
            found.get("consumer_generation"),
        )

    @staticmethod
    def _holding(allocations: dict[str, Any], generation: int | None) -> dict[str, Any]:
        return {
            "allocations": allocations,
            "consumer_generation": generation,
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
        }

    def _some(self) -> dict[str, Any]:
        chosen = self._random.sample(range(PROVIDERS), self._random.randint(1, 3))
        allocations: dict[str, Any] = {}
        for number in chosen:
            resources = {"VCPU": self._random.randint(1, 3)}
            if self._random.random() < 0.5:
                resources["MEMORY_MB"] = self._random.randint(1, 40)
            if number < 2 * PAIRS and number % 2 == 0 and self._random.random() < 0.5:
                resources["CUSTOM_BOARD"] = 1
            allocations[provider(number)] = {"resources": resources}
        return allocations

    def _claim(self) -> None:
        consumer = self._consumer()
        before = self._held(consumer) if self._random.random() < 0.5 else self._holding({}, None)
        self._call("claim", "PUT", f"/allocations/{consumer}", before | {"allocations": self._some()})

    def _move(self) -> None:
        """Move the allocations of one consumer to another; the first gets something else, or nothing."""
        source, target = self._consumer(), self._consumer()
        if source == target:
            return
        held, other = self._held(source), self._held(target)
        if not held["allocations"]:
            return
        new = self._some() if self._random.random() < 0.3 else {}
        body = {source: held | {"allocations": new}, target: other | {"allocations": held["allocations"]}}
        self._call("move", "POST", "/allocations", body)

    def _reshape(self) -> None:
        """All boards of a provider go to the other of its pair, and each consumer then holds its board there."""
        pair = self._random.randrange(PAIRS)
        sides = [provider(2 * pair), provider(2 * pair + 1)]
        found = [self._call("look", "GET", f"/resource_providers/{uuid}/inventories") for uuid in sides]
        source = next((n for n in (0, 1) if "CUSTOM_BOARD" in found[n]["inventories"]), None)
        if source is None:
            return
        here, there = sides[source], sides[1 - source]
        holders = self._call("look", "GET", f"/resource_providers/{here}/allocations")["allocations"]
        writes = {}
        for consumer, part in holders.items():
            if "CUSTOM_BOARD" in part["resources"]:
                held = self._held(consumer)
                boards = held["allocations"].get(here, {"resources": {}})["resources"].pop("CUSTOM_BOARD", None)
                if boards is None:
                    return
                if not held["allocations"][here]["resources"]:
                    del held["allocations"][here]
                held["allocations"].setdefault(there, {"resources": {}})["resources"]["CUSTOM_BOARD"] = boards
                writes[consumer] = held
        board = found[source]["inventories"].pop("CUSTOM_BOARD")
        found[1 - source]["inventories"]["CUSTOM_BOARD"] = board
        body = {"inventories": dict(zip(sides, found, strict=True)), "allocations": writes}
        self._call("reshape", "POST", "/reshaper", body)

    def _release(self) -> None:
        self._call("release", "DELETE", f"/allocations/{self._consumer()}")


def fill(url: str) -> None:
    """Fifty providers in trees of five; the first of each pair has boards."""
    with Client(url) as client:
        assert client.placement("PUT", "/resource_classes/CUSTOM_BOARD").status_code in (201, 204)
        for number in range(PROVIDERS):
            body: dict[str, Any] = {"uuid": provider(number), "name": f"p{number}"}
            if number % 5:
                body["parent_provider_uuid"] = provider(number - number % 5)
            assert client.placement("POST", "/resource_providers", body).status_code == 200
            inventories = {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 100, "reserved": 10, "allocation_ratio": 1.5}}
            if number < 2 * PAIRS and number % 2 == 0:
                inventories["CUSTOM_BOARD"] = {"total": 4}
            stocks = {"resource_provider_generation": 0, "inventories": inventories}
            response = client.placement("PUT", f"/resource_providers/{provider(number)}/inventories", stocks)
            assert response.status_code == 200


@pytest.fixture
def scalar(database_url: str) -> Iterator[Callable[[str], int]]:
    """The number that a query returns."""
    engine = create_engine(normal_url(database_url))

    def ask(query: str) -> int:
        with engine.connect() as connection:
            return int(connection.scalar(text(query)) or 0)

    yield ask
    engine.dispose()


def test_the_books_are_right(database_url: str, tmp_path: Path, scalar: Callable[[str], int]) -> None:
    """Writers that claim, move, reshape and release hear 409 when they are late and never a 5xx or a 400; in the end
    what is used is the sum of the allocations everywhere, and nothing is over capacity."""
    database = ("--database", database_url)
    with serve(tmp_path, "--workers", "2", "--without-conductor", *database) as (program, url):
        fill(url)
        until = time.monotonic() + SECONDS
        with ThreadPoolExecutor(WRITERS) as threads:
            running = [threads.submit(Writer(number).write, url, until) for number in range(WRITERS)]
            writers = [writer.result() for writer in running]
        log = program.log
    statuses = sum((writer.statuses for writer in writers), Counter[tuple[str, int]]())
    for (name, status), count in sorted(statuses.items()):
        print(f"{count:8} {name} {status}")
    retried = Counter(line.count("transaction failed") for line in log.splitlines())[1]
    slowest = max(writer.slowest for writer in writers)
    print(f"{statuses.total()} requests in {SECONDS} s, {retried} transactions run again, slowest {slowest:.2f} s")
    failures = [failure for writer in writers for failure in writer.failures]
    assert not failures, failures[:5]
    assert {status for _, status in statuses} <= {200, 204, 404, 409}
    assert statuses["claim", 204]
    assert statuses["release", 204]
    if SECONDS >= 3:
        assert statuses["move", 204]
        assert statuses["reshape", 204]
    assert scalar("SELECT COUNT(*) FROM allocations") > 0
    assert scalar(OVER_CAPACITY) == 0
    assert scalar(LOST) == 0
    audit = run(tmp_path, "db", "check", *database)
    assert (audit.returncode, audit.stdout) == (0, "ok\n"), audit.stdout
