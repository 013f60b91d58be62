"""Scheduling: four machines, and why a request finds none of them."""

from tests.functional.examples.storyteller import Storyteller

NODES = {
    "rack1-07": ["CUSTOM_NVME", "CUSTOM_OLD"],
    "rack1-08": ["CUSTOM_NVME"],
    "rack1-09": [],
    "rack1-10": ["CUSTOM_NVME"],
}
UUIDS = {name: f"f0e1d2c3-1111-4111-8111-00000000000{number}" for number, name in enumerate(NODES, 1)}
CONSUMER = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
QUERY = "resources=CUSTOM_GOLD:1&required=CUSTOM_NVME,!CUSTOM_OLD"
FLAVOR = {
    "vcpus": 64,
    "ram": 262144,
    "disk": 960,
    "extra_specs": {
        "resources:CUSTOM_GOLD": "1",
        "resources:VCPU": "0",
        "resources:MEMORY_MB": "0",
        "resources:DISK_GB": "0",
    },
}


def tell(teller: Storyteller) -> None:
    """One machine is old, one is claimed, one has no NVMe drives, and one is in maintenance."""
    for host in ("rack1-a", "rack1-b"):
        teller.service.add_conductor(host, "rack1")
    for name in NODES:
        _add(teller, name)
    teller.service.claim(CONSUMER, UUIDS["rack1-08"])
    teller.service.patch("rack1-10", ("replace", "/maintenance", True))
    teller.ask("GET", "/")
    teller.ask("GET", "/v1/openapi.json", longest=3)
    teller.ask("GET", "/v1/capacity", query="group_by=resource_class,trait:CUSTOM_NVME")
    teller.ask("GET", "/v1/groups", query="conductor_group=rack1")
    image = {"properties": {"trait:CUSTOM_NVME": "required"}}
    teller.ask("POST", "/v1/requests", {"flavor": FLAVOR, "image": image, "limit": 10})
    teller.ask("GET", "/v1/explanations", query=QUERY)
    wanted = {"resource_class": "gold", "traits": ["CUSTOM_NVME"], "wanted": 2}
    teller.ask("POST", "/v1/explanations", wanted)
    one = "/v1/explanations/nodes/{node}"
    teller.ask("GET", one, query="resources=CUSTOM_GOLD:1&required=CUSTOM_NVME", node="rack1-09")
    teller.ask("POST", one, {"flavor": FLAVOR, "image": image}, node="rack1-08")
    teller.ask("GET", "/v1/nodes/{node}/availability", node="rack1-10")


def _add(teller: Storyteller, name: str) -> None:
    """An available node; its UUID decides which conductor of the rack has it."""
    service = teller.service
    body = {"uuid": UUIDS[name], "name": name, "driver": "fake-hardware"}
    service.baremetal("POST", "/nodes", body, version="1.10")
    service.patch(name, ("add", "/resource_class", "gold"), ("add", "/conductor_group", "rack1"))
    service.baremetal("PUT", f"/nodes/{name}/traits", {"traits": NODES[name]})
    service.baremetal("PUT", f"/nodes/{name}/states/power", {"target": "power on"})
    service.work()
