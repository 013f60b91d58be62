"""The world of servers: nodes of one class, a flavor that asks for one of them, and an image."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import requests

from tests.processes import Client
from tests.waiting import wait_until

RESOURCE_CLASS = "gold"
_FLAVOR = {"name": "bm.gold", "vcpus": 4, "ram": 2048, "disk": 20}
_SPECS = {"resources:CUSTOM_GOLD": "1", "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}
IMAGE = {"name": "debian", "disk_format": "raw", "container_format": "bare"}
_CLIENTS = 4
#: What brings a node back into service, by the state in which it was left.
_REPAIRS = {"clean failed": "manage", "manageable": "provide", "error": "deleted", "enroll": "manage"}


def enrol(url: str, count: int, groups: Iterable[str] = ("",)) -> list[str]:
    """Make nodes, the groups in turn, and wait until all can be given out; returns their UUIDs."""
    names = [*groups]

    def create(first: int) -> list[str]:
        with Client(url) as client:
            return [_create(client, names[number % len(names)]) for number in range(first, count, _CLIENTS)]

    with ThreadPoolExecutor(_CLIENTS) as threads:
        nodes = [node for created in threads.map(create, range(_CLIENTS)) for node in created]
    with Client(url) as client:
        wait_until(lambda: len(offered(client)) == count, "all machines to be offered")
    return nodes


def _create(client: Client, group: str) -> str:
    # Below 1.11 nodes are created available.
    created = client.baremetal("POST", "/nodes", {"driver": "fake-hardware"}, "1.10")
    assert created.status_code == 201, created.text
    node: str = created.json()["uuid"]
    patch = [
        {"op": "add", "path": "/resource_class", "value": RESOURCE_CLASS},
        {"op": "add", "path": "/conductor_group", "value": group},
    ]
    changed = client.baremetal("PATCH", f"/nodes/{node}", patch)
    assert changed.status_code == 200, changed.text
    switched = client.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power on"})
    assert switched.status_code == 202, switched.text
    return node


def offered(client: Client) -> list[str]:
    """The nodes that placement offers."""
    path = f"/allocation_candidates?limit=1000&resources=CUSTOM_{RESOURCE_CLASS.upper()}:1"
    return [*client.placement("GET", path).json().get("provider_summaries", {})]


def flavor_and_image(client: Client) -> dict[str, str]:
    """Make both; returns what a request for a server says of them."""
    image = client.image("POST", "/images", IMAGE)
    assert image.status_code == 201, image.text
    return {**flavor(client), "imageRef": image.json()["id"]}


def flavor(client: Client) -> dict[str, str]:
    """Make it; returns a request for a server, without its image."""
    made = client.compute("POST", "/flavors", {"flavor": _FLAVOR}).json()["flavor"]["id"]
    assert client.compute("POST", f"/flavors/{made}/os-extra_specs", {"extra_specs": _SPECS}).ok
    return {"flavorRef": made, "networks": "none"}


def repair(url: str) -> None:
    """Bring back the nodes whose cleaning or undeployment was interrupted: that is an operator's task."""
    with suppress(requests.RequestException), Client(url) as client:
        found = client.baremetal("GET", "/nodes?fields=uuid,provision_state,maintenance,reservation")
        for node in found.json().get("nodes", []):
            verb, path = _REPAIRS.get(node["provision_state"]), f"/nodes/{node['uuid']}"
            if node["reservation"] is None and node["maintenance"]:
                client.baremetal("DELETE", f"{path}/maintenance")
            if node["reservation"] is None and verb is not None:
                client.baremetal("PUT", f"{path}/states/provision", {"target": verb})
