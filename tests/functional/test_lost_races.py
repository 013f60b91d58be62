"""A value that was read a moment ago may be old: a transaction that finds that out while it writes has lost, and starts
again.

Another transaction comes between each time here, so every attempt loses, and the client is told to try again.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from baremetal_sched.baremetal.matching import node_request
from tests.functional.placement.test_races import body, make, uuid_of
from tests.interleaving import just_before
from tests.restored import restored
from tests.service import Service


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, database={"transaction_retries": 2}) as running:
        running.add_conductor("c1")
        yield running


@pytest.fixture
def provider(service: Service) -> str:
    """One with 100 VCPU."""
    return make(service, "a")


def claims(*providers: str) -> dict[str, Any]:
    """New consumers for POST /allocations, one for each provider."""
    return {uuid_of(number): body(provider) for number, provider in enumerate(providers)}


def lost(service: Service, *request: Any) -> None:
    (error,) = service.placement(*request, status=409).json["errors"]
    assert error["code"] == "placement.concurrent_update"


def test_a_claim_takes_nothing_that_was_taken_meanwhile(service: Service, provider: str) -> None:
    with just_before(service.database, "UPDATE inventories SET used", "UPDATE inventories SET used = 100") as seen:
        lost(service, "POST", "/allocations", claims(provider, provider))
    assert len(seen) == 2
    assert service.placement("GET", f"/resource_providers/{provider}/usages").json["usages"] == {"VCPU": 0}


def test_a_claim_takes_nothing_for_which_a_hold_began_meanwhile(service: Service, provider: str) -> None:
    with just_before(service.database, "UPDATE inventories SET used", "UPDATE inventories SET closes_at = 1") as seen:
        lost(service, "POST", "/allocations", claims(provider, provider))
    assert len(seen) == 2
    assert service.placement("GET", f"/resource_providers/{provider}/usages").json["usages"] == {"VCPU": 0}


def test_a_hold_that_ended_meanwhile_is_not_changed(service: Service) -> None:
    service.add_node("n1")
    path = "/scheduling/v1/nodes/n1/holds"
    hold = service.http.post_json(path, {"type": "window", "ends_at": "2050-01-01T00:00:00Z"}).json
    with just_before(service.database, "UPDATE holds SET", "UPDATE holds SET ends_at = 5") as seen:
        service.http.patch_json(f"{path}/{hold['uuid']}", {"reason": "late"}, status=503)
    assert len(seen) == 2
    assert service.http.get(f"{path}/{hold['uuid']}").json == hold


def test_the_holder_of_a_tree_takes_nothing_that_was_taken_meanwhile(service: Service) -> None:
    child = {"name": "child", "parent_provider_uuid": service.add_node("n1")}
    uuid = service.placement("POST", "/resource_providers", child).json["uuid"]
    service.placement("POST", f"/resource_providers/{uuid}/inventories", {"resource_class": "VCPU", "total": 8})
    with just_before(service.database, "UPDATE inventories SET used", "UPDATE inventories SET used = 8") as seen:
        lost(service, "POST", "/allocations", claims(uuid))
    assert len(seen) == 2


def test_a_claim_sees_that_its_tree_became_indivisible_meanwhile(service: Service, provider: str) -> None:
    change = "UPDATE resource_providers SET indivisible = NOT indivisible"
    with just_before(service.database, "UPDATE resource_providers SET generation", change) as seen:
        lost(service, "POST", "/allocations", claims(provider, provider))
    assert seen


def test_a_consumer_that_was_changed_meanwhile_is_read_again(service: Service, provider: str) -> None:
    path = f"/allocations/{uuid_of(0)}"
    service.placement("PUT", path, body(provider), status=204)
    older = {"allocations": body(provider, amount=2)["allocations"], "project_id": "p", "user_id": "u"}
    change = "UPDATE consumers SET generation = generation + 1"
    with just_before(service.database, "UPDATE consumers SET", change):
        service.placement("PUT", path, older, version="1.12", status=409)
    assert service.placement("GET", path).json["allocations"][provider]["resources"] == {"VCPU": 1}


def test_a_provider_that_was_changed_meanwhile_is_read_again(
    service: Service, provider: str, subtests: pytest.Subtests
) -> None:
    for part in ["inventories", "traits", "aggregates"]:
        with subtests.test(part=part):
            content = {
                "inventories": {"DISK_GB": {"total": 1}},
                "traits": ["HW_CPU_X86_VMX"],
                "aggregates": [uuid_of(9)],
            }
            path = f"/resource_providers/{provider}"
            change = "UPDATE resource_providers SET generation = generation + 1"
            with just_before(service.database, "UPDATE resource_providers SET", change, in_parts=True):
                lost(service, "PUT", f"{path}/{part}", {"resource_provider_generation": 1, part: content[part]})
            assert set(service.inventory(provider)) == {"VCPU"}
            assert service.placement("GET", path).json["generation"] == 1


def test_an_inventory_that_was_claimed_meanwhile_stays(
    service: Service, provider: str, subtests: pytest.Subtests
) -> None:
    for one in [True, False]:
        with subtests.test(one=one):
            path = f"/resource_providers/{provider}/inventories{'/VCPU' if one else ''}"
            with just_before(service.database, "DELETE FROM inventories", "UPDATE inventories SET used = 1"):
                lost(service, "DELETE", path)
            assert set(service.inventory(provider)) == {"VCPU"}


def test_a_node_that_was_claimed_meanwhile_is_deleted_only_in_maintenance(
    service: Service, subtests: pytest.Subtests
) -> None:
    for in_maintenance in [False, True]:
        with subtests.test(in_maintenance=in_maintenance), restored(service):
            uuid = service.add_node("n1")
            if in_maintenance:
                service.baremetal("PUT", f"/nodes/{uuid}/maintenance", {})
            with just_before(service.database, "DELETE FROM inventories", "UPDATE inventories SET used = 1") as seen:
                service.baremetal("DELETE", f"/nodes/{uuid}", status=204 if in_maintenance else 503)
            assert len(seen) == (1 if in_maintenance else 2)
            if not in_maintenance:
                assert set(service.inventory(uuid)) == {"CUSTOM_GOLD"}


def test_a_node_whose_traits_were_changed_meanwhile_is_not_allocated(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_FAST",))
    asked = {"resource_class": "gold", "traits": ["CUSTOM_FAST"]}
    with just_before(service.database, "SELECT node_traits.trait", "DELETE FROM node_traits") as seen:
        service.baremetal("POST", "/allocations", asked, status=503)
    assert len(seen) == 2
    assert service.baremetal("GET", "/allocations").json["allocations"] == []


def test_a_tree_that_was_moved_meanwhile_is_looked_at_again(service: Service, provider: str) -> None:
    """What it was to be put below is in another tree now, perhaps below itself."""
    parent = make(service, "parent")
    change = (
        f"UPDATE resource_providers SET root_id = (SELECT id FROM (SELECT id FROM resource_providers"
        f" WHERE uuid = '{provider}') AS other) WHERE uuid = '{parent}'"
    )
    with just_before(service.database, "UPDATE resource_providers SET updated_at", change) as seen:
        lost(service, "PUT", f"/resource_providers/{provider}", {"name": "a", "parent_provider_uuid": parent})
    assert seen
    assert service.placement("GET", f"/resource_providers/{provider}").json["parent_provider_uuid"] is None


def test_a_child_that_was_added_while_its_tree_moves_is_not_left_behind(service: Service, provider: str) -> None:
    parent = make(service, "parent")
    change = (
        "INSERT INTO resource_providers (uuid, name, parent_id, root_id, created_at) "
        f"SELECT 'late', 'late', id, root_id, created_at FROM resource_providers WHERE uuid = '{provider}'"
        " AND NOT EXISTS (SELECT 1 FROM (SELECT uuid FROM resource_providers) AS others WHERE uuid = 'late')"
    )
    with just_before(service.database, "UPDATE resource_providers SET root_id", change) as seen:
        lost(service, "PUT", f"/resource_providers/{provider}", {"name": "a", "parent_provider_uuid": parent})
    assert seen
    assert service.placement("GET", f"/resource_providers/{provider}").json["parent_provider_uuid"] is None


STEP = {"interface": "deploy", "step": "erase_devices", "args": {}}
ROWS = {
    "nodes": ("/nodes", {"driver": "fake-hardware"}),
    "node_allocations": ("/allocations", {"resource_class": "gold", "name": "mine"}),
    "deploy_templates": ("/deploy_templates", {"name": "CUSTOM_A", "steps": [{**STEP, "priority": 1}]}),
    "runbooks": ("/runbooks", {"name": "CUSTOM_A", "steps": [{**STEP, "order": 1}]}),
    "inspection_rules": (
        "/inspection_rules",
        {"actions": [{"op": "set-attribute", "args": {"path": "/extra/a", "value": 1}}]},
    ),
}


def test_a_row_that_was_changed_meanwhile_is_read_again(service: Service, subtests: pytest.Subtests) -> None:
    for table in ROWS:
        with subtests.test(table=table), restored(service):
            path, content = ROWS[table]
            if table == "node_allocations":
                service.add_node("n1")
            row = service.baremetal("POST", path, content).json
            field = "extra" if "extra" in row else "description"
            value = {"a": 1} if field == "extra" else "other"
            change = f"UPDATE {table} SET revision = revision + 1"
            with just_before(service.database, f"UPDATE {table} SET", change) as seen:
                service.patch_at(f"{path}/{row['uuid']}", ("add", f"/{field}", value), status=503)
            assert len(seen) == 2
            assert service.baremetal("GET", f"{path}/{row['uuid']}").json[field] == row[field]


def test_the_node_of_an_allocation_that_is_removed_may_go_meanwhile(service: Service) -> None:
    service.add_node("n1")
    service.baremetal("POST", "/allocations", {"resource_class": "gold", "name": "mine"})
    with just_before(service.database, "SELECT nodes", "DELETE FROM nodes") as seen:
        service.baremetal("DELETE", "/allocations/mine", status=503)
    assert len(seen) == 2
    service.baremetal("DELETE", "/allocations/mine", status=204)


def test_nodes_that_others_are_just_taking_are_no_reason_to_fail(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They fit, and each was locked by another transaction: one may be left when these have ended."""
    service.add_node("n1")
    monkeypatch.setattr(node_request, "_lock_one", lambda *arguments: None)
    service.baremetal("POST", "/allocations", {"resource_class": "gold", "name": "mine"}, status=503)
    service.baremetal("GET", "/allocations/mine", status=404)
    monkeypatch.undo()
    service.baremetal("POST", "/allocations", {"resource_class": "gold", "name": "mine"})
    assert service.baremetal("GET", "/allocations/mine").json["state"] == "active"


def test_what_a_client_read_may_be_old_too(service: Service, provider: str, subtests: pytest.Subtests) -> None:
    for part in ["inventories", "inventories/VCPU", "traits", "aggregates", "reshaper"]:
        with subtests.test(part=part):
            shape = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
            content = {
                "inventories": shape,
                "inventories/VCPU": {"resource_provider_generation": 0, "total": 8},
                "traits": {"resource_provider_generation": 0, "traits": ["HW_CPU_X86_VMX"]},
                "aggregates": {"resource_provider_generation": 0, "aggregates": [uuid_of(9)]},
                "reshaper": {"inventories": {provider: shape}, "allocations": {}},
            }[part]
            path = f"/resource_providers/{provider}"
            if part == "reshaper":
                lost(service, "POST", "/reshaper", content)
            else:
                lost(service, "PUT", f"{path}/{part}", content)
            assert service.inventory(provider)["VCPU"]["total"] == 100
            assert service.placement("GET", path).json["generation"] == 1
