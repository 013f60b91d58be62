"""Requests that ask for much of a provider: answered in time, also by databases that think about the order of joins."""

import uuid

import pytest

from tests.service import Service


@pytest.mark.parametrize("count", [9, 120])
def test_any_number_of_traits_and_aggregates(service: Service, count: int) -> None:
    provider = str(uuid.uuid4())
    service.placement("POST", "/resource_providers", {"name": "p", "uuid": provider})
    traits = [f"CUSTOM_{number}" for number in range(count)]
    aggregates = [str(uuid.uuid4()) for _ in range(count)]
    for trait in [*traits, "CUSTOM_X"]:
        service.placement("PUT", f"/traits/{trait}")
    at = f"/resource_providers/{provider}"
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
    service.placement("PUT", f"{at}/inventories", body)
    service.placement("PUT", f"{at}/traits", {"resource_provider_generation": 1, "traits": traits})
    service.placement("PUT", f"{at}/aggregates", {"resource_provider_generation": 2, "aggregates": aggregates})
    several = [f"required=in:{trait},CUSTOM_X" for trait in traits]
    member = [f"member_of={aggregate}" for aggregate in aggregates]
    for query, fits in (
        (f"required={','.join(traits)}", True),
        (f"required={','.join([*traits, 'CUSTOM_X'])}", False),
        ("&".join(several), True),
        ("&".join([*several, "required=!CUSTOM_0"]), False),
        ("&".join(member), True),
        ("&".join([*member, f"member_of={uuid.uuid4()}"]), False),
    ):
        found = service.placement("GET", f"/resource_providers?{query}").json["resource_providers"]
        assert [one["uuid"] for one in found] == [provider] * fits
        able = service.placement("GET", f"/allocation_candidates?resources=VCPU:1&{query}").json["provider_summaries"]
        assert list(able) == [provider] * fits
