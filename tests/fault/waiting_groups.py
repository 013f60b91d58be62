"""Claims of several machines and servers of server groups that wait, through the API of one release, for machines that
are given back through that of another."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import requests

from tests.fault import machines
from tests.processes import Client
from tests.waiting import START, wait_until

#: Machines in each rack: enough for all that wait, wherever the others are.
RACK = 5
RACKS = ("r1", "r2")
SETTINGS: Mapping[str, Mapping[str, Any]] = {"compute": {"server_group_level": "rack"}}
AFFINITY, ANTI_AFFINITY = "affinity", "anti-affinity"
_QUERY = "resources=CUSTOM_GOLD:1"


class WaitingGroups:
    """Machines in two racks, and what waits for them."""

    def __init__(self, url: str, client: Client) -> None:
        nodes = machines.enrol(url, RACK * len(RACKS))
        self._rack_of = {}
        for place, rack in enumerate(RACKS):
            domain = done(client.scheduling("POST", "/domains", {"name": rack, "level": "rack"})).json()["uuid"]
            for node in nodes[place * RACK : (place + 1) * RACK]:
                done(client.scheduling("PUT", f"/domains/{domain}/nodes/{node}"))
                self._rack_of[node] = rack
        self._server = machines.flavor_and_image(client)
        self._names = 0

    def turn(self, asks: Client, frees: Client) -> list[str]:
        """Let them wait through ``asks``, give the machines back through ``frees``, and wait until all are served;
        return what is wrong. At the end all machines are free again."""
        groups = {policy: self._make_group(asks, policy) for policy in (AFFINITY, ANTI_AFFINITY)}
        servers = {policy: [self._boot(asks, group)] for policy, group in groups.items()}
        self._active(asks, servers)
        holder = self._claim(asks, len(self._rack_of) - len(groups))
        for policy, group in groups.items():
            servers[policy].append(self._boot(asks, group))
        self._names += 1
        claims = [
            self._claim(asks, 2, group=f"g{self._names}", pack={"by": "rack"}, wait=3600),
            self._claim(asks, 1, wait=3600),
        ]
        waiting = [claim for claim in claims if self._state(asks, claim) != "waiting"]
        done(frees.scheduling("DELETE", f"/claims/{holder}"))
        wait_until(lambda: {self._state(frees, claim) for claim in claims} == {"claimed"}, "claims to be served", START)
        self._active(frees, servers)
        findings = [*(f"{claim} did not wait" for claim in waiting), *self._misplaced(frees, servers, claims)]
        for claim in claims:
            done(frees.scheduling("DELETE", f"/claims/{claim}"))
        for server in (each for of_group in servers.values() for each in of_group):
            done(frees.compute("DELETE", f"/servers/{server}"))
        wait_until(lambda: len(machines.offered(frees)) == len(self._rack_of), "all machines to be free again", START)
        return findings

    def _make_group(self, client: Client, policy: str) -> str:
        body = {"server_group": {"name": policy, "policy": policy}}
        uuid: str = done(client.compute("POST", "/os-server-groups", body)).json()["server_group"]["id"]
        return uuid

    def _boot(self, client: Client, group: str) -> str:
        hints = {"group": group, "wait": "3600"}
        body = {"server": {"name": "s", **self._server}, "os:scheduler_hints": hints}
        uuid: str = done(client.compute("POST", "/servers", body)).json()["server"]["id"]
        return uuid

    def _claim(self, client: Client, count: int, **more: Any) -> str:
        uuid: str = done(client.scheduling("POST", "/claims", {"query": _QUERY, "count": count, **more})).json()["uuid"]
        return uuid

    def _state(self, client: Client, claim: str) -> str:
        state: str = done(client.scheduling("GET", f"/claims/{claim}")).json()["state"]
        return state

    def _active(self, client: Client, servers: Mapping[str, list[str]]) -> None:
        """Wait until all of these servers are active."""

        def statuses() -> set[str]:
            found = done(client.compute("GET", "/servers/detail")).json()["servers"]
            status = {server["id"]: server["status"] for server in found}
            return {status[server] for of_group in servers.values() for server in of_group}

        wait_until(lambda: statuses() == {"ACTIVE"}, "servers to be active", START)

    def _misplaced(self, client: Client, servers: Mapping[str, list[str]], claims: list[str]) -> list[str]:
        nodes = done(client.baremetal("GET", "/nodes?fields=uuid,instance_uuid")).json()["nodes"]
        node_of = {node["instance_uuid"]: node["uuid"] for node in nodes}
        racks = {policy: [self._rack_of[node_of[server]] for server in each] for policy, each in servers.items()}
        held = [done(client.scheduling("GET", f"/claims/{claim}")).json()["allocations"] for claim in claims]
        packed = {self._rack_of[node] for node in held[0]}
        findings = [] if len(set(racks[AFFINITY])) == 1 else [f"affinity: {racks[AFFINITY]}"]
        findings += [] if len(set(racks[ANTI_AFFINITY])) == 2 else [f"anti-affinity: {racks[ANTI_AFFINITY]}"]
        findings += [] if len(held[0]) == 2 and len(packed) == 1 else [f"two packed in a rack: {held[0]}"]
        of_servers = [node_of[server] for each in servers.values() for server in each]
        twice = [node for node, number in Counter([*of_servers, *held[0], *held[1]]).items() if number > 1]
        return [*findings, *(f"machine {node} has two holders" for node in twice)]


def done(response: requests.Response) -> requests.Response:
    """Return the response, which must be one of success."""
    assert response.ok, f"{response.request.method} {response.url}: {response.text}"
    return response
