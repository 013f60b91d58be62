"""Scheduling: four machines, and why a request finds none of them."""

from unittest.mock import patch

from baremetal_sched import bounded_http
from baremetal_sched.bounded_http import Answer
from tests.functional.examples.storyteller import Storyteller
from tests.numbered import number_all
from tests.webhook_tests import sending

NODES = {
    "rack1-07": ["CUSTOM_NVME", "CUSTOM_OLD"],
    "rack1-08": ["CUSTOM_NVME"],
    "rack1-09": [],
    "rack1-10": ["CUSTOM_NVME"],
}
UUIDS = {name: f"f0e1d2c3-1111-4111-8111-00000000000{number}" for number, name in enumerate(NODES, 1)}
CONSUMER = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
CLAIM = "3f2504e0-4f89-41d3-9a0c-0305e82c3302"
BOOKING = "3f2504e0-4f89-41d3-9a0c-0305e82c3303"
PROJECT, USER = "b4e8c6a0f1d24f0a9c3e5d7b8a6f4e21", "d2a1f0e9c8b74a6d8e5f3c1b0a9d8e7f"
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
    consumer = {"uuid": CLAIM, "project_id": PROJECT, "user_id": USER, "type": "INSTANCE"}
    teller.ask("POST", "/v1/claims", {"query": QUERY, "consumer": consumer, "wait": 3600}, status=202)
    teller.ask("GET", "/v1/claims", query="state=waiting&resource_class=CUSTOM_GOLD")
    teller.service.placement("DELETE", f"/allocations/{CONSUMER}")
    teller.ask("GET", "/v1/claims/{claim}", query="wait=30", claim=CLAIM)
    teller.ask("PATCH", "/v1/claims/{claim}", {"until": "2099-12-31T18:00:00+01:00"}, claim=CLAIM)
    teller.ask("DELETE", "/v1/claims/{claim}", claim=CLAIM)
    _tell_holds(teller)
    _tell_domains(teller)
    number_all(teller.service)
    teller.ask("GET", "/v1/events", query="type=scheduling.machine.released&limit=1")
    _tell_webhooks(teller)
    _tell_bookings(teller)


def _tell_bookings(teller: Storyteller) -> None:
    """Two machines for a week, and then for longer."""
    new = {"query": "resources=CUSTOM_GOLD:1", "count": 2, "name": "training", "uuid": BOOKING}
    new |= {"starts_at": "2050-12-05T08:00:00+01:00", "ends_at": "2050-12-09T18:00:00+01:00"}
    teller.ask("POST", "/v1/bookings", {**new, "project_id": PROJECT, "user_id": USER})
    teller.ask("GET", "/v1/bookings", query="state=planned&resource_class=CUSTOM_GOLD")
    one = "/v1/bookings/{booking}"
    teller.ask("GET", one, booking=BOOKING)
    teller.ask("PATCH", one, {"name": "course", "ends_at": "2050-12-10T18:00:00+01:00"}, booking=BOOKING)
    teller.ask("DELETE", one, booking=BOOKING)


def _tell_holds(teller: Storyteller) -> None:
    """A window for the rack, and a machine that is broken."""
    window = {"type": "window", "reason": "New switches", "starts_at": "2050-01-01T22:00:00Z"}
    window |= {"ends_at": "2050-01-02T04:00:00Z", "filter": {"conductor_group": "rack1"}}
    teller.ask("POST", "/v1/holds", window, longest=2)
    broken = {"type": "hardware_failure", "reason": "Fan 3", "extra": {"ticket": "T-4711"}}
    path = "/v1/nodes/{node}/holds"
    hold = teller.ask("POST", path, broken, node="rack1-07")["uuid"]
    teller.ask("GET", path, node="rack1-07")
    teller.ask("GET", "/v1/holds", query="since=2050-01-01T00:00:00Z&conductor_group=rack1&limit=2")
    teller.ask("GET", f"{path}/{{hold}}", node="rack1-07", hold=hold)
    longer = {"ends_at": "2050-01-03T12:00:00Z", "reason": "Fan 3 and fan 4"}
    teller.ask("PATCH", f"{path}/{{hold}}", longer, node="rack1-07", hold=hold)
    teller.ask("DELETE", f"{path}/{{hold}}", node="rack1-07", hold=hold)
    teller.ask("DELETE", path, node="rack1-07")


def _tell_domains(teller: Storyteller) -> None:
    """Two racks from a property, in a row; a machine moves, and the other rack is deleted."""
    for name, rack in (("rack1-07", "rack-1"), ("rack1-08", "rack-1"), ("rack1-09", "rack-2")):
        teller.service.patch(name, ("add", "/properties/rack", rack))
    teller.ask("POST", "/v1/domains/from_property", {"level": "rack", "property": "rack"})
    row = teller.ask("POST", "/v1/domains", {"name": "row-a", "level": "row"})["uuid"]
    racks = teller.ask("GET", "/v1/domains", query="level=rack&limit=2")["domains"]
    one = "/v1/domains/{domain}"
    first, second = (each["uuid"] for each in racks)
    teller.ask("PATCH", one, {"parent": row}, domain=first)
    node = f"{one}/nodes/{{node}}"
    teller.ask("PUT", node, domain=first, node="rack1-09")
    teller.ask("GET", one, domain=first)
    teller.ask("GET", f"{one}/nodes", domain=first)
    teller.ask("DELETE", node, domain=first, node="rack1-09")
    teller.ask("DELETE", one, domain=second)


def _tell_webhooks(teller: Storyteller) -> None:
    """A chat is told of failures; it is tried; its secret is replaced; it refuses an event."""
    new = {"name": "chat", "url": "https://hooks.example.com/machines", "types": ["baremetal.node.provision_set.error"]}
    hook = teller.ask("POST", "/v1/webhooks", new)["uuid"]
    teller.ask("GET", "/v1/webhooks", query="state=active&limit=2")
    one = "/v1/webhooks/{webhook}"
    teller.ask("GET", one, webhook=hook)
    with sending(teller.service), patch.object(bounded_http, "exchange", lambda *_, **__: Answer(204, "", None, b"")):
        teller.ask("POST", f"{one}/test", webhook=hook)
    teller.ask("PATCH", one, {"new_secret": True}, webhook=hook)
    teller.service.set_columns(UUIDS["rack1-07"], provision_state="deploy failed")
    number_all(teller.service)
    teller.ask("POST", f"{one}/resume", {"skip": 1}, webhook=hook)
    teller.ask("DELETE", one, webhook=hook)


def _add(teller: Storyteller, name: str) -> None:
    """An available node; its UUID decides which conductor of the rack has it."""
    service = teller.service
    body = {"uuid": UUIDS[name], "name": name, "driver": "fake-hardware"}
    service.baremetal("POST", "/nodes", body, version="1.10")
    service.patch(name, ("add", "/resource_class", "gold"), ("add", "/conductor_group", "rack1"))
    service.baremetal("PUT", f"/nodes/{name}/traits", {"traits": NODES[name]})
    service.baremetal("PUT", f"/nodes/{name}/states/power", {"target": "power on"})
    service.work()
