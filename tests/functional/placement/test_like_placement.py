"""Where Placement does not do what its specifications say, we do as it does (see known differences)."""

import pytest

from tests import worlds
from tests.service import Service
from tests.worlds import spec, uuid_of

NOTHING = uuid_of("nothing")


@pytest.fixture
def providers(service: Service) -> Service:
    specs = [spec("a", traits="CUSTOM_A", aggregates="rack", VCPU=4), spec("b", VCPU=4), spec("c", traits="CUSTOM_C")]
    service.database.write(lambda session: worlds.build(session, specs))
    return service


def listed(service: Service, query: str, version: str = "1.39") -> set[str]:
    found = service.placement("GET", f"/resource_providers?{query}", version=version).json["resource_providers"]
    return {provider["name"] for provider in found}


def test_a_trait_may_be_forbidden_twice(providers: Service, subtests: pytest.Subtests) -> None:
    for version in ["1.22", "1.39"]:
        with subtests.test(version=version):
            for forbidden in ("!CUSTOM_A,!CUSTOM_A", "!!CUSTOM_A", "!CUSTOM_A,!!CUSTOM_A"):
                assert listed(providers, f"required={forbidden}&resources=VCPU:1", version) == {"b"}
                path = f"/allocation_candidates?resources=VCPU:1&required={forbidden}"
                found = providers.placement("GET", path, version=version).json["allocation_requests"]
                assert [list(request["allocations"]) for request in found] == [[uuid_of("b")]]


def test_what_is_required_and_forbidden(providers: Service) -> None:
    assert listed(providers, "required=CUSTOM_A,!CUSTOM_A") == set()
    path = "/allocation_candidates?resources=VCPU:1&required=CUSTOM_A,!CUSTOM_A"
    assert "Conflicting required and forbidden traits" in providers.placement("GET", path, status=400).text


def test_unknown_names_after_a_filter_that_nothing_fits(providers: Service, subtests: pytest.Subtests) -> None:
    for filters in [
        f"in_tree={NOTHING}&required=CUSTOM_NO",
        f"in_tree={NOTHING}&required=!CUSTOM_NO&resources=CUSTOM_NO:1",
        "required=HW_CPU_X86_VMX,!CUSTOM_NO",
        "required=CUSTOM_A,CUSTOM_C&resources=CUSTOM_NO:1",
        f"member_of={NOTHING}&resources=CUSTOM_NO:1",
        f"member_of={uuid_of('rack')}&member_of={NOTHING}&resources=CUSTOM_NO:1",
    ]:
        with subtests.test(filters=filters):
            assert listed(providers, filters) == set()


def test_unknown_names_are_refused(providers: Service, subtests: pytest.Subtests) -> None:
    for filters in [
        f"in_tree={uuid_of('a')}&resources=CUSTOM_NO:1",
        f"member_of={NOTHING}&required=CUSTOM_NO",
        f"member_of=!{uuid_of('rack')}&resources=CUSTOM_NO:1",
        f"name=nothing&uuid={NOTHING}&resources=CUSTOM_NO:1",
        "required=CUSTOM_A,!CUSTOM_NO",
        f"required=HW_CPU_X86_VMX,CUSTOM_NO&member_of={NOTHING}",
        f"member_of={uuid_of('rack')}&required=CUSTOM_C&resources=CUSTOM_NO:1,VCPU:1&required=!CUSTOM_NO2",
    ]:
        with subtests.test(filters=filters):
            assert "No such" in providers.placement("GET", f"/resource_providers?{filters}", status=400).text


def test_errors_of_head_are_html(service: Service, subtests: pytest.Subtests) -> None:
    for path in ["/resource_providers", "/nothing", "/"]:
        for accept in ["application/json", "text/plain", "*/*"]:
            with subtests.test(path=path, accept=accept):
                answer = service.placement("HEAD", path, status="4*", headers={"Accept": accept})
                assert answer.headers["Content-Type"] == "text/html; charset=UTF-8"
                assert answer.body == b""


def test_a_capacity_beyond_what_a_database_can_hold(providers: Service) -> None:
    path = f"/resource_providers/{uuid_of('a')}"
    inventory = {"total": 2**31 - 1, "allocation_ratio": 1e38}
    generation = providers.placement("GET", path).json["generation"]
    body = {"resource_provider_generation": generation, "inventories": {"VCPU": inventory}}
    providers.placement("PUT", f"{path}/inventories", body)
    answer = providers.placement("GET", "/allocation_candidates?resources=VCPU:1&required=CUSTOM_A").json
    assert answer["provider_summaries"][uuid_of("a")]["resources"]["VCPU"] == {"capacity": 2**62, "used": 0}
    providers.claim(uuid_of("consumer"), uuid_of("a"), "VCPU", amount=2**31 - 1)
