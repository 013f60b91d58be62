"""Bare metal: chassis, ports, port groups, volumes and events."""

from typing import Any

from tests.functional.examples.baremetal_nodes import NODE, replace
from tests.functional.examples.storyteller import Storyteller


def tell(teller: Storyteller) -> None:
    """Say how the node of the stories before is connected."""
    node = teller.prepare("GET", f"/v1/nodes/{NODE}")["uuid"]
    # Volumes change only while the power is off.
    teller.prepare("PUT", f"/v1/nodes/{NODE}/states/power", {"target": "power off"})
    teller.work()
    group = {"node_uuid": node, "name": "bond0", "mode": "802.3ad"}
    port = {"node_uuid": node, "address": "52:54:00:aa:bb:01", "physical_network": "provider"}
    connector = {"node_uuid": node, "type": "iqn", "connector_id": "iqn.2026-01.org.example:rack1-07"}
    target = {"node_uuid": node, "volume_type": "iscsi", "boot_index": 0, "volume_id": "boot-volume"}
    _collection(teller, "/v1/chassis", "{uuid}", {"description": "Rack 1"}, replace("/description", "Rack 1, row B"))
    _collection(teller, "/v1/portgroups", "{ident}", group, replace("/mode", "active-backup"))
    _collection(teller, "/v1/ports", "{ident}", port, replace("/physical_network", "storage"))
    teller.ask("GET", "/v1/volume")
    change = replace("/connector_id", "iqn.2026-01.org.example:rack1-07-a")
    _collection(teller, "/v1/volume/connectors", "{uuid}", connector, change)
    _collection(teller, "/v1/volume/targets", "{uuid}", target, replace("/volume_id", "other-volume"))
    event = {
        "event": "network.bind_port",
        "port_id": "5a3a1e2c-9a4e-4d0f-9d3e-0d2f7a9b6c11",
        "mac_address": "52:54:00:aa:bb:01",
        "status": "ACTIVE",
    }
    teller.ask("POST", "/v1/events", {"events": [event]})


def _collection(teller: Storyteller, path: str, name: str, body: Any, change: Any) -> None:
    """Create something, look at it, change it and delete it."""
    uuid = teller.ask("POST", path, body, status=201)["uuid"]
    own = {name.strip("{}"): uuid}
    # A port of the agent's story is there too.
    query = f"node={NODE}" if path == "/v1/ports" else ""
    teller.ask("GET", path, query=query)
    teller.ask("GET", f"{path}/{name}", **own)
    teller.ask("PATCH", f"{path}/{name}", [change], **own)
    teller.ask("DELETE", f"{path}/{name}", **own)
