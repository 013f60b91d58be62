"""Booting by many clients at once: ours in one request, the original's candidates and claim until one succeeds."""

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from typing import Any

from baremetal_sched.placement.names import resource_class_of
from tests.benchmarks.baremetal.fleet import Fleet
from tests.benchmarks.placement.seeding import PROJECT, USER
from tests.benchmarks.servers import Client, Failed

CLIENTS = 16
#: How many candidates Nova asks for.
_CANDIDATES = 1000
#: A flavor for bare metal asks for one machine, and for nothing else.
ZEROS = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}

Candidate = dict[str, Any]
#: Boots the server with this number; returns how often the client was told of a conflict. Raises Failed.
Boot = Callable[[Client, int], int]


@dataclass
class Round:
    """``seconds`` is what all took together, for each; ``waits`` is how long the client of each waited."""

    seconds: float
    waits: list[float]
    conflicts: int


def boot_all(boot: Boot, client: Client, numbers: Iterable[int]) -> Round:
    """Boot the servers with these numbers by CLIENTS clients at once, each the next one. Raises Failed if one fails."""
    left = iter(numbers)
    guard = threading.Lock()
    done: list[tuple[float, int]] = []

    def work(own: Client) -> None:
        while True:
            with guard:
                number = next(left, None)
            if number is None:
                return
            began = time.perf_counter()
            conflicts = boot(own, number)
            done.append((time.perf_counter() - began, conflicts))

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as threads:
        working = [threads.submit(work, client.another()) for _ in range(CLIENTS)]
    for each in working:
        each.result()
    seconds = time.perf_counter() - began
    return Round(seconds / len(done), [wait for wait, _ in done], sum(conflicts for _, conflicts in done))


class Ours:
    """One request; the answer comes when the machine is claimed and its conductor has it."""

    def __init__(self, client: Client, fleet: Fleet) -> None:
        self._flavors = [_flavor(client, name) for name in fleet.classes]
        image = {"name": "debian", "disk_format": "raw", "container_format": "bare"}
        self._image = client.call("POST", "/image/v2/images", image, expect=201).json()["id"]

    def __call__(self, client: Client, number: int) -> int:
        body = {
            "server": {
                "name": f"server-{number}",
                "flavorRef": self._flavors[number % len(self._flavors)],
                "imageRef": self._image,
                "networks": "none",
            }
        }
        client.call("POST", "/compute/v2.1/servers", body, expect=202)
        return 0

    def findings(self, client: Client, booted: int) -> Iterator[str]:
        """The errors of the servers: not as many as were booted, without a machine, or two on one."""
        servers = client.call("GET", "/compute/v2.1/servers/detail").json()["servers"]
        if len(servers) < min(booted, _CANDIDATES):
            yield f"{booted} servers were booted, {len(servers)} are there"
        failed = [server["fault"]["message"] for server in servers if server["status"] == "ERROR"]
        if failed:
            yield f"{len(failed)} servers have no machine: {failed[0]}"
        hosts = [server["OS-EXT-SRV-ATTR:hypervisor_hostname"] for server in servers if server["status"] != "ERROR"]
        if len(set(hosts)) < len(hosts):
            yield "two servers are on one machine"


def _flavor(client: Client, resource_class: str) -> str:
    fields = {"name": f"bm.{resource_class}", "vcpus": 64, "ram": 262144, "disk": 960}
    flavor: str = client.call("POST", "/compute/v2.1/flavors", {"flavor": fields}).json()["flavor"]["id"]
    specs = {f"resources:{resource_class_of(resource_class)}": "1", **ZEROS}
    client.call("POST", f"/compute/v2.1/flavors/{flavor}/os-extra_specs", {"extra_specs": specs})
    return flavor


class Original:
    """Candidates, as many as Nova asks for, and a claim of one of them; if it was taken meanwhile, all of it again."""

    def __init__(self, fleet: Fleet, choose: Callable[[list[Candidate]], Candidate]) -> None:
        self._classes = [resource_class_of(name) for name in fleet.classes]
        self._choose = choose

    def __call__(self, client: Client, number: int) -> int:
        wanted = self._classes[number % len(self._classes)]
        for conflicts in count():
            path = f"/allocation_candidates?resources={wanted}:1&limit={_CANDIDATES}"
            candidates = client.call("GET", path).json()["allocation_requests"]
            if not candidates:
                raise Failed(f"there is no candidate for {wanted}")
            body = {
                **self._choose(candidates), "consumer_generation": None, "project_id": PROJECT, "user_id": USER
            }  # fmt: skip
            answer = client.ask("PUT", f"/allocations/{uuid.uuid4()}", body)
            if answer.status == 204:
                return conflicts
            if answer.status != 409:
                raise Failed(f"PUT /allocations: {answer.status} {answer.body.decode(errors='replace')[:200]}")
        raise AssertionError("unreachable")


def first(candidates: list[Candidate]) -> Candidate:
    """Return the first, as Nova does unless it is told otherwise."""
    return candidates[0]


def anyone(candidates: list[Candidate]) -> Candidate:
    """Return one at random: clients that choose at the same time rarely choose the same."""
    return random.choice(candidates)
