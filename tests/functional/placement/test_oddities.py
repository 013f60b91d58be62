"""Oddities of Placement: a different behaviour here, or the same. Wrong amounts and lost candidates are in
``test_candidates_trees``, answers without a token in ``test_answers``."""

from typing import Any

import pytest

from tests.restored import restored
from tests.service import Service
from tests.unchanged import unchanged
from tests.worlds import SHARES, Stock, build, spec, uuid_of

CONSUMER = "cccccccc-0000-4000-8000-000000000001"
NOBODY = "dddddddd-0000-4000-8000-000000000001"
CODE = "placement.concurrent_update"


@pytest.fixture
def provider(service: Service) -> str:
    """The path of one that has 4 VCPU and 10 DISK_GB; nothing is used."""
    service.database.write(lambda session: build(session, [spec("a", VCPU=4, DISK_GB=10)]))
    return f"/resource_providers/{uuid_of('a')}"


def claim(amounts: dict[str, dict[str, int]], generation: int | None = None) -> dict[str, Any]:
    return {
        "allocations": {uuid: {"resources": resources} for uuid, resources in amounts.items()},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }


def error(response: Any) -> dict[str, Any]:
    (found,) = response.json["errors"]
    return found


def test_a_write_that_comes_to_nothing_leaves_no_consumer(
    service: Service, provider: str, subtests: pytest.Subtests
) -> None:
    """In Placement it stays in some cases, with generation 0, and the next write with null is refused."""
    for method in ["PUT", "POST"]:
        for amounts, status in [
            ({}, 204),
            ({NOBODY: {"VCPU": 1}}, 400),
            ({uuid_of("a"): {"CUSTOM_NONE": 1}}, 400),
            ({uuid_of("a"): {"VCPU": 5}}, 409),
            ({uuid_of("a"): {"MEMORY_MB": 1}}, 409),
        ]:
            with subtests.test(method=method, amounts=amounts), restored(service):
                body, path = claim(amounts), f"/allocations/{CONSUMER}"
                if method == "PUT":
                    service.placement("PUT", path, body, status=status)
                else:
                    service.placement("POST", "/allocations", {CONSUMER: body}, status=status)
                assert service.placement("GET", path).json == {"allocations": {}}
                service.placement("PUT", path, claim({uuid_of("a"): {"VCPU": 1}}), status=204)


def test_an_inventory_in_use_is_a_concurrent_update(service: Service, provider: str) -> None:
    """For one class that is deleted; of all of them it is said that they are in use. Just as Placement does."""
    service.placement("PUT", f"/allocations/{CONSUMER}", claim({uuid_of("a"): {"VCPU": 1}}), status=204)
    one = error(service.placement("DELETE", f"{provider}/inventories/VCPU", status=409))
    assert one["code"] == CODE
    every = error(service.placement("DELETE", f"{provider}/inventories", status=409))
    assert every["code"] == "placement.inventory.inuse"
    assert service.placement("GET", f"{provider}/inventories").json["inventories"].keys() == {"VCPU", "DISK_GB"}


def test_no_statement_of_the_database_is_shown(service: Service, provider: str) -> None:
    """An inventory that is there already cannot be added; Placement says so in SQL."""
    body = {"resource_class": "VCPU", "total": 8}
    found = error(service.placement("POST", f"{provider}/inventories", body, status=409))
    assert found["code"] == CODE
    assert "Update conflict" in found["detail"]
    assert not any(word in found["detail"] for word in ("INSERT", "sqlite", "psycopg", "pymysql", "UNIQUE"))
    assert service.placement("GET", f"{provider}/inventories/VCPU").json["total"] == 4


def test_an_inventory_of_an_unknown_class_is_not_found(service: Service, provider: str) -> None:
    """404 when one is changed, not 400 as for a set of them."""
    body = {"resource_provider_generation": 0, "total": 8}
    found = error(service.placement("PUT", f"{provider}/inventories/CUSTOM_NONE", body, status=404))
    assert "No such resource class CUSTOM_NONE." in found["detail"]
    body = {"resource_provider_generation": 0, "inventories": {"CUSTOM_NONE": {"total": 8}}}
    service.placement("PUT", f"{provider}/inventories", body, status=400)


def test_a_changed_provider_says_when(service: Service, provider: str) -> None:
    """Also the first time; Placement forgets it then."""
    response = service.placement("PUT", provider, {"name": "b"})
    assert response.headers["last-modified"]
    assert response.headers["cache-control"] == "no-cache"


def test_groups_without_resources_honour_every_condition(service: Service) -> None:
    """The tree that they are to be in, and conditions that only forbid; Placement ignores one and fails the other."""
    specs = []
    for name in "ab":
        specs += [spec(name, VCPU=4), spec(f"{name}-cell", name, traits="CUSTOM_SLOW" if name == "a" else "")]
    service.database.write(lambda session: build(session, specs))
    path = "/allocation_candidates?resources1=VCPU:1&group_policy=none&same_subtree=1,2"

    def mapped(condition: str) -> set[str]:
        found = service.placement("GET", f"{path}&{condition}").json["allocation_requests"]
        return {request["mappings"]["2"][0] for request in found}

    everybody = {uuid_of(name) for name in ("a", "b", "a-cell", "b-cell")}
    assert mapped("required2=!CUSTOM_SLOW") == everybody - {uuid_of("a-cell")}
    assert mapped("required2=CUSTOM_SLOW") == {uuid_of("a-cell")}
    assert mapped(f"required2=!CUSTOM_SLOW&in_tree2={uuid_of('b')}") == {uuid_of("b"), uuid_of("b-cell")}


def test_unknown_names_are_noticed_in_every_group(service: Service, provider: str, subtests: pytest.Subtests) -> None:
    """Even if no provider serves the group before it, where Placement stops."""
    for condition, message in [
        ("resources2=CUSTOM_NONE:1", "No such resource class CUSTOM_NONE"),
        ("resources2=VCPU:1&required2=CUSTOM_NONE", "No such trait(s): CUSTOM_NONE."),
    ]:
        with subtests.test(condition=condition):
            path = "/allocation_candidates?resources1=MEMORY_MB:1&group_policy=none"
            assert service.placement("GET", path).json["allocation_requests"] == []
            assert message in error(service.placement("GET", f"{path}&{condition}", status=400))["detail"]


def test_amounts_beyond_the_range_of_the_database(service: Service, provider: str, subtests: pytest.Subtests) -> None:
    """No provider has so much; no error of the server, as in Placement."""
    with unchanged(service):
        for amount in [2**31 - 1, 2**31, 2**63, 10**30]:
            with subtests.test(amount=amount):
                found = service.placement("GET", f"/allocation_candidates?resources=VCPU:{amount}").json
                assert found == {"allocation_requests": [], "provider_summaries": {}}
                found = service.placement("GET", f"/resource_providers?resources=VCPU:{amount}").json
                assert found == {"resource_providers": []}
                body = claim({uuid_of("a"): {"VCPU": amount}})
                service.placement("PUT", f"/allocations/{CONSUMER}", body, status=409)


def test_each_limit_is_looked_at(service: Service, provider: str) -> None:
    """Of several the first counts, and all must be numbers; Placement looks at the last and trips over the first."""
    path = "/allocation_candidates?resources=VCPU:1"
    service.placement("GET", f"{path}&limit=abc&limit=3", status=400)
    service.placement("GET", f"{path}&limit=3&limit=abc", status=400)
    service.placement("GET", f"{path}&limit=1&limit=3", status=200)


def test_of_several_limits_and_group_policies_the_first_counts(service: Service) -> None:
    """As in Placement; all of them must be right."""
    service.database.write(lambda session: build(session, [spec(name, VCPU=4) for name in "abc"]))

    def count(query: str) -> int:
        path = f"/allocation_candidates?resources1=VCPU:1&resources2=VCPU:1&{query}"
        return len(service.placement("GET", path).json["allocation_requests"])

    assert count("group_policy=none&limit=1&limit=3") == 1
    assert count("group_policy=none&limit=3&limit=1") == 3
    assert count("group_policy=none&group_policy=isolate") == 3
    assert count("group_policy=isolate&group_policy=none") == 0
    for policies in ("group_policy=x&group_policy=none", "group_policy=none&group_policy=x"):
        path = f"/allocation_candidates?resources1=VCPU:1&{policies}"
        service.placement("GET", path, status=400)


def test_of_repeated_resources_and_trees_the_last_count(service: Service) -> None:
    """But each must be well formed. As in Placement."""
    service.database.write(lambda session: build(session, [spec("a", VCPU=4), spec("b", DISK_GB=4)]))
    one, other = uuid_of("a"), uuid_of("b")
    assert service.candidates("resources=VCPU:1&resources=DISK_GB:1") == {other}
    assert service.candidates(f"resources=VCPU:1&in_tree={other}&in_tree={one}") == {one}
    assert service.candidates(f"resources=VCPU:1&in_tree={one}&in_tree={other}") == set()
    for query in ("resources=x&resources=VCPU:1", "resources=VCPU:1&in_tree=x&in_tree=" + one):
        service.placement("GET", f"/allocation_candidates?{query}", status=400)
    path = "/resource_providers?resources=VCPU:1&resources=DISK_GB:1"
    assert [row["uuid"] for row in service.placement("GET", path).json["resource_providers"]] == [other]


def test_startswith_has_no_wildcards(service: Service) -> None:
    """% and _ stand for themselves."""
    for name in ("CUSTOM_A_B", "CUSTOM_AXB"):
        service.placement("PUT", f"/traits/{name}", status=201)

    def names(start: str) -> list[str]:
        found: list[str] = service.placement("GET", f"/traits?name=startswith:{start}").json["traits"]
        return found

    assert names("CUSTOM_A_") == ["CUSTOM_A_B"]
    assert names("CUSTOM%25") == names("%25") == names("_USTOM") == []
    assert len(names("CUSTOM_A")) == 2


def test_a_provider_may_be_given_an_empty_name(service: Service, provider: str) -> None:
    """When it is changed, not when it is made: as in Placement."""
    assert service.placement("PUT", provider, {"name": ""}).json["name"] == ""
    service.placement("POST", "/resource_providers", {"name": ""}, status=400)


def test_a_reshape_does_not_compare_what_is_reserved_with_the_total(service: Service, provider: str) -> None:
    """Inventories that are written one by one are refused then. As in Placement; nothing can be had of them."""
    stock = {"total": 4, "reserved": 5}
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": stock, "DISK_GB": {"total": 10}}}
    service.placement("PUT", f"{provider}/inventories", body, status=400)
    service.placement("POST", "/reshaper", {"inventories": {uuid_of("a"): body}, "allocations": {}}, status=204)
    assert service.placement("GET", f"{provider}/inventories/VCPU").json["reserved"] == 5
    assert service.placement("GET", "/allocation_candidates?resources=VCPU:1").json["allocation_requests"] == []
    service.placement("PUT", f"/allocations/{CONSUMER}", claim({uuid_of("a"): {"VCPU": 1}}), status=409)


def test_there_is_no_short_cut_for_wide_trees_that_forgets_what_is_used(service: Service) -> None:
    """Placement has one, which offers more than is left when groups are merged on one provider."""
    service.database.write(lambda session: build(session, [spec("a", VCPU=Stock(4, used=2))]))
    path = "/allocation_candidates?resources1=VCPU:1&resources2=VCPU:{}&group_policy=none"
    assert len(service.placement("GET", path.format(1)).json["allocation_requests"]) == 1
    assert service.placement("GET", path.format(2)).json["allocation_requests"] == []


def test_a_sharing_provider_may_be_a_child(service: Service) -> None:
    """Placement may fail then."""
    specs = [spec("rack", VCPU=1), spec("array", "rack", f"{SHARES}", "pool", DISK_GB=10)]
    service.database.write(lambda session: build(session, [*specs, spec("host", aggregates="pool", MEMORY_MB=8)]))
    found = service.placement("GET", "/allocation_candidates?resources=MEMORY_MB:1,DISK_GB:1").json
    (request,) = found["allocation_requests"]
    assert request["allocations"].keys() == {uuid_of("host"), uuid_of("array")}
