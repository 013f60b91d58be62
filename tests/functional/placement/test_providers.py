# tier: first
"""Writing providers, inventories, aggregates, traits and classes: generations, moves, and cases that no other module
tests."""

import uuid as uuid_module
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.restored import restored
from tests.service import Service

UUID = "aaaaaaaa-0000-4000-8000-000000000001"


def make(service: Service, name: str, parent: str | None = None) -> str:
    body = {"name": name, "parent_provider_uuid": parent}
    uuid: str = service.placement("POST", "/resource_providers", body).json["uuid"]
    return uuid


def generation(service: Service, uuid: str) -> int:
    return service.placement("GET", f"/resource_providers/{uuid}").json["generation"]


def detail(response: Any) -> str:
    return response.json["errors"][0]["detail"]


def code(response: Any) -> str:
    return response.json["errors"][0]["code"]


def root(service: Service, uuid: str) -> str:
    return service.placement("GET", f"/resource_providers/{uuid}").json["root_provider_uuid"]


def move(service: Service, uuid: str, name: str, parent: str | None, **options: Any) -> Any:
    body = {"name": name, "parent_provider_uuid": parent}
    return service.placement("PUT", f"/resource_providers/{uuid}", body, **options)


def test_a_tree_moves_as_a_whole(service: Service) -> None:
    a, b = make(service, "a"), make(service, "b")
    c = make(service, "c", a)
    d = make(service, "d", c)
    assert {root(service, uuid) for uuid in (a, c, d)} == {a}
    move(service, c, "c", b, status=200)
    assert {root(service, uuid) for uuid in (b, c, d)} == {b}
    move(service, c, "c", None, status=200)
    assert {root(service, uuid) for uuid in (c, d)} == {c}
    assert "creating loop" in detail(move(service, c, "c", d, status=400))
    assert "creating loop" in detail(move(service, c, "c", c, status=400))
    assert "does not exist" in detail(move(service, c, "c", UUID, status=400))
    assert "re-parenting" in detail(move(service, d, "d", a, version="1.36", status=400))
    assert "un-parenting" in detail(move(service, d, "d", None, version="1.36", status=400))
    tree = service.placement("GET", f"/resource_providers?in_tree={d}").json["resource_providers"]
    assert {provider["uuid"] for provider in tree} == {c, d}
    assert generation(service, c) == 0


def test_moves_at_once_never_close_a_loop(service: Service) -> None:
    uuids = [make(service, f"p{number}") for number in range(6)]

    def put_below_the_next(number: int) -> int:
        return move(service, uuids[number], f"p{number}", uuids[(number + 1) % 6], status="*").status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = Counter(pool.map(put_below_the_next, range(6)))
    assert statuses == {200: 5, 400: 1}
    assert len({root(service, uuid) for uuid in uuids}) == 1


def test_names_and_uuids_are_unique(service: Service) -> None:
    service.placement("POST", "/resource_providers", {"name": "a", "uuid": UUID.upper()}, status=200)
    response = service.placement("POST", "/resource_providers", {"name": "a"}, status=409)
    assert "Conflicting resource provider name: a already exists." in detail(response)
    assert code(response) == "placement.duplicate_name"
    response = service.placement("POST", "/resource_providers", {"name": "b", "uuid": UUID}, status=409)
    assert f"uuid: {UUID}" in detail(response)
    other = make(service, "c")
    assert "Conflicting resource provider a already exists." in detail(move(service, other, "a", None, status=409))
    service.placement("POST", "/resource_providers", {"name": ""}, status=400)


def test_names_that_differ_in_blanks_at_the_end(service: Service) -> None:
    """To MariaDB and MySQL they are the same name, and so they are to clients there. No request loses a race."""
    service.placement("POST", "/resource_providers", {"name": "a", "uuid": UUID})
    same = "mariadb" in service.database_url
    response = service.placement("POST", "/resource_providers", {"name": "a  "}, status=409 if same else 200)
    if same:
        (error,) = response.json["errors"]
        assert error["code"] == "placement.duplicate_name"
        assert "Conflicting resource provider name: a   already exists." in error["detail"]


def test_what_is_in_use_stays(service: Service) -> None:
    a = make(service, "a")
    b = make(service, "b", a)
    response = service.placement("DELETE", f"/resource_providers/{a}", status=409)
    assert code(response) == "placement.resource_provider.cannot_delete_parent"
    body = {"resource_class": "VCPU", "total": 4}
    service.placement("POST", f"/resource_providers/{b}/inventories", body, status=201)
    service.claim(UUID, b, "VCPU", amount=2, status=204)
    response = service.placement("DELETE", f"/resource_providers/{b}", status=409)
    assert code(response) == "placement.resource_provider.inuse"
    response = service.placement("DELETE", f"/resource_providers/{b}/inventories", status=409)
    assert "Inventory for 'VCPU' on resource provider" in detail(response)
    assert code(response) == "placement.inventory.inuse"
    service.placement("DELETE", f"/resource_providers/{b}/inventories/VCPU", status=409)
    shrunk = {"resource_provider_generation": generation(service, b), "total": 1}
    service.placement("PUT", f"/resource_providers/{b}/inventories/VCPU", shrunk, status=200)
    service.claim(str(uuid_module.uuid4()), b, "VCPU", status=409)
    service.claim(UUID, b, "VCPU", amount=1, generation=1, status=204)
    service.placement("DELETE", f"/allocations/{UUID}", status=204)
    service.placement("DELETE", f"/resource_providers/{b}", status=204)
    service.placement("DELETE", f"/resource_providers/{a}", status=204)


def test_generations_grow_as_documented(service: Service) -> None:
    uuid = make(service, "a")
    path = f"/resource_providers/{uuid}"
    seen = [generation(service, uuid)]

    def step(method: str, sub: str, body: Any = None, **options: Any) -> None:
        service.placement(method, path + sub, body, **options)
        seen.append(generation(service, uuid))

    step("POST", "/inventories", {"resource_class": "VCPU", "total": 4})
    step("PUT", "/inventories/VCPU", {"resource_provider_generation": 1, "total": 8})
    step("PUT", "/inventories", {"resource_provider_generation": 2, "inventories": {"VCPU": {"total": 8}}})
    step("DELETE", "/inventories/VCPU")
    step("DELETE", "/inventories")
    step("PUT", "/aggregates", [UUID], version="1.18")
    step("PUT", "/aggregates", {"aggregates": [UUID], "resource_provider_generation": 5})
    step("PUT", "/traits", {"traits": ["HW_CPU_X86_VMX"], "resource_provider_generation": 6})
    step("PUT", "/traits", {"traits": ["HW_CPU_X86_VMX"] * 2, "resource_provider_generation": 7})
    step("DELETE", "/traits")
    step("DELETE", "/traits")
    step("PUT", "", {"name": "b"})
    assert seen == [0, 1, 2, 3, 4, 5, 5, 6, 7, 7, 8, 8, 8]


def test_another_generation_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    for sub, body in [
        ("/inventories", {"resource_provider_generation": 9, "inventories": {}}),
        ("/inventories/VCPU", {"resource_provider_generation": 9, "total": 1}),
        ("/aggregates", {"resource_provider_generation": 9, "aggregates": []}),
        ("/traits", {"resource_provider_generation": 9, "traits": []}),
    ]:
        with subtests.test(sub=sub), restored(service):
            uuid = make(service, "a")
            service.placement("POST", f"/resource_providers/{uuid}/inventories", {"resource_class": "VCPU", "total": 4})
            response = service.placement("PUT", f"/resource_providers/{uuid}{sub}", body, status=409)
            assert code(response) == "placement.concurrent_update"
            assert "generation" in detail(response)
            assert generation(service, uuid) == 1


def test_of_two_writers_with_one_generation_one_wins(service: Service) -> None:
    uuid = make(service, "a")

    def write(number: int) -> int:
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": number + 1}}}
        return service.placement("PUT", f"/resource_providers/{uuid}/inventories", body, status="*").status_code

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(write, range(8))) == {200: 1, 409: 7}


def test_inventories_that_cannot_be(service: Service) -> None:
    uuid = make(service, "a")
    path = f"/resource_providers/{uuid}/inventories"
    full = {"resource_class": "VCPU", "total": 1, "reserved": 1}
    assert "greater than or equal to total" in detail(service.placement("POST", path, full, version="1.25", status=400))
    service.placement("POST", path, full, version="1.26", status=201)
    response = service.placement("POST", path, full, status=409)
    assert "Update conflict" in detail(response)
    assert "INSERT" not in detail(response)
    unknown = {"resource_class": "CUSTOM_NOSUCH", "total": 1}
    assert "No such resource class CUSTOM_NOSUCH" in detail(service.placement("POST", path, unknown, status=400))
    huge = {"resource_class": "DISK_GB", "total": 2**31 - 1, "allocation_ratio": 3.4e38}
    service.placement("POST", path, huge, status=201)
    usage = service.placement("GET", f"/resource_providers?resources=DISK_GB:{2**31 - 1}").json["resource_providers"]
    assert [provider["uuid"] for provider in usage] == [uuid]


def test_a_whole_number_may_be_written_as_a_float(service: Service) -> None:
    uuid = make(service, "a")
    body = {"resource_class": "VCPU", "total": 5.0, "allocation_ratio": 2}
    document = service.placement("POST", f"/resource_providers/{uuid}/inventories", body, status=201).json
    assert (document["total"], document["allocation_ratio"]) == (5, 2.0)
    service.claim(UUID, uuid, "VCPU", amount=10, status=204)


def test_a_consumer_that_never_was_leaves_nothing_behind(service: Service) -> None:
    uuid = make(service, "a")
    empty = {"allocations": {}, "project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "X"}
    service.placement("PUT", f"/allocations/{UUID}", empty, status=204)
    service.placement("POST", "/allocations", {UUID: empty}, status=204)
    service.claim(UUID, str(uuid_module.uuid4()), "VCPU", status=400)
    service.placement("POST", f"/resource_providers/{uuid}/inventories", {"resource_class": "VCPU", "total": 4})
    service.claim(UUID, uuid, "VCPU", generation=None, status=204)


def test_a_swap_between_two_consumers_is_one_step(service: Service) -> None:
    a, b = make(service, "a"), make(service, "b")
    for uuid in (a, b):
        service.placement("POST", f"/resource_providers/{uuid}/inventories", {"resource_class": "VCPU", "total": 1})
    x, y = str(uuid_module.uuid4()), str(uuid_module.uuid4())
    service.claim(x, a, "VCPU", status=204)
    service.claim(y, b, "VCPU", status=204)
    common = {"project_id": "p", "user_id": "u", "consumer_generation": 1, "consumer_type": "INSTANCE"}
    swapped = {
        x: {"allocations": {b: {"resources": {"VCPU": 1}}}, **common},
        y: {"allocations": {a: {"resources": {"VCPU": 1}}}, **common},
    }
    service.placement("POST", "/allocations", swapped, status=204)
    assert set(service.placement("GET", f"/allocations/{x}").json["allocations"]) == {b}
    swapped[x]["consumer_generation"] = swapped[y]["consumer_generation"] = 2
    swapped[y]["allocations"] = {b: {"resources": {"VCPU": 1}}}
    service.placement("POST", "/allocations", swapped, status=409)
    assert set(service.placement("GET", f"/allocations/{y}").json["allocations"]) == {a}


def test_usages_by_project_user_and_type(service: Service) -> None:
    uuid = make(service, "a")
    service.placement("POST", f"/resource_providers/{uuid}/inventories", {"resource_class": "VCPU", "total": 9})
    service.placement("POST", f"/resource_providers/{uuid}/inventories", {"resource_class": "DISK_GB", "total": 9})

    def hold(resources: dict[str, int], user: str, kind: str | None) -> None:
        body: dict[str, Any] = {"allocations": {uuid: {"resources": resources}}, "project_id": "p", "user_id": user}
        body |= {"consumer_generation": None} | ({"consumer_type": kind} if kind else {})
        version = "1.38" if kind else "1.37"
        service.placement("PUT", f"/allocations/{uuid_module.uuid4()}", body, version=version, status=204)

    hold({"VCPU": 1, "DISK_GB": 2}, "u", "INSTANCE")
    hold({"VCPU": 2}, "u", "INSTANCE")
    hold({"VCPU": 3}, "other", None)
    get = service.placement
    assert get("GET", "/usages?project_id=p", version="1.37").json == {"usages": {"VCPU": 6, "DISK_GB": 2}}
    assert get("GET", "/usages?project_id=p&user_id=u", version="1.37").json["usages"] == {"VCPU": 3, "DISK_GB": 2}
    instance, unknown = {"VCPU": 3, "DISK_GB": 2, "consumer_count": 2}, {"VCPU": 3, "consumer_count": 1}
    assert get("GET", "/usages?project_id=p").json["usages"] == {"INSTANCE": instance, "unknown": unknown}
    assert get("GET", "/usages?project_id=p&consumer_type=unknown").json["usages"] == {"unknown": unknown}
    assert get("GET", "/usages?project_id=p&consumer_type=MIGRATION").json["usages"] == {}
    total = {"VCPU": 6, "DISK_GB": 2, "consumer_count": 3}
    assert get("GET", "/usages?project_id=p&consumer_type=all").json["usages"] == {"all": total}
    assert get("GET", "/usages?project_id=nobody").json == {"usages": {}}


def test_a_reshape_moves_what_is_allocated(service: Service) -> None:
    a = make(service, "a")
    b = make(service, "b", a)
    service.placement("POST", f"/resource_providers/{a}/inventories", {"resource_class": "VGPU", "total": 4})
    service.claim(UUID, a, "VGPU", amount=2, status=204)
    body = {
        "inventories": {
            a: {"resource_provider_generation": generation(service, a), "inventories": {}},
            b: {"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 4}}},
        },
        "allocations": {
            UUID: {
                "allocations": {b: {"resources": {"VGPU": 2}}},
                "project_id": "p", "user_id": "u", "consumer_generation": 1, "consumer_type": "INSTANCE",
            }
        },
    }  # fmt: skip
    stuck = {**body, "allocations": {}}
    response = service.placement("POST", "/reshaper", stuck, status=409)
    assert code(response) == "placement.inventory.inuse"
    assert service.inventory(a)
    service.placement("POST", "/reshaper", body, status=204)
    assert service.inventory(a) == {}
    assert set(service.placement("GET", f"/allocations/{UUID}").json["allocations"]) == {b}
    assert service.placement("GET", f"/resource_providers/{b}/usages").json["usages"] == {"VGPU": 2}
    response = service.placement("POST", "/reshaper", body, status=409)
    assert "resource provider generation conflict" in detail(response)


def test_a_list_tells_what_each_provider_tells(service: Service, subtests: pytest.Subtests) -> None:
    """Whatever is in the names; in the order in which they were made; with and without trees."""
    names = [*"ab", "a b  c", 'say "\\n"', "tab\tline\nreturn\r", "ünï ✓ \U0001f600", "null", "%s {} '", "\u2028\x1f"]
    names += [f"child of {number}" for number in range(60)]
    root = make(service, names[0])
    uuids = [root, *(make(service, name, root if name.startswith("child") else None) for name in names[1:])]
    for version in ("1.0", "1.13", "1.14", "1.39"):
        with subtests.test(version=version):
            shown = [service.placement("GET", f"/resource_providers/{uuid}", version=version).json for uuid in uuids]
            listed = service.placement("GET", "/resource_providers", version=version).json["resource_providers"]
            assert listed == shown
            assert [provider["name"] for provider in listed] == names
    assert service.placement("GET", "/resource_providers?name=nobody").json == {"resource_providers": []}
