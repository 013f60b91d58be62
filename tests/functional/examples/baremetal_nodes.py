"""Bare metal: nodes, their traits and states, and what the driver answers about them."""

from typing import Any

from tests.functional.examples.storyteller import Storyteller

NODE = "rack1-07"


def tell(teller: Storyteller) -> None:
    """Enrol a node, describe it and make it available, as an operator does."""
    _enrol(teller)
    _describe(teller)
    _check(teller)
    _switch(teller)
    _retire(teller)


def replace(path: str, value: Any) -> dict[str, Any]:
    """An operation of JSON Patch."""
    return {"op": "replace", "path": path, "value": value}


def provision(teller: Storyteller, node: str, target: str, **more: Any) -> None:
    """Ask for a verb, and let the conductor do its work."""
    teller.prepare("PUT", f"/v1/nodes/{node}/states/provision", {"target": target, **more})
    teller.work()


def _enrol(teller: Storyteller) -> None:
    teller.ask("GET", "/")
    teller.ask("GET", "/v1")
    body = {
        "name": NODE,
        "driver": "fake-hardware",
        "resource_class": "gold",
        "properties": {"cpu_arch": "x86_64", "memory_mb": 262144, "local_gb": 960},
    }
    teller.ask("POST", "/v1/nodes", body, status=201)
    teller.ask("GET", "/v1/nodes")
    provision(teller, NODE, "manage")


def _describe(teller: Storyteller) -> None:
    traits = "/v1/nodes/{ident}/traits"
    teller.ask("PUT", traits, {"traits": ["CUSTOM_NVME", "HW_CPU_X86_VMX"]}, ident=NODE)
    teller.ask("PUT", f"{traits}/{{trait}}", ident=NODE, trait="CUSTOM_LIQUID_COOLED")
    teller.ask("GET", traits, ident=NODE)
    teller.ask("DELETE", f"{traits}/{{trait}}", ident=NODE, trait="CUSTOM_LIQUID_COOLED")
    changes = [replace("/shard", "shard-1"), {"op": "add", "path": "/extra/rack", "value": "rack1"}]
    teller.ask("PATCH", "/v1/nodes/{ident}", changes, ident=NODE)
    teller.ask("GET", "/v1/nodes/{ident}", ident=NODE)
    teller.ask("GET", "/v1/nodes/detail", query="limit=1")
    teller.ask("GET", "/v1/shards")
    node = teller.prepare("GET", f"/v1/nodes/{NODE}")["uuid"]
    teller.prepare("POST", "/v1/nodes", {"name": f"{NODE}-dpu", "driver": "fake-hardware", "parent_node": node})
    teller.ask("GET", "/v1/nodes/{ident}/children", ident=NODE)


def _check(teller: Storyteller) -> None:
    teller.ask("GET", "/v1/nodes/{ident}/validate", ident=NODE)
    teller.ask("GET", "/v1/nodes/validate", query=f"node={NODE}")
    teller.ask("PUT", "/v1/nodes/{ident}/states/provision", {"target": "provide"}, ident=NODE)
    teller.work()
    teller.ask("GET", "/v1/nodes/{ident}/states", ident=NODE)
    events = teller.ask("GET", "/v1/nodes/{ident}/history", query="limit=2", ident=NODE)["history"]
    teller.ask("GET", "/v1/nodes/{ident}/history/{uuid}", ident=NODE, uuid=events[0]["uuid"])


def _switch(teller: Storyteller) -> None:
    """Each of these must end before the next begins."""
    states = "/v1/nodes/{ident}/states"
    for part, body in (
        ("power", {"target": "power on"}),
        ("raid", {"logical_disks": [{"size_gb": 480, "raid_level": "1", "is_root_volume": True}]}),
        ("console", {"enabled": True}),
        ("boot_mode", {"target": "uefi"}),
        ("secure_boot", {"target": True}),
    ):
        teller.ask("PUT", f"{states}/{part}", body, ident=NODE)
        teller.work()
    teller.ask("GET", f"{states}/console", ident=NODE)
    teller.ask("PUT", "/v1/nodes/{ident}/maintenance", {"reason": "A fan is replaced"}, ident=NODE)
    teller.ask("DELETE", "/v1/nodes/{ident}/maintenance", ident=NODE)


def _retire(teller: Storyteller) -> None:
    teller.ask("DELETE", "/v1/nodes/{ident}/traits", ident=NODE)
    teller.prepare("POST", "/v1/nodes", {"name": "rack1-08", "driver": "fake-hardware"})
    teller.ask("DELETE", "/v1/nodes/{ident}", ident="rack1-08")
