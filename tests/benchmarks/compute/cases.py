"""Requests about servers, beside the same requests about nodes."""

from collections.abc import Iterator

from tests.benchmarks.cases import Case
from tests.benchmarks.servers import Client

_SERVERS, _NODES = "/compute/v2.1/servers", "/baremetal/v1/nodes"
PAGE = 1000


def beside_nodes(client: Client) -> Iterator[Case]:
    """Each case has two titles: that of the servers and that of the nodes."""
    servers = [server["id"] for server in client.call("GET", f"{_SERVERS}?limit={PAGE}").json()["servers"]]
    nodes = [node["uuid"] for node in client.call("GET", f"{_NODES}?limit={len(servers)}").json()["nodes"]]
    for path in ("", "/detail"):
        yield _pair(f"{_SERVERS}{path}", [f"{path}?limit={len(servers)}"], [f"{path}?limit={len(nodes)}"])
    yield _pair(f"{_SERVERS}/{{id}}", [f"/{server}" for server in servers], [f"/{node}" for node in nodes])


def _pair(title: str, servers: list[str], nodes: list[str]) -> Case:
    def run(client: Client, number: int) -> list[float]:
        place = number * 7919
        mine = client.call("GET", _SERVERS + servers[place % len(servers)])
        beside = client.call("GET", _NODES + nodes[place % len(nodes)])
        return [mine.seconds, beside.seconds]

    mine = f"GET {title}"
    return Case([mine, f"{mine}, of nodes"], run, [None, None])
