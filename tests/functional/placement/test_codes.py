# tier: first
"""The codes of errors: all there are, and what has which."""

from typing import Any

import pytest

from tests.service import Service
from tests.unchanged import unchanged
from tests.worlds import build, spec, uuid_of

ROOT, CHILD = (f"/resource_providers/{uuid_of(name)}" for name in "ab")
CONSUMER, NOBODY = uuid_of("consumer"), uuid_of("nobody")


def claim(amounts: dict[str, dict[str, int]], generation: int | None = None) -> dict[str, Any]:
    allocations = {uuid: {"resources": resources} for uuid, resources in amounts.items()}
    owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    return {"allocations": allocations, "consumer_generation": generation, **owner}


def reshape(name: str, generation: int) -> dict[str, Any]:
    """One that leaves the provider without inventory."""
    shape = {"resource_provider_generation": generation, "inventories": {}}
    return {"inventories": {uuid_of(name): shape}, "allocations": {}}


#: A request and the code of its refusal, in the world of a provider with a child, an inventory and an allocation of it.
CODES: list[tuple[str, str, Any, int, str]] = [
    (
        "GET",
        "/allocation_candidates?resources=VCPU:1&root_required=A&root_required=B",
        None,
        400,
        "query.duplicate_key",
    ),
    ("GET", "/allocation_candidates?resources=VCPU:1&root_required=A,!A", None, 400, "query.bad_value"),
    ("GET", "/allocation_candidates?resources1=VCPU:1&same_subtree=1,2", None, 400, "query.bad_value"),
    ("GET", "/allocation_candidates?resources1=VCPU:1&same_subtree=1,", None, 400, "query.bad_value"),
    ("GET", "/allocation_candidates?resources=VCPU:1&required1=HW_CPU_X86_AVX", None, 400, "query.bad_value"),
    ("GET", "/allocation_candidates?resources1=VCPU:1&required=HW_CPU_X86_AVX", None, 400, "query.bad_value"),
    (
        "GET",
        "/allocation_candidates?resources1=VCPU:1&required=HW_CPU_X86_AVX&same_subtree=1",
        None,
        400,
        "query.bad_value",
    ),
    ("GET", "/allocation_candidates", None, 400, "query.missing_value"),
    ("GET", "/allocation_candidates?required1=HW_CPU_X86_AVX&same_subtree=1", None, 400, "query.missing_value"),
    ("GET", "/allocation_candidates?resources=VCPU:0", None, 400, "undefined_code"),
    ("POST", "/resource_providers", {"name": "a"}, 409, "duplicate_name"),
    ("PUT", f"{ROOT}", {"name": "b"}, 409, "duplicate_name"),
    ("PUT", f"{ROOT}/traits", {"resource_provider_generation": 9, "traits": []}, 409, "concurrent_update"),
    ("PUT", f"{ROOT}/aggregates", {"resource_provider_generation": 9, "aggregates": []}, 409, "concurrent_update"),
    ("PUT", f"{ROOT}/inventories", {"resource_provider_generation": 9, "inventories": {}}, 409, "concurrent_update"),
    ("PUT", f"{ROOT}/inventories/VCPU", {"resource_provider_generation": 9, "total": 1}, 409, "concurrent_update"),
    ("PUT", f"{ROOT}/inventories", {"resource_provider_generation": 1, "inventories": {}}, 409, "inventory.inuse"),
    ("DELETE", f"{ROOT}/inventories", None, 409, "inventory.inuse"),
    ("DELETE", f"{ROOT}/inventories/VCPU", None, 409, "concurrent_update"),
    ("POST", f"{ROOT}/inventories", {"resource_class": "VCPU", "total": 1}, 409, "concurrent_update"),
    ("DELETE", ROOT, None, 409, "resource_provider.cannot_delete_parent"),
    ("DELETE", CHILD, None, 409, "resource_provider.inuse"),
    ("PUT", f"/allocations/{CONSUMER}", claim({uuid_of("a"): {"VCPU": 1}}, 7), 409, "concurrent_update"),
    ("PUT", f"/allocations/{NOBODY}", claim({uuid_of("a"): {"VCPU": 9}}), 409, "undefined_code"),
    ("POST", "/reshaper", reshape("nobody", 0), 400, "resource_provider.not_found"),
    ("POST", "/reshaper", reshape("a", 9), 409, "concurrent_update"),
    ("POST", "/reshaper", reshape("a", 1), 409, "inventory.inuse"),
    ("DELETE", "/traits/HW_CPU_X86_AVX", None, 400, "undefined_code"),
    ("DELETE", "/resource_classes/CUSTOM_USED", None, 409, "undefined_code"),
    ("GET", "/resource_classes/CUSTOM_NONE", None, 404, "undefined_code"),
]


def test_every_code(service: Service, subtests: pytest.Subtests) -> None:
    specs = [spec("a", VCPU=4), spec("b", "a", CUSTOM_USED=4)]
    service.database.write(lambda session: build(session, specs))
    held = {uuid_of("a"): {"VCPU": 1}, uuid_of("b"): {"CUSTOM_USED": 1}}
    service.placement("PUT", f"/allocations/{CONSUMER}", claim(held), status=204)
    with unchanged(service):
        for method, path, body, status, code in CODES:
            with subtests.test(method=method, path=path, code=code):
                (error,) = service.placement(method, path, body, status=status).json["errors"]
                assert error["code"] == f"placement.{code}"
