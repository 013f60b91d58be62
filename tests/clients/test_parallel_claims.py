"""Many clients at once that want the same machines: every machine is given out once, and no client sees an error."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest

from tests.processes import Client, run, serve
from tests.service import Service
from tests.waiting import PATIENCE

CLIENTS = 32
NODES = 100


@dataclass
class Claimant:
    """One client: what it claimed (node by consumer) and every status that it saw, by method."""

    claimed: dict[str, str] = field(default_factory=dict)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    def race(self, url: str, node: str, start: Barrier) -> "Claimant":
        """Try to claim ``node`` when all the others do, then claim any node that is offered until none is."""
        with Client(url) as client:
            start.wait(PATIENCE)
            self._claim(client, node)
            while offered := self._candidates(client):
                self._claim(client, random.choice(offered))
        return self

    def _candidates(self, client: Client) -> list[str]:
        limit = random.randint(1, 5)
        response = client.placement("GET", f"/allocation_candidates?resources=CUSTOM_GOLD:1&limit={limit}")
        self.statuses["GET", response.status_code] += 1
        return [node for request in response.json()["allocation_requests"] for node in request["allocations"]]

    def _claim(self, client: Client, node: str) -> None:
        consumer = str(uuid4())
        body: dict[str, Any] = {
            "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}},
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
            "project_id": "p",
            "user_id": "u",
        }
        response = client.placement("PUT", f"/allocations/{consumer}", body)
        self.statuses["PUT", response.status_code] += 1
        if response.status_code == 204:
            self.claimed[consumer] = node


@pytest.fixture
def nodes(database_url: str) -> list[str]:
    """UUIDs of nodes that placement offers, all of the class gold."""
    with Service(database_url) as service:
        service.add_conductor("c1")
        return [service.add_node(f"n{number}") for number in range(NODES)]


def test_parallel_claims(nodes: list[str], database_url: str, tmp_path: Path) -> None:
    """32 clients claim 100 nodes: the node that all want first goes to one of them; every node is claimed once; whoever
    comes too late hears 409 and nothing else; the audit of the database finds no fault."""
    database = ("--database", database_url)
    start = Barrier(CLIENTS)
    with serve(tmp_path, "--workers", "2", "--without-conductor", *database) as (_, url):
        with ThreadPoolExecutor(CLIENTS) as threads:
            racing = [threads.submit(Claimant().race, url, nodes[0], start) for _ in range(CLIENTS)]
            claimants = [client.result() for client in racing]
        statuses = sum((client.statuses for client in claimants), Counter[tuple[str, int]]())
        assert set(statuses) == {("GET", 200), ("PUT", 204), ("PUT", 409)}
        assert statuses["PUT", 204] == NODES

        claimed = {consumer: node for client in claimants for consumer, node in client.claimed.items()}
        assert sorted(claimed.values()) == sorted(nodes)
        with Client(url) as client:
            for consumer, node in claimed.items():
                held = client.placement("GET", f"/allocations/{consumer}").json()["allocations"]
                assert {provider: part["resources"] for provider, part in held.items()} == {node: {"CUSTOM_GOLD": 1}}

    audit = run(tmp_path, "db", "check", *database)
    assert (audit.returncode, audit.stdout) == (0, "ok\n")
