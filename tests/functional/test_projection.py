# tier: first
"""A node is its provider: every change that scheduling can see is there in the same moment."""

from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime

import pytest
from sqlalchemy import delete, insert, select, update

from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.baremetal.provider.reconciliation import reconcile
from baremetal_sched.db.models import Inventory, NodeTrait, ProviderTrait, ResourceProvider, Trait
from tests.restored import restored
from tests.service import Service, fault

UUID = "aaaaaaaa-0000-4000-8000-000000000001"


def offered(service: Service, uuid: str, resource_class: str = "CUSTOM_GOLD") -> bool:
    return uuid in service.candidates(f"resources={resource_class}:1")


def test_a_node_that_cannot_be_had_is_not_offered(service: Service, subtests: pytest.Subtests) -> None:
    for columns in [
        {"provision_state": "cleaning"},
        {"provision_state": "active"},
        {"provision_state": "manageable"},
        {"power_state": None},
        {"power_state": "error"},
        {"maintenance": True},
        {"instance_uuid": UUID},
    ]:
        with subtests.test(columns=columns), restored(service):
            uuid = service.add_node("n1")
            assert offered(service, uuid)
            before = {name: None if name == "instance_uuid" else False for name in columns}
            before |= {"provision_state": "available", "power_state": "power on"}
            service.set_columns(uuid, **columns)
            assert not offered(service, uuid)
            assert service.inventory(uuid)["CUSTOM_GOLD"]["reserved"] == 1
            service.set_columns(uuid, **before)
            assert offered(service, uuid)


def test_enrolled_nodes_have_a_provider_without_being_offered(service: Service) -> None:
    body = {"driver": "fake-hardware", "resource_class": "gold"}
    uuid = service.baremetal("POST", "/nodes", body).json["uuid"]
    assert service.inventory(uuid) == {
        "CUSTOM_GOLD": {
            "total": 1, "reserved": 1, "min_unit": 1, "max_unit": 1, "step_size": 1, "allocation_ratio": 1.0,
        }
    }  # fmt: skip


def test_the_resource_class_follows(service: Service) -> None:
    uuid = service.add_node("n1")
    service.patch(uuid, ("replace", "/resource_class", "baremetal-Large.v2"))
    assert list(service.inventory(uuid)) == ["CUSTOM_BAREMETAL_LARGE_V2"]
    service.patch(uuid, ("remove", "/resource_class"))
    assert service.inventory(uuid) == {}


def test_the_resource_class_of_an_allocated_node_stays(service: Service) -> None:
    uuid = service.add_node("n1")
    service.claim(UUID, uuid)
    assert UUID in fault(service.patch(uuid, ("replace", "/resource_class", "silver"), status=409))
    assert service.node(uuid)["resource_class"] == "gold"
    assert list(service.inventory(uuid)) == ["CUSTOM_GOLD"]
    service.patch(uuid, ("replace", "/maintenance", True), status=200)
    assert service.inventory(uuid)["CUSTOM_GOLD"]["reserved"] == 1
    assert service.placement("GET", f"/resource_providers/{uuid}/usages").json["usages"] == {"CUSTOM_GOLD": 1}


def test_the_resource_class_of_nodes_keeps_its_name(service: Service, subtests: pytest.Subtests) -> None:
    """It would be made anew with the next change of a node of the class, which a claim of the renamed one would
    refuse."""
    for claimed in [False, True]:
        with subtests.test(claimed=claimed), restored(service):
            uuid = service.add_node("n1")
            if claimed:
                service.claim(UUID, uuid, "CUSTOM_GOLD", status=204)
            other = {"name": "CUSTOM_OTHER"}
            refused = service.placement("PUT", "/resource_classes/CUSTOM_GOLD", other, version="1.6", status=409)
            assert "resource_class" in refused.json["errors"][0]["detail"]
            assert list(service.inventory(uuid)) == ["CUSTOM_GOLD"]
            service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_A", status=204)
            assert service.provider_traits(uuid) == ["CUSTOM_A"]


def test_what_changes_nothing_for_scheduling_leaves_the_generation(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    generation = service.placement("GET", f"/resource_providers/{uuid}").json["generation"]
    service.patch(uuid, ("add", "/extra/a", 1), ("replace", "/description", "d"))
    service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_A")
    assert service.placement("GET", f"/resource_providers/{uuid}").json["generation"] == generation
    service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_B")
    assert service.placement("GET", f"/resource_providers/{uuid}").json["generation"] == generation + 1


def test_what_somebody_changed_on_the_provider_is_undone(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A", "CUSTOM_B"))

    def meddle(session):
        provider_id = session.scalar(select(ResourceProvider.id).where(ResourceProvider.uuid == uuid))
        lost = select(Trait.id).where(Trait.name == "CUSTOM_A").scalar_subquery()
        foreign = session.scalar(select(Trait.id).where(Trait.name == "HW_CPU_X86_VMX"))
        session.execute(delete(ProviderTrait).where(ProviderTrait.trait_id == lost))
        session.execute(insert(ProviderTrait).values(provider_id=provider_id, trait_id=foreign))
        session.execute(update(Inventory).values(total=7, capacity=7, max_unit=7))

    service.database.write(meddle)
    findings = service.database.read(audit)
    assert len(findings) == 4
    changes = service.database.write(lambda session: projection.project(session, nodes.find(session, uuid)))
    assert changes == ["inventory of CUSTOM_GOLD offered", "trait CUSTOM_A added", "trait HW_CPU_X86_VMX removed"]
    assert service.database.read(audit) == []
    assert service.provider_traits(uuid) == ["CUSTOM_A", "CUSTOM_B"]


def test_the_provider_has_its_traits_as_a_text_too(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A", "CUSTOM_B"))

    def texts(session):
        ids = dict(session.execute(select(Trait.name, Trait.id)).all())
        return ids, session.scalars(select(ResourceProvider.trait_ids)).one()

    ids, text = service.database.read(texts)
    assert text == "{},{}".format(*sorted((ids["CUSTOM_A"], ids["CUSTOM_B"])))
    service.baremetal("DELETE", f"/nodes/{uuid}/traits/CUSTOM_A")
    assert service.database.read(texts)[1] == str(ids["CUSTOM_B"])
    path = f"/resource_providers/{uuid}"
    generation = service.placement("GET", path).json["generation"]
    body = {"resource_provider_generation": generation, "traits": ["OWNER_NOVA"]}
    service.placement("PUT", f"{path}/traits", body)
    assert service.database.read(texts)[1] == "{},{}".format(*sorted((ids["CUSTOM_B"], ids["OWNER_NOVA"])))
    service.placement("DELETE", f"{path}/traits")
    assert service.database.read(texts)[1] == str(ids["CUSTOM_B"])
    service.database.write(lambda session: session.execute(update(ResourceProvider).values(trait_ids="7")))
    assert service.database.read(audit)[-1] == (
        f'provider {uuid}: its trait_ids are "7", but those of its traits are "{ids["CUSTOM_B"]}"'
    )


def _reconcile(service: Service, uuid: str) -> None:
    service.database.write(lambda session: reconcile(session, _id(session, uuid), "c1"))


def _change(service: Service, uuid: str) -> None:
    for method in ("PUT", "DELETE"):
        service.baremetal(method, f"/nodes/{uuid}/maintenance")


@pytest.mark.parametrize("bring_back", [_reconcile, _change])
def test_a_provider_that_somebody_removed_comes_back(
    service: Service, bring_back: Callable[[Service, str], None]
) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",))

    def remove(session):
        session.execute(delete(ProviderTrait))
        session.execute(delete(Inventory))
        session.execute(update(ResourceProvider).values(root_id=None))
        session.execute(delete(ResourceProvider))

    service.database.write(remove)
    assert service.database.read(audit)[0] == f"node {uuid}: has no resource provider"
    service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_B")
    assert service.database.read(audit)[0] == f"node {uuid}: has no resource provider"
    bring_back(service, uuid)
    assert service.database.read(audit) == []
    assert offered(service, uuid)


def test_the_audit_finds_drift(service: Service) -> None:
    uuid = service.add_node("n1")
    service.claim(UUID, uuid)
    assert service.database.read(audit) == []
    service.database.write(lambda session: session.execute(update(Inventory).values(used=0)))
    assert service.database.read(audit) == [f"provider {uuid}: used 0 of CUSTOM_GOLD, but 1 are allocated"]
    service.database.write(lambda session: session.execute(update(Inventory).values(used=1)))
    service.database.write(
        lambda session: session.execute(insert(NodeTrait).values(node_id=_id(session, uuid), trait="CUSTOM_X"))
    )
    assert service.database.read(audit) == [f"node {uuid}: its provider lacks the trait CUSTOM_X"]


def _id(session, uuid: str) -> int:
    return nodes.find(session, uuid).id


def test_a_change_that_fails_changes_neither(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    before = (service.node(uuid), service.inventory(uuid), service.provider_traits(uuid))
    service.patch(uuid, ("replace", "/resource_class", "silver"), ("replace", "/name", "a b"), status=400)
    service.patch(uuid, ("replace", "/maintenance", True), ("replace", "/retired", True), status=409)
    service.baremetal("PUT", f"/nodes/{uuid}/traits", {"traits": ["CUSTOM_B", "bad"]}, status=400)
    assert (service.node(uuid), service.inventory(uuid), service.provider_traits(uuid)) == before


def test_a_node_cannot_have_the_uuid_that_another_provider_has_for_a_name(service: Service) -> None:
    service.placement("POST", "/resource_providers", {"name": UUID})
    body = {"driver": "fake-hardware", "resource_class": "gold", "uuid": UUID}
    assert f"name: {UUID} already exists" in fault(service.baremetal("POST", "/nodes", body, status=409))
    service.baremetal("GET", f"/nodes/{UUID}", status=404)
    service.placement("GET", f"/resource_providers/{UUID}", status=404)


def test_a_node_whose_provider_has_children_stays(service: Service) -> None:
    uuid = service.add_node("n1")
    child = service.placement("POST", "/resource_providers", {"name": "child", "parent_provider_uuid": uuid}).json
    assert "It has child resource providers." in fault(service.baremetal("DELETE", f"/nodes/{uuid}", status=409))
    assert offered(service, uuid)
    service.placement("DELETE", f"/resource_providers/{child['uuid']}")
    service.baremetal("DELETE", f"/nodes/{uuid}")
    service.placement("GET", f"/resource_providers/{uuid}", status=404)


def test_a_change_of_the_node_is_the_time_that_its_provider_changed(service: Service) -> None:
    uuid = service.add_node("n1")
    long_ago = datetime(2001, 2, 3, 4, 5, 6)
    with service.database.engine.begin() as connection:
        connection.execute(update(ResourceProvider).values(updated_at=long_ago))
    path = f"/resource_providers/{uuid}"
    assert service.placement("GET", path).headers["Last-Modified"] == "Sat, 03 Feb 2001 04:05:06 GMT"
    service.patch(uuid, ("add", "/extra/a", 1))
    assert service.placement("GET", path).headers["Last-Modified"] == "Sat, 03 Feb 2001 04:05:06 GMT"
    service.baremetal("PUT", f"/nodes/{uuid}/traits/CUSTOM_X")
    assert parsedate_to_datetime(service.placement("GET", path).headers["Last-Modified"]).year > 2001
