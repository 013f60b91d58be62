"""The requests, and how fast each answer should be."""

import uuid
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.benchmarks.cases import Case, Check, Run, get
from tests.benchmarks.placement.seeding import PROJECT, USER
from tests.benchmarks.placement.worlds import Fleet, Numa
from tests.benchmarks.servers import Client


def of_fleet(fleet: Fleet) -> Iterator[Case]:
    """The cases over a flat fleet."""

    def target(**by_size: float) -> list[float | None]:
        return [by_size.get(f"n{fleet.nodes}")]

    for limit, targets in ((1, target(n1000=8, n50000=40)), (1000, target(n1000=8, n50000=15))):
        yield Case(
            [f"candidates, a trait and a forbidden one, limit={limit}"],
            get(lambda number, limit=limit: f"{_with_traits(number)}&limit={limit}"),
            targets,
            _candidates(_with_traits(0)) if limit > 1 else None,
        )
    yield Case(["candidates, limit=1000"], get(lambda number: f"{_of_class(number)}&limit=1000"))
    yield Case(
        ["candidates, no limit"], get(_of_class), target(n50000=8), _candidates(_of_class(0), only_allocations=False)
    )
    yield Case(["all resource providers"], get(lambda number: "/resource_providers"), target(n50000=4), _providers)
    yield _claim_and_release()
    yield Case(["candidates (limit=1) and claim"], _choose_and_claim(), target(n50000=25))


def limit_one() -> Case:
    """The case that must not grow with the fleet."""
    return next(of_fleet(Fleet(0)))


def of_numa() -> Iterator[Case]:
    """The cases over trees with two cells."""
    cell = "VCPU:2,MEMORY_MB:2048"
    first, second = Numa.classes[:2]
    granular = (
        f"/allocation_candidates?resources_CELL={cell}&resources_A={first}:1&resources_B={second}:1"
        "&same_subtree=_CELL,_A,_B&group_policy=none"
    )
    unsuffixed = f"/allocation_candidates?resources={cell},{first}:1,{second}:1"
    yield Case(["three groups, one subtree, limit=10"], get(lambda _: f"{granular}&limit=10"), [40])
    yield Case(
        ["three groups, one subtree, limit=1000"],
        get(lambda _: f"{granular}&limit=1000"),
        [11],
        _candidates(granular),
    )
    yield Case(
        ["no suffix, four classes, limit=1000"],
        get(lambda _: f"{unsuffixed}&limit=1000"),
        [6],
        _candidates(unsuffixed),
    )


def of_uneven() -> Iterator[Case]:
    """The cases over trees of uneven shape."""
    groups = "resources_CELL=VCPU:2,MEMORY_MB:2048&resources_CARD=CUSTOM_CARD:1&same_subtree=_CELL,_CARD"
    path = f"/allocation_candidates?{groups}&group_policy=none"
    yield Case(["odd trees, limit=1000"], get(lambda _: f"{path}&limit=1000"), [5.5], _candidates(path))


def of_sharing() -> Iterator[Case]:
    """The cases over hosts with shared disks."""
    path = "/allocation_candidates?resources=VCPU:4,MEMORY_MB:4096,DISK_GB:100"
    yield Case(["shared disks, limit=10"], get(lambda _: f"{path}&limit=10"))
    yield Case(["shared disks, limit=1000"], get(lambda _: f"{path}&limit=1000"), [4.5], _candidates(path))


def _of_class(number: int) -> str:
    return f"/allocation_candidates?resources={Fleet.classes[number % len(Fleet.classes)]}:1"


def _with_traits(number: int) -> str:
    required, forbidden = (Fleet.traits[(7 * number + offset) % len(Fleet.traits)] for offset in (0, 31))
    return f"{_of_class(number)}&required={required},!{forbidden}"


def _candidates(path: str, *, only_allocations: bool = True) -> Check:
    """All candidates and, if wanted, the summaries: with a limit, and in the order, both are free."""

    def check(client: Client) -> dict[str, Any]:
        found = client.call("GET", path).json()
        summaries = found["provider_summaries"]
        for summary in summaries.values():
            summary["traits"].sort()
        agreed = {
            "candidates": len(found["allocation_requests"]),
            "summaries": len(summaries),
            "allocations": sorted(_canonical(request) for request in found["allocation_requests"]),
        }
        return agreed if only_allocations else agreed | {"content of summaries": summaries}

    return check


def _canonical(request: dict[str, Any]) -> str:
    allocations = sorted((row, sorted(held["resources"].items())) for row, held in request["allocations"].items())
    return repr((allocations, sorted((key, sorted(value)) for key, value in request["mappings"].items())))


def _providers(client: Client) -> dict[str, Any]:
    rows = client.call("GET", "/resource_providers").json()["resource_providers"]
    return {"providers": len(rows), "names": sorted(row["name"] for row in rows)}


def _claim_and_release() -> Case:
    """PUT and then DELETE /allocations/{uuid}, of one candidate after the other."""
    waiting: dict[Client, list[dict[str, Any]]] = {}

    def run(client: Client, number: int) -> list[float]:
        if not waiting.get(client):
            waiting[client] = client.call("GET", f"{_of_class(number)}&limit=1000").json()["allocation_requests"]
        consumer, body = _claim(waiting[client].pop())
        claimed = client.call("PUT", f"/allocations/{consumer}", body, expect=204)
        released = client.call("DELETE", f"/allocations/{consumer}", expect=204)
        return [claimed.seconds, released.seconds]

    return Case(["claim", "release"], run, [8, 3.2])


def _choose_and_claim() -> Run:
    def run(client: Client, number: int) -> list[float]:
        for another in count(number):
            chosen = client.call("GET", f"{_with_traits(another)}&limit=1")
            candidates = chosen.json()["allocation_requests"]
            if candidates:
                break
        consumer, body = _claim(candidates[0])
        claimed = client.call("PUT", f"/allocations/{consumer}", body, expect=204)
        client.call("DELETE", f"/allocations/{consumer}", expect=204)
        return [chosen.seconds + claimed.seconds]

    return run


def _claim(candidate: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    body = {**candidate, "consumer_generation": None, "project_id": PROJECT, "user_id": USER}
    return str(uuid.uuid4()), body
