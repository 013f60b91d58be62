"""Bare metal: allocations, deploy templates, runbooks, inspection rules; conductors and drivers."""

from tests.functional.examples.baremetal_nodes import replace
from tests.functional.examples.storyteller import Storyteller

RESET = {"interface": "bios", "step": "factory_reset", "args": {}}


def tell(teller: Storyteller) -> None:
    """Allocate nodes, and say how machines are deployed, cleaned and inspected."""
    _allocations(teller)
    _templates(teller)
    _runbooks(teller)
    _rules(teller)
    _service(teller)


def _allocations(teller: Storyteller) -> None:
    node = teller.service.add_node("rack3-01", resource_class="platinum", traits=("CUSTOM_NVME",))
    body = {"name": "database-1", "resource_class": "platinum", "traits": ["CUSTOM_NVME", "!CUSTOM_OLD"]}
    teller.ask("POST", "/v1/allocations", body, status=201)
    teller.ask("GET", "/v1/allocations")
    one = "/v1/allocations/{ident}"
    teller.ask("GET", one, ident="database-1")
    teller.ask("PATCH", one, [{"op": "add", "path": "/extra/purpose", "value": "primary"}], ident="database-1")
    teller.ask("GET", "/v1/nodes/{ident}/allocation", ident=node)
    teller.ask("DELETE", "/v1/nodes/{ident}/allocation", ident=node)
    teller.prepare("POST", "/v1/allocations", {"name": "database-2", "resource_class": "platinum"})
    teller.ask("DELETE", one, ident="database-2")


def _templates(teller: Storyteller) -> None:
    path, one = "/v1/deploy_templates", "/v1/deploy_templates/{ident}"
    teller.ask("POST", path, {"name": "CUSTOM_BIOS_DEFAULTS", "steps": [{**RESET, "priority": 150}]}, status=201)
    teller.ask("GET", path)
    teller.ask("GET", one, ident="CUSTOM_BIOS_DEFAULTS")
    teller.ask("PATCH", one, [replace("/steps/0/priority", 90)], ident="CUSTOM_BIOS_DEFAULTS")
    teller.ask("DELETE", one, ident="CUSTOM_BIOS_DEFAULTS")


def _runbooks(teller: Storyteller) -> None:
    path, one, traits = "/v1/runbooks", "/v1/runbooks/{ident}", "/v1/runbooks/{ident}/traits"
    name = "CUSTOM_RESET_BIOS"
    teller.ask("POST", path, {"name": name, "steps": [{**RESET, "order": 1}]}, status=201)
    teller.ask("GET", path)
    teller.ask("PATCH", one, [replace("/public", True)], ident=name)
    teller.ask("GET", one, ident=name)
    teller.ask("PUT", traits, {"traits": ["CUSTOM_NVME"]}, ident=name)
    teller.ask("PUT", f"{traits}/{{trait}}", ident=name, trait="CUSTOM_LIQUID_COOLED")
    teller.ask("GET", traits, ident=name)
    teller.ask("DELETE", f"{traits}/{{trait}}", ident=name, trait="CUSTOM_LIQUID_COOLED")
    teller.ask("DELETE", traits, ident=name)
    teller.ask("DELETE", one, ident=name)


def _rules(teller: Storyteller) -> None:
    path, one = "/v1/inspection_rules", "/v1/inspection_rules/{uuid}"
    rule = {
        "description": "Machines with much memory",
        "conditions": [{"op": "gt", "args": {"values": ["{inventory[memory][physical_mb]}", 1048575]}}],
        "actions": [{"op": "add-trait", "args": ["CUSTOM_LARGE_MEMORY"]}],
    }
    uuid = teller.ask("POST", path, rule, status=201)["uuid"]
    teller.ask("GET", path)
    teller.ask("GET", one, uuid=uuid)
    teller.ask("PATCH", one, [replace("/description", "Machines with 1 TiB of memory")], uuid=uuid)
    teller.ask("DELETE", one, uuid=uuid)
    teller.ask("DELETE", path)


def _service(teller: Storyteller) -> None:
    teller.ask("GET", "/v1/conductors")
    teller.ask("GET", "/v1/conductors/{hostname}", hostname="conductor-1")
    driver = "/v1/drivers/{name}"
    teller.ask("GET", "/v1/drivers", query="fields=name,hosts,type")
    teller.ask("GET", driver, name="fake-hardware")
    teller.ask("GET", f"{driver}/properties", name="fake-hardware")
    teller.ask("GET", f"{driver}/raid/logical_disk_properties", name="fake-hardware")
    teller.ask("GET", f"{driver}/vendor_passthru/methods", name="fake-hardware")
    refused = {"name": "fake-hardware", "method": "reset"}
    teller.ask("POST", f"{driver}/vendor_passthru/{{method}}", {}, status=400, **refused)
