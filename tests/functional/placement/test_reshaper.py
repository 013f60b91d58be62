# tier: first
"""POST /reshaper"""

from typing import Any

import pytest

from tests.restored import restored
from tests.service import Service

CONSUMER = "aaaaaaaa-0000-4000-8000-0000000000aa"
OTHER = "aaaaaaaa-0000-4000-8000-0000000000bb"
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


def test_generations_grow_by_each_step(service: Service) -> None:
    """Once for the new inventory beside the old one (if there is a new one), once for what is allocated of it, once for
    the end."""

    def grown(uuid: str, stocks: dict[str, int], writes: dict[str, Any]) -> int:
        document = inventories(service, uuid, **stocks)
        service.placement("POST", "/reshaper", {"inventories": {uuid: document}, "allocations": writes}, status=204)
        now: int = service.placement("GET", f"/resource_providers/{uuid}").json["generation"]
        return now - int(document["resource_provider_generation"])

    uuid = PROVIDERS[0]
    add_provider(service, uuid, VCPU=4)
    assert grown(uuid, {"VCPU": 8}, {}) == 2
    assert grown(uuid, {"VCPU": 8}, {CONSUMER: write(None, **{uuid: {"VCPU": 8}})}) == 3
    assert grown(uuid, {}, {CONSUMER: write(1)}) == 2
    assert grown(uuid, {}, {}) == 1
    assert service.inventory(uuid) == {}


def test_a_reshape_that_fails_changes_nothing(service: Service, subtests: pytest.Subtests) -> None:
    """Neither inventories nor generations, nor consumers: not even new ones."""
    for last, status in [
        ({"DISK_GB": 5}, 409),
        ({"VCPU": 1, "DISK_GB": 1}, 409),
        ({"CUSTOM_NONE": 1}, 400),
        (None, 400),
    ]:
        with subtests.test(last=last), restored(service):
            root, child = PROVIDERS
            add_provider(service, root, VCPU=4)
            add_provider(service, child)
            service.placement("PUT", f"/allocations/{CONSUMER}", write(None, **{root: {"VCPU": 3}}))
            before = [service.placement("GET", f"/resource_providers/{uuid}/inventories").json for uuid in PROVIDERS]
            other = write(None, **({root: last} if last else {CONSUMER: {"VCPU": 1}}))
            body = {
                "inventories": {
                    root: inventories(service, root, DISK_GB=4),
                    child: inventories(service, child, VCPU=4),
                },
                "allocations": {CONSUMER: write(1, **{child: {"VCPU": 3}}), OTHER: other},
            }
            service.placement("POST", "/reshaper", body, status=status)
            assert [
                service.placement("GET", f"/resource_providers/{uuid}/inventories").json for uuid in PROVIDERS
            ] == before
            assert held(service) == {root: {"VCPU": 3}}
            assert service.placement("GET", f"/allocations/{OTHER}").json == {"allocations": {}}
            assert service.placement("GET", f"/allocations/{CONSUMER}").json["consumer_generation"] == 1
            body["allocations"] = {
                CONSUMER: write(1, **{child: {"VCPU": 3}}),
                OTHER: write(None, **{root: {"DISK_GB": 4}}),
            }
            service.placement("POST", "/reshaper", body, status=204)
            assert held(service, OTHER) == {root: {"DISK_GB": 4}}


def test_a_consumer_that_a_reshape_leaves_nothing_is_gone(service: Service) -> None:
    """Also one that never was."""
    uuid = PROVIDERS[0]
    add_provider(service, uuid, VCPU=4)
    service.placement("PUT", f"/allocations/{CONSUMER}", write(None, **{uuid: {"VCPU": 3}}))
    body = {
        "inventories": {uuid: inventories(service, uuid, VCPU=4)},
        "allocations": {CONSUMER: write(1), OTHER: write(None)},
    }
    service.placement("POST", "/reshaper", body, status=204)
    for consumer in (CONSUMER, OTHER):
        service.placement("PUT", f"/allocations/{consumer}", write(None, **{uuid: {"VCPU": 1}}), status=204)
