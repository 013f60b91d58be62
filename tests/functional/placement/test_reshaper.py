"""POST /reshaper"""

from typing import Any

from tests.service import Service

CONSUMER = "aaaaaaaa-0000-4000-8000-0000000000aa"
PROVIDERS = [f"0000000{n}-0000-4000-8000-000000000001" for n in range(1, 3)]


def add_provider(service: Service, uuid: str, **totals: int) -> None:
    service.placement("POST", "/resource_providers", {"name": uuid, "uuid": uuid})
    service.placement("PUT", f"/resource_providers/{uuid}/inventories", inventories(service, uuid, **totals))


def inventories(service: Service, uuid: str, **totals: int) -> dict[str, Any]:
    generation = service.placement("GET", f"/resource_providers/{uuid}").json["generation"]
    stocks = {name: {"total": total} for name, total in totals.items()}
    return {"resource_provider_generation": generation, "inventories": stocks}


def held(service: Service, consumer: str = CONSUMER) -> dict[str, Any]:
    document = service.placement("GET", f"/allocations/{consumer}").json["allocations"]
    return {provider: item["resources"] for provider, item in document.items()}


def write(generation: int | None, **amounts: dict[str, int]) -> dict[str, Any]:
    return {
        "allocations": {uuid: {"resources": resources} for uuid, resources in amounts.items()},
        "consumer_generation": generation,
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
    }


def test_inventory_and_what_is_held_of_it_move_to_a_child(service: Service) -> None:
    root, child = PROVIDERS
    add_provider(service, root, VCPU=4, DISK_GB=10)
    add_provider(service, child)
    service.placement("PUT", f"/allocations/{CONSUMER}", write(None, **{root: {"VCPU": 3, "DISK_GB": 5}}))
    body = {
        "inventories": {root: inventories(service, root, DISK_GB=10), child: inventories(service, child, VCPU=4)},
        "allocations": {CONSUMER: write(1, **{root: {"DISK_GB": 5}, child: {"VCPU": 3}})},
    }
    service.placement("POST", "/reshaper", body, status=204)
    assert held(service) == {root: {"DISK_GB": 5}, child: {"VCPU": 3}}
    assert list(service.inventory(root)) == ["DISK_GB"]
    assert list(service.inventory(child)) == ["VCPU"]


def test_of_several_providers_that_cannot_be_reshaped_the_first_named_is_complained_of(service: Service) -> None:
    for uuid in PROVIDERS:
        add_provider(service, uuid, VCPU=4)
    service.placement("PUT", f"/allocations/{CONSUMER}", write(None, **{uuid: {"VCPU": 1} for uuid in PROVIDERS}))
    for first, second in (PROVIDERS, PROVIDERS[::-1]):
        body = {
            "inventories": {first: inventories(service, first), second: inventories(service, second)},
            "allocations": {},
        }
        error = service.placement("POST", "/reshaper", body, status=409).json["errors"][0]
        assert f"Inventory for 'VCPU' on resource provider '{first}' in use." in error["detail"]
        assert error["code"] == "placement.inventory.inuse"
    assert held(service) == {uuid: {"VCPU": 1} for uuid in PROVIDERS}
