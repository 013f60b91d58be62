"""The changes of each microversion begin with it, and not one before."""

from typing import Any

import pytest

from tests.restored import restored
from tests.service import Service
from tests.worlds import build, spec, uuid_of

ROOT, CHILD, NEW = uuid_of("a"), uuid_of("b"), uuid_of("new")
HELD, CONSUMER = uuid_of("held"), uuid_of("consumer")
ONE = f"/resource_providers/{ROOT}"
PROVIDERS = "/resource_providers"
CANDIDATES = "/allocation_candidates?resources=VCPU:1"
GROUP = "/allocation_candidates?resources1=VCPU:1"
KEYED: dict[str, Any] = {"allocations": {ROOT: {"resources": {"VCPU": 1}}}}
LISTED = {"allocations": [{"resource_provider": {"uuid": ROOT}, "resources": {"VCPU": 1}}]}
OWNER = {"project_id": "p", "user_id": "u"}
UNSEEN = {"consumer_generation": None}
TYPED = {"consumer_type": "T"}
SHAPE = {ROOT: {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 4}, "DISK_GB": {"total": 4}}}}

#: Since when; the request; its status before and from then on.
STATUSES: list[tuple[int, str, str, Any, int, int]] = [
    (1, "GET", f"{ONE}/aggregates", None, 404, 200),
    (1, "PUT", f"{ONE}/aggregates", [], 404, 200),
    (2, "GET", "/resource_classes", None, 404, 200),
    (2, "POST", "/resource_classes", {"name": "CUSTOM_NEW"}, 404, 201),
    (2, "GET", "/resource_classes/VCPU", None, 404, 200),
    (3, "GET", f"{PROVIDERS}?member_of={NEW}", None, 400, 200),
    (4, "GET", f"{PROVIDERS}?resources=VCPU:1", None, 400, 200),
    (5, "DELETE", f"{PROVIDERS}/{CHILD}/inventories", None, 405, 204),
    (6, "GET", "/traits", None, 404, 200),
    (6, "GET", "/traits/HW_CPU_X86_AVX", None, 404, 204),
    (6, "GET", f"{ONE}/traits", None, 404, 200),
    (6, "PUT", f"{ONE}/traits", {"traits": [], "resource_provider_generation": 1}, 404, 200),
    (6, "DELETE", f"{ONE}/traits", None, 404, 204),
    (6, "PUT", "/traits/CUSTOM_NEW", None, 404, 201),
    (7, "PUT", "/resource_classes/CUSTOM_NEW", None, 415, 201),
    (8, "PUT", f"/allocations/{CONSUMER}", LISTED | OWNER, 400, 204),
    (9, "GET", "/usages?project_id=p", None, 404, 200),
    (10, "GET", CANDIDATES, None, 404, 200),
    (12, "PUT", f"/allocations/{CONSUMER}", KEYED | OWNER, 400, 204),
    (13, "POST", "/allocations", {CONSUMER: KEYED | OWNER}, 404, 204),
    (14, "POST", PROVIDERS, {"name": "new", "parent_provider_uuid": None}, 400, 201),
    (14, "PUT", ONE, {"name": "new", "parent_provider_uuid": None}, 400, 200),
    (14, "GET", f"{PROVIDERS}?in_tree={ROOT}", None, 400, 200),
    (16, "GET", f"{CANDIDATES}&limit=1", None, 400, 200),
    (17, "GET", f"{CANDIDATES}&required=HW_CPU_X86_AVX", None, 400, 200),
    (18, "GET", f"{PROVIDERS}?required=HW_CPU_X86_AVX", None, 400, 200),
    (19, "PUT", f"{ONE}/aggregates", {"aggregates": [], "resource_provider_generation": 1}, 400, 200),
    (21, "GET", f"{CANDIDATES}&member_of={NEW}", None, 400, 200),
    (22, "GET", f"{CANDIDATES}&required=!HW_CPU_X86_AVX", None, 400, 200),
    (22, "GET", f"{PROVIDERS}?required=!HW_CPU_X86_AVX", None, 400, 200),
    (24, "GET", f"{PROVIDERS}?member_of={NEW}&member_of={ROOT}", None, 400, 200),
    (25, "GET", GROUP, None, 400, 200),
    (25, "GET", f"{CANDIDATES}&group_policy=none", None, 400, 200),
    (26, "PUT", f"{ONE}/inventories/DISK_GB", {"total": 4, "reserved": 4, "resource_provider_generation": 1}, 400, 200),
    (28, "PUT", f"/allocations/{CONSUMER}", KEYED | OWNER | UNSEEN, 400, 204),
    (28, "POST", "/allocations", {CONSUMER: KEYED | OWNER | UNSEEN}, 400, 204),
    (28, "PUT", f"/allocations/{HELD}", {"allocations": {}, "consumer_generation": 1, **OWNER}, 400, 204),
    (30, "POST", "/reshaper", {"inventories": SHAPE, "allocations": {}}, 404, 204),
    (31, "GET", f"{CANDIDATES}&in_tree={ROOT}", None, 400, 200),
    (32, "GET", f"{CANDIDATES}&member_of=!{NEW}", None, 400, 200),
    (32, "GET", f"{PROVIDERS}?member_of=!in:{NEW}", None, 400, 200),
    (33, "GET", "/allocation_candidates?resources_a-B=VCPU:1", None, 400, 200),
    (34, "PUT", f"/allocations/{CONSUMER}", KEYED | OWNER | UNSEEN | {"mappings": {"": [ROOT]}}, 400, 204),
    (35, "GET", f"{CANDIDATES}&root_required=HW_CPU_X86_AVX", None, 400, 200),
    (36, "GET", f"{GROUP}&same_subtree=1", None, 400, 200),
    (36, "GET", f"{GROUP}&required2=HW_CPU_X86_VMX&same_subtree=1,2&group_policy=none", None, 400, 200),
    (37, "PUT", f"{PROVIDERS}/{CHILD}", {"name": "b", "parent_provider_uuid": None}, 400, 200),
    (38, "PUT", f"/allocations/{CONSUMER}", KEYED | OWNER | UNSEEN | TYPED, 400, 204),
    (38, "POST", "/allocations", {CONSUMER: KEYED | OWNER | UNSEEN | TYPED}, 400, 204),
    (38, "GET", "/usages?project_id=p&consumer_type=T", None, 400, 200),
    (39, "GET", f"{CANDIDATES}&required=in:HW_CPU_X86_AVX,HW_CPU_X86_VMX", None, 400, 200),
    (39, "GET", f"{PROVIDERS}?required=in:HW_CPU_X86_AVX,HW_CPU_X86_VMX", None, 400, 200),
]

#: What is no longer taken since then.
NO_LONGER: list[tuple[int, str, str, Any]] = [
    (8, "PUT", f"/allocations/{CONSUMER}", LISTED),
    (12, "PUT", f"/allocations/{CONSUMER}", LISTED | OWNER),
    (19, "PUT", f"{ONE}/aggregates", []),
    (28, "PUT", f"/allocations/{CONSUMER}", KEYED | OWNER),
    (28, "POST", "/allocations", {CONSUMER: KEYED | OWNER}),
    (38, "PUT", f"/allocations/{CONSUMER}", KEYED | OWNER | UNSEEN),
]

SUMMARY = ("provider_summaries", ROOT)
#: Since when; where; the way to a member that there is from then on.
MEMBERS: list[tuple[int, str, tuple[Any, ...]]] = [
    (12, CANDIDATES, ("allocation_requests", 0, "allocations", ROOT)),
    (12, f"/allocations/{HELD}", ("project_id",)),
    (12, f"/allocations/{HELD}", ("user_id",)),
    (14, ONE, ("parent_provider_uuid",)),
    (14, PROVIDERS, ("resource_providers", 0, "root_provider_uuid")),
    (17, CANDIDATES, (*SUMMARY, "traits")),
    (19, f"{ONE}/aggregates", ("resource_provider_generation",)),
    (27, CANDIDATES, (*SUMMARY, "resources", "DISK_GB")),
    (28, f"/allocations/{HELD}", ("consumer_generation",)),
    (28, f"{ONE}/allocations", ("allocations", HELD, "consumer_generation")),
    (29, CANDIDATES, (*SUMMARY, "root_provider_uuid")),
    (29, CANDIDATES, ("provider_summaries", CHILD)),
    (34, CANDIDATES, ("allocation_requests", 0, "mappings")),
    (38, f"/allocations/{HELD}", ("consumer_type",)),
    (38, "/usages?project_id=p", ("usages", "T", "consumer_count")),
]


@pytest.fixture
def world(service: Service) -> Service:
    """A root with VCPU and DISK_GB, some of which is held, and a child."""
    specs = [spec("a", traits="HW_CPU_X86_VMX", VCPU=4, DISK_GB=4), spec("b", "a")]
    service.database.write(lambda session: build(session, specs))
    service.placement("PUT", f"/allocations/{HELD}", KEYED | OWNER | UNSEEN | TYPED, status=204)
    return service


def test_a_request_is_taken_since(world: Service, subtests: pytest.Subtests) -> None:
    for since, method, path, body, before, after in STATUSES:
        with subtests.test(since=since, method=method), restored(world):
            world.placement(method, path, body, version=f"1.{since - 1}", status=before)
            world.placement(method, path, body, version=f"1.{since}", status=after)


def test_a_request_is_no_longer_taken_since(world: Service, subtests: pytest.Subtests) -> None:
    for since, method, path, body in NO_LONGER:
        with subtests.test(since=since, method=method), restored(world):
            world.placement(method, path, body, version=f"1.{since}", status=400)
            response = world.placement(method, path, body, version=f"1.{since - 1}", status="*")
            assert response.status_int in (200, 204)


def test_a_member_is_there_since(world: Service, subtests: pytest.Subtests) -> None:
    for since, path, way in MEMBERS:
        with subtests.test(since=since, path=path):
            for version, there in ((since - 1, False), (since, True)):
                found: Any = world.placement("GET", path, version=f"1.{version}").json
                for step in way[:-1]:
                    found = found.get(step, {}) if isinstance(found, dict) else found[step]
                assert (way[-1] in found) == there


def test_a_new_provider_is_shown_since_1_20(service: Service) -> None:
    response = service.placement("POST", PROVIDERS, {"name": "a", "uuid": ROOT}, version="1.19", status=201)
    assert (response.body, response.content_type) == (b"", None)
    response = service.placement("POST", PROVIDERS, {"name": "b", "uuid": CHILD}, version="1.20", status=200)
    assert (response.json["uuid"], response.json["name"]) == (CHILD, "b")
    assert response.headers["location"].endswith(f"/placement/resource_providers/{CHILD}")


def test_nested_providers_give_together_since_1_29(service: Service) -> None:
    specs = [spec("a", VCPU=4), spec("b", "a", DISK_GB=4)]
    service.database.write(lambda session: build(session, specs))
    assert service.candidates("resources=VCPU:1,DISK_GB:1", version="1.28") == set()
    assert service.candidates("resources=VCPU:1,DISK_GB:1", version="1.29") == {ROOT, CHILD}


def test_only_a_repeated_condition_on_traits_since_1_39_adds_to_the_others(service: Service) -> None:
    specs = [spec("a", traits="HW_CPU_X86_VMX", VCPU=4), spec("b", traits="HW_CPU_X86_VMX HW_CPU_X86_AVX", VCPU=4)]
    service.database.write(lambda session: build(session, specs))
    query = "resources=VCPU:1&required=HW_CPU_X86_AVX&required=HW_CPU_X86_VMX"
    assert service.candidates(query, version="1.38") == {ROOT, CHILD}
    assert service.candidates(query, version="1.39") == {CHILD}


def test_cache_headers_since_1_15(world: Service) -> None:
    for path in ("/", PROVIDERS, ONE, f"{ONE}/inventories", f"/allocations/{HELD}", CANDIDATES):
        assert "cache-control" not in world.placement("GET", path, version="1.14").headers
        assert world.placement("GET", path, version="1.15").headers["cache-control"] == "no-cache"
