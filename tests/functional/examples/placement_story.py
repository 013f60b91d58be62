"""Placement: a rack with shared storage, and what is claimed of it."""

from typing import Any

from tests.functional.examples.storyteller import Storyteller

PROVIDER = "d9cbc69a-a2cc-4013-83a1-7bd707265885"
STORAGE = "0c9d4f3e-52a1-4c8a-9f0b-2f6d1a7b8e90"
AGGREGATE = "6b7a1f0e-7c3d-4a58-8f6e-1d2c3b4a5968"
CONSUMER = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
OTHER = "7d444840-9dc0-41d1-b245-5ffdce74fad2"
OWN = "/resource_providers/{uuid}"


def tell(teller: Storyteller) -> None:
    """Describe what there is, claim some of it, and clear up."""
    teller.ask("GET", "/")
    _name(teller)
    _describe(teller)
    _claim(teller)
    _clear(teller)


def _name(teller: Storyteller) -> None:
    teller.ask("GET", "/resource_classes", longest=4)
    teller.ask("POST", "/resource_classes", {"name": "CUSTOM_FPGA"}, status=201)
    teller.ask("PUT", "/resource_classes/{name}", status=201, name="CUSTOM_GOLD")
    teller.ask("GET", "/resource_classes/{name}", name="CUSTOM_GOLD")
    teller.ask("DELETE", "/resource_classes/{name}", name="CUSTOM_FPGA")
    teller.ask("PUT", "/traits/{name}", status=201, name="CUSTOM_NVME")
    teller.ask("GET", "/traits/{name}", name="CUSTOM_NVME")
    teller.ask("GET", "/traits", query="name=startswith:CUSTOM_")
    teller.prepare("PUT", "/traits/CUSTOM_OLD")
    teller.ask("DELETE", "/traits/{name}", name="CUSTOM_OLD")


def _describe(teller: Storyteller) -> None:
    teller.ask("POST", "/resource_providers", {"name": "rack1-07", "uuid": PROVIDER})
    teller.prepare("POST", "/resource_providers", {"name": "storage-1", "uuid": STORAGE})
    teller.ask("GET", "/resource_providers")
    teller.ask("GET", OWN, uuid=PROVIDER)
    teller.ask("PUT", OWN, {"name": "rack1-08"}, uuid=PROVIDER)
    stock = {"total": 1, "max_unit": 1}
    gold = {"resource_provider_generation": 0, "inventories": {"CUSTOM_GOLD": stock}}
    teller.ask("PUT", f"{OWN}/inventories", gold, uuid=PROVIDER)
    vcpus = {"resource_class": "VCPU", "total": 64, "resource_provider_generation": 1}
    teller.ask("POST", f"{OWN}/inventories", vcpus, status=201, uuid=PROVIDER)
    teller.ask("GET", f"{OWN}/inventories", uuid=PROVIDER)
    one = f"{OWN}/inventories/{{resource_class}}"
    changed = {"resource_provider_generation": 2, "total": 64, "allocation_ratio": 2.0}
    teller.ask("PUT", one, changed, uuid=PROVIDER, resource_class="VCPU")
    teller.ask("GET", one, uuid=PROVIDER, resource_class="VCPU")
    teller.ask("DELETE", one, uuid=PROVIDER, resource_class="VCPU")
    traits = {"resource_provider_generation": 4, "traits": ["CUSTOM_NVME", "HW_CPU_X86_VMX"]}
    teller.ask("PUT", f"{OWN}/traits", traits, uuid=PROVIDER)
    teller.ask("GET", f"{OWN}/traits", uuid=PROVIDER)
    aggregates = {"resource_provider_generation": 5, "aggregates": [AGGREGATE]}
    teller.ask("PUT", f"{OWN}/aggregates", aggregates, uuid=PROVIDER)
    teller.ask("GET", f"{OWN}/aggregates", uuid=PROVIDER)
    disk = {"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 4000}}}
    teller.prepare("PUT", f"/resource_providers/{STORAGE}/inventories", disk)


def _claim(teller: Storyteller) -> None:
    teller.ask("GET", "/allocation_candidates", query="resources=CUSTOM_GOLD:1&required=CUSTOM_NVME")
    one = "/allocations/{consumer}"
    teller.ask("PUT", one, claim({PROVIDER: {"CUSTOM_GOLD": 1}}), consumer=CONSUMER)
    teller.ask("GET", one, consumer=CONSUMER)
    teller.ask("GET", f"{OWN}/allocations", uuid=PROVIDER)
    teller.ask("GET", f"{OWN}/usages", uuid=PROVIDER)
    teller.ask("GET", "/usages", query="project_id=demo")
    several = {OTHER: claim({STORAGE: {"DISK_GB": 100}})}
    several[CONSUMER] = claim({PROVIDER: {"CUSTOM_GOLD": 1}, STORAGE: {"DISK_GB": 50}}, generation=1)
    teller.ask("POST", "/allocations", several)
    teller.ask("DELETE", one, consumer=OTHER)
    disk = {"DISK_GB": {"total": 8000}}
    inventories = {STORAGE: {"resource_provider_generation": 2, "inventories": disk}}
    moved = {CONSUMER: claim({PROVIDER: {"CUSTOM_GOLD": 1}, STORAGE: {"DISK_GB": 80}}, generation=2)}
    teller.ask("POST", "/reshaper", {"inventories": inventories, "allocations": moved})


def _clear(teller: Storyteller) -> None:
    teller.prepare("DELETE", f"/allocations/{CONSUMER}")
    teller.ask("DELETE", f"{OWN}/traits", uuid=PROVIDER)
    teller.ask("DELETE", f"{OWN}/inventories", uuid=PROVIDER)
    teller.ask("DELETE", OWN, uuid=PROVIDER)


def claim(wanted: dict[str, dict[str, int]], generation: int | None = None) -> dict[str, Any]:
    """The allocations of a consumer, by provider and class."""
    return {
        "allocations": {provider: {"resources": amounts} for provider, amounts in wanted.items()},
        "project_id": "demo",
        "user_id": "demo",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }
