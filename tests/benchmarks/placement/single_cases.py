"""The requests for one provider or one project, and those of several clients at a time."""

import random
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

from tests.benchmarks.cases import Case, Run, get
from tests.benchmarks.placement.seeding import PROJECT, USER
from tests.benchmarks.placement.worlds import Fleet, Zones
from tests.benchmarks.servers import Client, Failed

#: Clients at a time, and how often each of them looks for a candidate, claims it and releases it.
_CLIENTS, _TIMES = 8, 5


def of_zones(zones: Zones) -> Iterator[Case]:
    """The cases over nodes in zones, most of which one project has claimed."""
    uuids = [row[1] for row in zones.providers()]

    def path(number: int, what: str) -> str:
        return f"/resource_providers/{uuids[(7919 * number) % len(uuids)]}/{what}"

    def traits(client: Client) -> dict[str, Any]:
        return {"traits": sorted(client.call("GET", path(0, "traits")).json()["traits"])}

    def inventories(client: Client) -> dict[str, Any]:
        return {"inventories": client.call("GET", path(0, "inventories")).json()["inventories"]}

    def usages(client: Client) -> dict[str, Any]:
        return {"usages": client.call("GET", f"/usages?project_id={PROJECT}").json()}

    yield Case(["traits of a provider"], get(lambda number: path(number, "traits")), [3.7], traits)
    yield Case(["inventories of a provider"], get(lambda number: path(number, "inventories")), [3.5], inventories)
    yield Case(["usages of the project"], get(lambda _: f"/usages?project_id={PROJECT}"), [10], usages)
    nothing = f"/allocation_candidates?resources={Fleet.classes[0]}:1&required={','.join(zones.never_together())}"
    yield Case(
        ["five traits that no node has together, limit=1000"],
        get(lambda _: f"{nothing}&limit=1000"),
        [6],
        lambda client: {"found": len(client.call("GET", nothing).json()["allocation_requests"])},
    )
    yield Case(["replace traits"], _replace(path, "traits", _other_traits), [2.6])
    yield Case(["replace inventories"], _replace(path, "inventories", _other_inventories), [2.3])
    yield Case([f"{_CLIENTS} clients: candidates, claim, release; {_CLIENTS * _TIMES} times"], _clients, [8.5])


def _replace(path: Callable[[int, str], str], what: str, change: Callable[[Any], Any]) -> Run:
    """PUT something else than there is, with the generation that there is."""

    def run(client: Client, number: int) -> list[float]:
        known = client.call("GET", path(number, what)).json()
        body = {"resource_provider_generation": known["resource_provider_generation"], what: change(known[what])}
        return [client.call("PUT", path(number, what), body).seconds]

    return run


def _other_traits(traits: list[str]) -> list[str]:
    """Return the traits with another in place of the first."""
    return [*sorted(traits)[1:], next(trait for trait in reversed(Fleet.traits) if trait not in traits)]


def _other_inventories(inventories: dict[str, Any]) -> dict[str, Any]:
    """Return the inventories with another ``max_unit``."""
    return {name: {**values, "max_unit": 3 - values["max_unit"]} for name, values in inventories.items()}


def _clients(client: Client, number: int) -> list[float]:
    """Return the seconds that all clients take for their rounds, at the same time."""
    clients = [client.another() for _ in range(_CLIENTS)]
    started = time.perf_counter()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(_rounds, clients))
    return [time.perf_counter() - started]


def _rounds(client: Client) -> None:
    """Look for candidates, claim one, and release it, until that was done often enough."""
    claimed = 0
    for name in cycle(Fleet.classes):
        claimed += _claimed(client, f"/allocation_candidates?resources={name}:1&limit=10")
        if claimed == _TIMES:
            return


def _claimed(client: Client, path: str) -> bool:
    """Return whether one of the candidates was claimed; it is released again."""
    consumer = str(uuid.uuid4())
    candidates = client.call("GET", path).json()["allocation_requests"]
    for candidate in random.sample(candidates, len(candidates)):
        body = {**candidate, "consumer_generation": None, "project_id": PROJECT, "user_id": USER}
        answer = client.ask("PUT", f"/allocations/{consumer}", body)
        if answer.status == 204:
            client.call("DELETE", f"/allocations/{consumer}", expect=204)
            return True
        if answer.status != 409:
            raise Failed(f"PUT /allocations/{consumer}: {answer.status}")
    return False
