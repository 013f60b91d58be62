# tier: first
"""Reading providers, inventories, traits, usages, allocations, classes."""

import os_resource_classes
import os_traits
import pytest

from tests.built_once import built_once
from tests.service import Service

UUID = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def uuid(service: Service) -> str:
    return built_once(service, lambda service: service.add_node("n1", traits=("CUSTOM_A", "HW_CPU_X86_VMX")))


def test_standard_names_are_there(service: Service) -> None:
    classes = [item["name"] for item in service.placement("GET", "/resource_classes").json["resource_classes"]]
    assert classes == list(os_resource_classes.STANDARDS)
    assert set(service.placement("GET", "/traits").json["traits"]) == set(os_traits.get_traits())
    document = service.placement("GET", "/resource_classes/VCPU").json
    assert document == {"name": "VCPU", "links": [{"rel": "self", "href": "/placement/resource_classes/VCPU"}]}
    service.placement("GET", "/resource_classes/NOSUCH", status=404)


def test_a_provider(service: Service, uuid: str, subtests: pytest.Subtests) -> None:
    for version, keys, links in [("1.0", 4, 3), ("1.1", 4, 4), ("1.6", 4, 5), ("1.11", 4, 6), ("1.14", 6, 6)]:
        with subtests.test(version=version):
            provider = service.placement("GET", f"/resource_providers/{uuid}", version=version).json
            assert (provider["uuid"], provider["name"]) == (uuid, uuid)
            assert len(provider) == keys
            assert len(provider["links"]) == links
            assert provider["links"][0] == {"rel": "self", "href": f"/placement/resource_providers/{uuid}"}
            assert provider.get("root_provider_uuid", uuid) == uuid
            assert provider.get("parent_provider_uuid") is None
            assert (
                provider in service.placement("GET", "/resource_providers", version=version).json["resource_providers"]
            )


def test_lists_of_providers(service: Service, uuid: str, subtests: pytest.Subtests) -> None:
    for query, found in [
        ("", True),
        ("name={uuid}", True),
        ("name=", True),
        ("name=x", False),
        ("uuid={uuid}", True),
        ("uuid=" + UUID, False),
        ("in_tree={uuid}", True),
        ("in_tree=" + UUID, False),
        ("resources=CUSTOM_GOLD:1", True),
        ("resources=CUSTOM_GOLD:2", False),
        ("resources=CUSTOM_GOLD:99999999999999999999", False),
        ("resources=VCPU:1", False),
        ("required=CUSTOM_A", True),
        ("required=!CUSTOM_A", False),
        ("required=in:CUSTOM_A,HW_CPU_X86_AVX&required=HW_CPU_X86_VMX", True),
        ("required=CUSTOM_A,!CUSTOM_A", False),
        ("member_of=" + UUID, False),
        ("member_of=!" + UUID, True),
    ]:
        with subtests.test(query=query):
            listed = service.placement("GET", f"/resource_providers?{query.format(uuid=uuid)}").json[
                "resource_providers"
            ]
            assert [provider["uuid"] for provider in listed] == ([uuid] if found else [])


def test_lists_that_cannot_be(service: Service, subtests: pytest.Subtests) -> None:
    for query, version, message in [
        ("nosuch=1", "1.39", "Additional properties are not allowed"),
        ("resources=VCPU:1", "1.3", "'resources' was unexpected"),
        ("required=CUSTOM_A", "1.17", "'required' was unexpected"),
        ("uuid=x", "1.39", "is not a 'uuid'"),
        ("resources=NOSUCH:1", "1.39", "Invalid resource class in resources parameter"),
        ("required=NOSUCH", "1.39", 'Invalid trait(s) in "required" parameter: No such trait(s): NOSUCH.'),
        ("required=", "1.39", "Got an empty trait in"),
        ("member_of=x", "1.39", "contain valid UUID"),
    ]:
        with subtests.test(query=query):
            response = service.placement("GET", f"/resource_providers?{query}", version=version, status=400)
            assert message in response.json["errors"][0]["detail"]


def test_inventories(service: Service, uuid: str) -> None:
    gold = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
    generation = service.placement("GET", f"/resource_providers/{uuid}").json["generation"]
    document = service.placement("GET", f"/resource_providers/{uuid}/inventories").json
    assert document == {"resource_provider_generation": generation, "inventories": {"CUSTOM_GOLD": gold}}
    one = service.placement("GET", f"/resource_providers/{uuid}/inventories/CUSTOM_GOLD").json
    assert one == gold | {"resource_provider_generation": generation}
    response = service.placement("GET", f"/resource_providers/{uuid}/inventories/HOUSE", status=404)
    assert f"No inventory of class HOUSE for {uuid}" in response.json["errors"][0]["detail"]


def test_traits(service: Service, uuid: str) -> None:
    document = service.placement("GET", f"/resource_providers/{uuid}/traits").json
    assert document["traits"] == ["CUSTOM_A", "HW_CPU_X86_VMX"]
    assert service.placement("GET", "/traits/CUSTOM_A", status=204).body == b""
    service.placement("GET", "/traits/CUSTOM_NOSUCH", status=404)


def test_lists_of_traits(service: Service, uuid: str, subtests: pytest.Subtests) -> None:
    for query, expected in [
        ("name=in:CUSTOM_A,CUSTOM_NOSUCH,HW_CPU_X86_VMX", ["CUSTOM_A", "HW_CPU_X86_VMX"]),
        ("name=startswith:CUSTOM_", ["CUSTOM_A"]),
        ("associated=True", ["CUSTOM_A", "HW_CPU_X86_VMX"]),
        ("name=startswith:CUSTOM&associated=false", []),
    ]:
        with subtests.test(query=query):
            assert service.placement("GET", f"/traits?{query}").json["traits"] == expected


def test_lists_of_traits_that_cannot_be(service: Service, subtests: pytest.Subtests) -> None:
    for query, message in [
        ("name=in_abc", 'Got: "in_abc"'),
        ("associated=maybe", 'only accepts "true" or "false"'),
        ("x=1", "Additional properties are not allowed"),
    ]:
        with subtests.test(query=query):
            assert message in service.placement("GET", f"/traits?{query}", status=400).json["errors"][0]["detail"]


def test_usages_and_allocations_of_a_provider(service: Service, uuid: str) -> None:
    usages = f"/resource_providers/{uuid}/usages"
    assert service.placement("GET", usages).json["usages"] == {"CUSTOM_GOLD": 0}
    service.claim(UUID, uuid)
    assert service.placement("GET", usages).json["usages"] == {"CUSTOM_GOLD": 1}
    held = service.placement("GET", f"/resource_providers/{uuid}/allocations").json["allocations"]
    assert held == {UUID: {"resources": {"CUSTOM_GOLD": 1}, "consumer_generation": 1}}
    older = service.placement("GET", f"/resource_providers/{uuid}/allocations", version="1.27").json["allocations"]
    assert older == {UUID: {"resources": {"CUSTOM_GOLD": 1}}}


def test_providers_that_are_not_there(service: Service, subtests: pytest.Subtests) -> None:
    for sub in ["", "/inventories", "/inventories/VCPU", "/usages", "/traits", "/allocations"]:
        with subtests.test(sub=sub):
            response = service.placement("GET", f"/resource_providers/{UUID}{sub}", status=404)
            assert f"No resource provider with uuid {UUID} found" in response.json["errors"][0]["detail"]


def test_a_class_that_was_renamed_has_its_new_name_everywhere(service: Service) -> None:
    """Also in summaries of candidates, which remember names for a while."""
    service.placement("PUT", "/resource_classes/CUSTOM_OLD", status=201)
    service.placement("POST", "/resource_providers", {"name": "a", "uuid": UUID})
    stocks = {"VCPU": {"total": 4}, "CUSTOM_OLD": {"total": 4}}
    body = {"resource_provider_generation": 0, "inventories": stocks}
    service.placement("PUT", f"/resource_providers/{UUID}/inventories", body)

    def summarized() -> set[str]:
        found = service.placement("GET", "/allocation_candidates?resources=VCPU:1").json
        return set(found["provider_summaries"][UUID]["resources"])

    service.claim(UUID, UUID, "CUSTOM_OLD", amount=3, status=204)
    assert summarized() == {"VCPU", "CUSTOM_OLD"}
    service.placement("PUT", "/resource_classes/CUSTOM_OLD", {"name": "CUSTOM_NEW"}, version="1.6")
    assert summarized() == {"VCPU", "CUSTOM_NEW"}
    assert set(service.inventory(UUID)) == {"VCPU", "CUSTOM_NEW"}
    held = service.placement("GET", f"/allocations/{UUID}").json["allocations"]
    assert held[UUID]["resources"] == {"CUSTOM_NEW": 3}
    usages = service.placement("GET", f"/resource_providers/{UUID}/usages").json["usages"]
    assert usages == {"VCPU": 0, "CUSTOM_NEW": 3}
    assert service.candidates("resources=CUSTOM_NEW:2") == set()
    assert service.candidates("resources=CUSTOM_NEW:1") == {UUID}
    # The old name is free for another class.
    service.placement("PUT", "/resource_classes/CUSTOM_OLD", status=201)
    assert summarized() == {"VCPU", "CUSTOM_NEW"}
    service.placement("DELETE", "/resource_classes/CUSTOM_OLD", status=204)
    service.placement("GET", "/allocation_candidates?resources=CUSTOM_OLD:1", status=400)
