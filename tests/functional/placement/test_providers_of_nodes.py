"""The node decides what its provider offers: writes that would change that are refused, through every route."""

from typing import Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Inventory, ResourceClass, ResourceProvider
from tests.restored import restored
from tests.service import Service

CODE = "placement.resource_provider.mirrors_node"
CONFLICT = "placement.concurrent_update"
UNIT = {"total": 1, "reserved": 0, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0}
A, B, C = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "abc")


@pytest.fixture
def node(service: Service) -> str:
    return service.add_node("n1", traits=("CUSTOM_A",))


def generation_of(service: Service, uuid: str) -> int:
    generation: int = service.placement("GET", f"/resource_providers/{uuid}").json["generation"]
    return generation


def put(
    service: Service, uuid: str, inventories: dict[str, Any], generation: int | None = None, **expected: Any
) -> Any:
    body = {
        "resource_provider_generation": generation_of(service, uuid) if generation is None else generation,
        "inventories": inventories,
    }
    return service.placement("PUT", f"/resource_providers/{uuid}/inventories", body, **expected)


def code_of(response: Any) -> str:
    (error,) = response.json["errors"]
    code: str = error["code"]
    return code


def add_foreign_inventory(service: Service, uuid: str) -> None:
    """VCPU, behind everybody's back."""

    def add(session: Session) -> None:
        values = dict(UNIT, total=8, max_unit=8)
        provider_id = session.scalars(select(ResourceProvider.id).where(ResourceProvider.uuid == uuid)).one()
        class_id = session.scalars(select(ResourceClass.id).where(ResourceClass.name == "VCPU")).one()
        row = {"provider_id": provider_id, "resource_class_id": class_id, "capacity": 8, "created_at": utcnow()}
        session.execute(insert(Inventory).values(**values, **row))

    service.database.write(add)


WRITES: dict[str, tuple[str, str, Any]] = {
    "a class more": ("PUT", "/inventories", {"inventories": {"CUSTOM_GOLD": UNIT, "VCPU": {"total": 8}}}),
    "another class": ("PUT", "/inventories", {"inventories": {"VCPU": {"total": 8}}}),
    "no class": ("PUT", "/inventories", {"inventories": {}}),
    "more of it": ("PUT", "/inventories", {"inventories": {"CUSTOM_GOLD": UNIT | {"total": 2, "max_unit": 2}}}),
    "more of one": ("PUT", "/inventories/CUSTOM_GOLD", UNIT | {"total": 2}),
    "a new one": ("POST", "/inventories", {"resource_class": "VCPU", "total": 8}),
    "one less": ("DELETE", "/inventories/CUSTOM_GOLD", None),
    "none any more": ("DELETE", "/inventories", None),
    "no provider": ("DELETE", "", None),
    "another name": ("PUT", "", {"name": "other"}),
    "a sharing trait": ("PUT", "/traits", {"traits": ["CUSTOM_A", "MISC_SHARES_VIA_AGGREGATE"]}),
}


def test_a_write_that_changes_what_a_node_offers_is_refused(
    service: Service, node: str, subtests: pytest.Subtests
) -> None:
    for write in WRITES:
        with subtests.test(write=write):
            method, path, body = WRITES[write]
            if body is not None and "name" not in body and method == "PUT":
                body = {"resource_provider_generation": generation_of(service, node), **body}
            before = (service.inventory(node), service.provider_traits(node), generation_of(service, node))
            refused = service.placement(method, f"/resource_providers/{node}{path}", body, status=409)
            assert code_of(refused) == CODE
            assert "the node instead" in refused.json["errors"][0]["detail"]
            assert (service.inventory(node), service.provider_traits(node), generation_of(service, node)) == before
            assert service.database.read(audit) == []


def test_a_node_is_moved_into_no_tree(service: Service, node: str) -> None:
    other = service.placement("POST", "/resource_providers", {"name": "other"}).json["uuid"]
    body = {"name": node, "parent_provider_uuid": other}
    assert code_of(service.placement("PUT", f"/resource_providers/{node}", body, status=409)) == CODE
    service.placement("PUT", f"/resource_providers/{node}", {"name": node, "parent_provider_uuid": None}, status=200)
    service.placement("PUT", f"/resource_providers/{node}", {"name": node}, status=200)


def test_the_reshaper_changes_no_node(service: Service, node: str) -> None:
    def reshape(inventories: dict[str, Any], generation: int, **expected: Any) -> Any:
        shape = {"inventories": inventories, "resource_provider_generation": generation}
        return service.placement("POST", "/reshaper", {"inventories": {node: shape}, "allocations": {}}, **expected)

    now = generation_of(service, node)
    assert code_of(reshape({"CUSTOM_GOLD": UNIT, "VCPU": {"total": 8}}, now, status=409)) == CODE
    assert code_of(reshape({"VCPU": {"total": 8}}, now - 1, status=409)) == CONFLICT
    reshape({"CUSTOM_GOLD": UNIT}, now - 1, status=204)
    reshape({"CUSTOM_GOLD": UNIT | {"reserved": 1}}, now, status=204)
    assert service.inventory(node) == {"CUSTOM_GOLD": UNIT}
    assert generation_of(service, node) == now


def test_what_is_there_already_is_accepted_at_any_generation(service: Service, node: str) -> None:
    now = generation_of(service, node)
    path = f"/resource_providers/{node}"
    for generation in (now - 1, now, now + 5):
        answer = put(service, node, {"CUSTOM_GOLD": UNIT}, generation, status=200).json
        assert answer == {"inventories": {"CUSTOM_GOLD": UNIT}, "resource_provider_generation": now}
        body: dict[str, Any] = {"resource_provider_generation": generation, **UNIT}
        assert service.placement("PUT", f"{path}/inventories/CUSTOM_GOLD", body).json == body | {
            "resource_provider_generation": now
        }
        body = {"resource_provider_generation": generation, "traits": ["CUSTOM_A"]}
        assert service.placement("PUT", f"{path}/traits", body).json["resource_provider_generation"] == now


def test_what_is_reserved_stays_as_the_node_has_it(service: Service, node: str) -> None:
    """Nova may be configured to reserve machines in use differently."""
    now = generation_of(service, node)
    answer = put(service, node, {"CUSTOM_GOLD": UNIT | {"reserved": 1}}, status=200).json
    assert answer == {"inventories": {"CUSTOM_GOLD": UNIT}, "resource_provider_generation": now}
    body = {"resource_provider_generation": now, **UNIT, "reserved": 1}
    one = service.placement("PUT", f"/resource_providers/{node}/inventories/CUSTOM_GOLD", body, status=200).json
    assert one == UNIT | {"resource_provider_generation": now}
    older = put(service, node, {"CUSTOM_GOLD": UNIT | {"reserved": 1}}, now - 1, status=409)
    assert code_of(older) == CONFLICT


def test_a_node_without_a_class_has_nothing_to_lose(service: Service) -> None:
    uuid = service.add_node("n1", resource_class=None)
    put(service, uuid, {}, 77, status=200)
    service.placement("DELETE", f"/resource_providers/{uuid}/inventories", status=204)
    assert code_of(put(service, uuid, {"VCPU": {"total": 8}}, status=409)) == CODE


def test_traits_of_the_scheduler_are_stored_beside_those_of_the_node(service: Service, node: str) -> None:
    path = f"/resource_providers/{node}/traits"
    service.placement("PUT", "/traits/CUSTOM_B")

    def write(traits: list[str], generation: int, **expected: Any) -> Any:
        body = {"resource_provider_generation": generation, "traits": traits}
        return service.placement("PUT", path, body, **expected).json

    now = generation_of(service, node)
    answer = write(["COMPUTE_NODE", "CUSTOM_B", "OWNER_NOVA"], now, status=200)
    assert answer == {"traits": ["COMPUTE_NODE", "CUSTOM_A", "OWNER_NOVA"], "resource_provider_generation": now + 1}
    answer = write(["CUSTOM_A", "OWNER_NOVA"], now + 1, status=200)
    assert answer == {"traits": ["CUSTOM_A", "OWNER_NOVA"], "resource_provider_generation": now + 2}
    service.placement("PUT", path, {"resource_provider_generation": now, "traits": []}, status=409)
    write(["CUSTOM_UNKNOWN"], now + 2, status=400)
    assert service.node(node)["traits"] == ["CUSTOM_A"]
    service.placement("DELETE", path, status=204)
    assert service.provider_traits(node) == ["CUSTOM_A"]
    assert service.database.read(audit) == []


def test_a_trait_of_the_schedulers_namespaces_comes_and_goes_with_the_node(service: Service, node: str) -> None:
    service.baremetal("PUT", f"/nodes/{node}/traits/COMPUTE_TRUSTED_CERTS")
    assert service.provider_traits(node) == ["COMPUTE_TRUSTED_CERTS", "CUSTOM_A"]
    service.baremetal("DELETE", f"/nodes/{node}/traits/COMPUTE_TRUSTED_CERTS")
    assert service.provider_traits(node) == ["CUSTOM_A"]
    other = service.add_node("n2", traits=("OWNER_CYBORG",))
    assert service.provider_traits(other) == ["OWNER_CYBORG"]


def test_nothing_but_its_class_can_be_claimed_of_a_node(service: Service, node: str, subtests: pytest.Subtests) -> None:
    for amounts in [{"VCPU": 1}, {"VCPU": 1, "CUSTOM_GOLD": 1}]:
        with subtests.test(amounts=amounts), restored(service):
            add_foreign_inventory(service, node)
            body = {
                "allocations": {node: {"resources": amounts}},
                "consumer_generation": None,
                "project_id": "p",
                "user_id": "u",
                "consumer_type": "INSTANCE",
            }
            refused = service.placement("PUT", f"/allocations/{A}", body, status=409)
            assert "VCPU" in refused.json["errors"][0]["detail"]
            assert service.placement("GET", f"/resource_providers/{node}/usages").json["usages"]["VCPU"] == 0
            service.claim(B, node, status=204)


def test_a_provider_that_was_there_before_its_node(service: Service) -> None:
    parent = service.placement("POST", "/resource_providers", {"name": "parent"}).json["uuid"]
    body = {"name": C, "uuid": C, "parent_provider_uuid": parent}
    service.placement("POST", "/resource_providers", body)
    put(service, C, {"VCPU": {"total": 8}}, status=200)
    child = service.placement("POST", "/resource_providers", {"name": "child", "parent_provider_uuid": C}).json["uuid"]
    put(service, child, {"VGPU": {"total": 2}}, status=200)
    assert service.candidates("resources=VGPU:1") == {child}
    service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "resource_class": "gold", "uuid": C})
    assert list(service.inventory(C)) == ["CUSTOM_GOLD"]
    shown = service.placement("GET", f"/resource_providers/{C}").json
    assert (shown["parent_provider_uuid"], shown["root_provider_uuid"]) == (None, C)
    assert service.candidates("resources=VGPU:1") == set()
    assert service.database.read(audit) == []
