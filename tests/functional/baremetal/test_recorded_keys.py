"""At every microversion the documents have the keys that a running Ironic 39.0.0 gave them (recorded)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.service import Service

pytestmark = pytest.mark.sqlite_only

RECORDED: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "data" / "keys_by_version.json").read_text()
)
PATHS = {
    "root_v1": "",
    "node": "/nodes/{uuid}",
    "node_list": "/nodes",
    "node_states": "/nodes/{uuid}/states",
    "driver": "/drivers/fake-hardware",
    "conductor": "/conductors/c1",
    "chassis": "/chassis/{chassis}",
    "chassis_list": "/chassis",
    "chassis_nodes": "/chassis/{chassis}/nodes",
    "port": "/ports/{port}",
    "ports": "/ports",
    "ports_by_node": "/ports?node_uuid={uuid}",
    "ports_detail": "/ports/detail",
    "node_ports": "/nodes/{uuid}/ports",
    "portgroup": "/portgroups/{portgroup}",
    "portgroups": "/portgroups",
    "node_portgroups": "/nodes/{uuid}/portgroups",
    "shards": "/shards",
    "volume": "/volume",
    "node_volume": "/nodes/{uuid}/volume",
    "connector": "/volume/connectors/{connector}",
    "connectors": "/volume/connectors",
    "target": "/volume/targets/{target}",
    "deploy_template": "/deploy_templates/{template}",
    "deploy_templates": "/deploy_templates",
    "runbook": "/runbooks/{runbook}",
    "runbooks": "/runbooks",
    "inspection_rule": "/inspection_rules/{rule}",
    "inspection_rules": "/inspection_rules",
}
#: Lists, with what they are called in the body; the first item is looked at.
LISTS = {
    "node_list": "nodes",
    "chassis_list": "chassis",
    "chassis_nodes": "nodes",
    "ports_by_node": "ports",
    "ports_detail": "ports",
    "node_ports": "ports",
    "node_portgroups": "portgroups",
    **{
        name: name
        for name in ("ports", "portgroups", "connectors", "shards", "deploy_templates", "runbooks", "inspection_rules")
    },
}


def keys_at(name: str) -> dict[int, set[str] | None]:
    """The recorded keys by microversion (minor); None where there was an error."""
    keys: set[str] | None = None
    by_version: dict[int, set[str] | None] = {}
    changes = {int(entry["from"].split(".")[1]): entry for entry in RECORDED[name]}
    for version in range(1, 116):
        entry = changes.get(version)
        if entry is not None:
            if entry.get("keys") is not None:
                keys = set(entry["keys"])
            elif "added" in entry or "removed" in entry:
                keys = (keys or set()) | set(entry.get("added") or ()) - set(entry.get("removed") or ())
            else:
                keys = None
        by_version[version] = set(keys) if keys is not None else None
    return by_version


def make_things(service: Service) -> dict[str, str]:
    """One of each, by what the paths call it; the values are UUIDs."""
    chassis = service.baremetal("POST", "/chassis", {}).json["uuid"]
    node = service.add_node("n1", power=False, chassis_uuid=chassis)
    things = {"uuid": node, "chassis": chassis}
    for name, path, body in (
        ("port", "/ports", {"address": "52:54:00:00:00:01"}),
        ("portgroup", "/portgroups", {}),
        ("connector", "/volume/connectors", {"type": "iqn", "connector_id": "iqn.a"}),
        ("target", "/volume/targets", {"volume_type": "iscsi", "volume_id": "v", "boot_index": 0}),
    ):
        things[name] = service.baremetal("POST", path, {"node_uuid": node, **body}).json["uuid"]
    step = {"interface": "bios", "step": "factory_reset", "args": {}}
    for name, path, number in (("template", "/deploy_templates", "priority"), ("runbook", "/runbooks", "order")):
        body = {"name": "CUSTOM_A", "steps": [{**step, number: 1}]}
        things[name] = service.baremetal("POST", path, body).json["uuid"]
    body = {"actions": [{"op": "add-trait", "args": {"name": "CUSTOM_A"}}]}
    things["rule"] = service.baremetal("POST", "/inspection_rules", body).json["uuid"]
    return things


@pytest.mark.ci
def test_keys(service: Service, subtests: pytest.Subtests) -> None:
    things = make_things(service)
    for name in PATHS:
        with subtests.test(msg=name):
            by_version = keys_at(name)
            for version, keys in by_version.items():
                if by_version.get(version - 1, keys) == keys == by_version.get(version + 1):
                    continue  # only the first and the last with the same keys
                path = PATHS[name].format(**things)
                response = service.baremetal("GET", path, version=f"1.{version}", status="*")
                document = response.json.get(LISTS.get(name), [response.json])[0]
                if keys is None:
                    assert response.status_code >= 400, version
                else:
                    assert set(document) == keys, version
