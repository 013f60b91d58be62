"""The requests, and how fast each answer should be."""

from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.benchmarks.baremetal.fleet import Fleet
from tests.benchmarks.cases import Case, Check, get
from tests.benchmarks.servers import Client

PAGE = 1000
#: The lists, by their titles: path, and how many times faster than the original they should be.
LISTS = {
    "GET /v1/nodes/detail": ("/v1/nodes/detail?", 25),
    "GET /v1/nodes?fields=uuid,traits": ("/v1/nodes?fields=uuid,traits&", 40),
    "GET /v1/nodes": ("/v1/nodes?", 20),
}
#: Not the same on both sides, and rightly so: links name the server; who the conductor is does not matter here.
_OWN = frozenset({"links", "ports", "portgroups", "volume", "states"})
_TRAIT = "CUSTOM_BENCHMARK"


def of_fleet(fleet: Fleet) -> Iterator[Case]:
    """The cases for both sides."""
    uuids = [machine.uuid for machine in fleet.machines()]
    for title, (path, target) in LISTS.items():
        wanted = f"{path}limit={PAGE}"
        yield Case([f"{title}, a page"], get(lambda _, wanted=wanted: wanted), [target], _same_nodes(wanted))
    yield Case(["GET /v1/nodes/{uuid}"], get(lambda number: f"/v1/nodes/{uuids[_spread(number, uuids)]}"), [5])
    yield _add_and_remove_trait(uuids)


def pages(last_page_of: Fleet | None = None) -> Iterator[Case]:
    """A page of each list: the first, or the last of a fleet."""
    marker = ""
    if last_page_of is not None:
        marker = "&marker=" + [machine.uuid for machine in last_page_of.machines()][-PAGE - 1]
    for title, (path, _) in LISTS.items():
        wanted = f"{path}limit={PAGE}{marker}"
        yield Case([f"{title}, {'last' if marker else 'first'} page"], get(lambda _, wanted=wanted: wanted))


def by_traits(limit: int) -> Case:
    """Nodes with two traits and without a third: another choice of traits each time."""

    def path(number: int) -> str:
        first, second, third = (Fleet.traits[(7 * number + offset) % len(Fleet.traits)] for offset in (0, 17, 31))
        return f"/v1/nodes?traits={first},{second}&not-traits-any={third}&limit={limit}"

    return Case([f"GET /v1/nodes, two traits and one forbidden, limit={limit}"], get(path))


def _spread(number: int, items: list[str]) -> int:
    """A place in ``items``, far from the one before."""
    return number * 7919 % len(items)


def _add_and_remove_trait(uuids: list[str]) -> Case:
    """PUT and then DELETE of a trait that the node did not have, of one node after the other."""
    numbers = count()

    def run(client: Client, number: int) -> list[float]:
        path = f"/v1/nodes/{uuids[_spread(next(numbers), uuids)]}/traits/{_TRAIT}"
        added = client.call("PUT", path, expect=204)
        removed = client.call("DELETE", path, expect=204)
        return [added.seconds, removed.seconds]

    return Case(["PUT one trait", "DELETE one trait"], run, [5, 5])


def _same_nodes(path: str) -> Check:
    """How many nodes there are, in which order, and each field of all of them."""

    def check(client: Client) -> dict[str, Any]:
        nodes = client.call("GET", path).json()["nodes"]
        agreed: dict[str, Any] = {"nodes": len(nodes), "fields": sorted(nodes[0])}
        for name in nodes[0].keys() - _OWN:
            agreed[name] = [sorted(node[name]) if name == "traits" else node[name] for node in nodes]
        return agreed

    return check
