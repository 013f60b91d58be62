# tier: first
"""Allocations: which node they get, who else then cannot have it, and how it is given back."""

import uuid
from typing import Any

from baremetal_sched.baremetal.matching.sentences import FALLBACK
from baremetal_sched.baremetal.provider.audit import audit
from tests.restored import Rows
from tests.service import Service, fault

A = "/allocations"
UUID = "aaaaaaaa-0000-4000-8000-000000000001"


def allocate(service: Service, **body: Any) -> dict[str, Any]:
    """POST an allocation (of class gold, if nothing else is said); what became of it."""
    made = service.baremetal("POST", A, {"resource_class": "gold", **body}, status=201).json
    return service.baremetal("GET", f"{A}/{made['uuid']}").json


def refusal(service: Service, status: int, version: str = "1.115", **body: Any) -> str:
    """The message with which a POST is refused; nothing is left of it."""
    return fault(service.baremetal("POST", A, {"resource_class": "gold", **body}, status=status, version=version))


def active(service: Service, node: str, **columns: Any) -> None:
    service.set_columns(node, provision_state="active", **columns)


# -- the answer to POST ------------------------------------------------------------------------------------------------


def test_post_shows_what_was_accepted_and_get_what_became_of_it(service: Service) -> None:
    node = service.add_node("n1", traits=("CUSTOM_A", "CUSTOM_B"))
    body = {"resource_class": "gold", "name": "mine", "traits": ["CUSTOM_A"], "extra": {"k": 1}, "owner": None}
    answer = service.baremetal("POST", A, body, status=201)
    accepted = answer.json
    assert answer.headers["Location"].endswith(f"/v1/allocations/{accepted['uuid']}")
    assert (accepted["state"], accepted["node_uuid"], accepted["updated_at"]) == ("allocating", None, None)
    shown = service.baremetal("GET", f"{A}/mine").json
    assert set(shown) == set(accepted)
    expected = {
        "state": "active", "node_uuid": node, "last_error": None, "traits": ["CUSTOM_A"], "candidate_nodes": [],
        "extra": {"k": 1},
    }  # fmt: skip
    assert {name: shown[name] for name in expected} == expected
    assert shown == service.baremetal("GET", "/nodes/n1/allocation").json
    shown = service.node(node)
    assert shown["instance_uuid"] == shown["allocation_uuid"] == accepted["uuid"]
    assert shown["instance_info"] == {"traits": ["CUSTOM_A"]}


def test_who_prefers_to_sees_it_at_once(service: Service) -> None:
    node = service.add_node("n1")
    answer = service.baremetal(
        "POST", A, {"resource_class": "gold"}, headers={"Prefer": "return=representation"}, status=201
    )
    assert (answer.json["state"], answer.json["node_uuid"]) == ("active", node)
    assert answer.headers["Preference-Applied"] == "return=representation"


# -- claims ------------------------------------------------------------------------------------------------------------


def test_an_allocated_node_is_claimed_in_placement(service: Service) -> None:
    node = service.add_node("n1")
    allocation = allocate(service, owner="p1") if service.patch(node, ("add", "/owner", "p1")) else {}
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()
    consumer = service.placement("GET", f"/allocations/{allocation['uuid']}").json
    assert consumer["allocations"][node]["resources"] == {"CUSTOM_GOLD": 1}
    assert (consumer["project_id"], consumer["consumer_type"]) == ("p1", "BAREMETAL_ALLOCATION")
    assert service.claim(str(uuid.uuid4()), node, status="*").status_code == 409
    assert service.database.read(audit) == []


def test_a_node_claimed_in_placement_is_not_allocated(service: Service) -> None:
    node = service.add_node("n1")
    service.claim(UUID, node)
    failed = allocate(service)
    assert failed["state"] == "error"
    assert failed["updated_at"] is not None
    assert "1 is claimed through placement" in failed["last_error"]
    assert service.node(node)["instance_uuid"] is None


def test_a_node_claimed_in_placement_is_not_allocated_by_its_name_either(service: Service) -> None:
    claimed, free = (service.add_node(name) for name in ("n1", "n2"))
    service.claim(UUID, claimed)
    assert "1 is claimed through placement" in allocate(service, candidate_nodes=[claimed])["last_error"]
    assert allocate(service, name="n1")["node_uuid"] == free


def test_a_consumer_of_that_uuid_that_holds_something_is_left_alone(service: Service) -> None:
    service.claim(UUID, service.add_node("n1"))
    service.add_node("n2")
    assert UUID in refusal(service, 409, uuid=UUID)
    assert service.baremetal("GET", A).json["allocations"] == []
    assert service.database.read(audit) == []


def test_a_claim_that_somebody_gave_back_in_placement_does_not_disturb(service: Service) -> None:
    node = service.add_node("n1")
    allocation = allocate(service)
    service.placement("DELETE", f"/allocations/{allocation['uuid']}", status=204)
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()
    service.baremetal("DELETE", f"{A}/{allocation['uuid']}", status=204)
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}


# -- which node --------------------------------------------------------------------------------------------------------


def test_only_free_nodes_of_the_class(service: Service, row: Rows) -> None:
    for columns, why in [
        ({"provision_state": "manageable"}, "1 is not in provision state 'available'."),
        ({"maintenance": True}, "1 is in maintenance."),
        ({"instance_uuid": UUID}, "1 is in use by an instance."),
        ({"power_state": None}, "1 has an unknown power state."),
        ({"power_state": "error"}, "1 has an unknown power state."),
        ({"resource_class": "silver"}, "1 is not of resource class gold."),
        ({"resource_class": "Gold"}, "1 is not of resource class gold; did you mean Gold instead of gold?"),
        ({"parent_node": UUID}, "1 is a part of another node."),
    ]:
        with row(columns, why):
            service.set_columns(service.add_node("n1"), **columns)
            failed = allocate(service)
            assert failed["state"] == "error"
            verdict = "No node matches" if "resource_class" in columns else "No node that matches is free"
            assert failed["last_error"] == f"Failed to process allocation {failed['uuid']}: {verdict}. Of 1 node, {why}"


def test_traits_required_forbidden_and_any_of(service: Service) -> None:
    plain = service.add_node("plain", traits=("CUSTOM_A",))
    bad = service.add_node("bad", traits=("CUSTOM_A", "CUSTOM_B", "CUSTOM_BAD"))
    good = service.add_node("good", traits=("CUSTOM_A", "CUSTOM_C", "CUSTOM_B"))
    entries = ["CUSTOM_A", "in:CUSTOM_X, CUSTOM_B,CUSTOM_C", "!CUSTOM_BAD"]
    allocation = allocate(service, traits=entries)
    assert (allocation["node_uuid"], allocation["traits"]) == (good, entries)
    # What the instance asks of the node is what it has of this: a trait of its own, and one of any.
    assert service.node(good)["instance_info"]["traits"] == ["CUSTOM_A", "CUSTOM_B"]
    failed = allocate(service, traits=entries)
    assert failed["last_error"] == (
        f"Failed to process allocation {failed['uuid']}: No node that matches is free. Of 1 node, 1 is in use by an "
        "instance; 1 would match if nodes that have CUSTOM_BAD were accepted."
    )
    assert {allocate(service, traits=["!CUSTOM_C"])["node_uuid"] for _ in range(2)} == {plain, bad}


def test_last_error_counts_what_each_condition_removed(service: Service) -> None:
    service.add_node("other", resource_class="silver")
    service.set_columns(service.add_node("broken"), maintenance=True)
    service.set_columns(service.add_node("unknown"), power_state=None)
    service.add_node("lessee", lessee="p1", traits=("CUSTOM_A",))
    service.add_node("stranger")
    failed = allocate(service, owner="p1", traits=["CUSTOM_B"])
    assert failed["last_error"].endswith(
        ": No node matches. Of 5 nodes, 1 is not of resource class gold, 3 belong to other projects or to no project "
        "and 1 fails other conditions; 1 would match if nodes that lack CUSTOM_B were accepted."
    )
    assert allocate(service, owner="p1")["state"] == "active"
    failed = allocate(service, candidate_nodes=["broken", "unknown"])
    assert failed["last_error"].endswith(
        ": No node that matches is free. Of 2 nodes, 1 is in maintenance and 1 has an unknown power state; 1 would "
        "match if nodes that are not among the candidate nodes were accepted."
    )


def test_any_number_of_traits(service: Service, row: Rows) -> None:
    for count in [60, 500]:
        with row(count):
            service.add_node("n1", traits=("CUSTOM_0",))
            failed = allocate(service, traits=[f"CUSTOM_{number}" for number in range(count)])
            assert failed["last_error"].endswith(
                ": No node matches. Of 1 node, 1 lacks CUSTOM_1; 1 would match without 59 of the conditions."
                if count == 60
                else FALLBACK
            )
            others = [f"!CUSTOM_{number}" for number in range(1, count)]
            assert allocate(service, traits=others)["state"] == "active"
            service.add_node("n2", traits=("CUSTOM_0",))
            several = [f"in:CUSTOM_0,CUSTOM_{number}" for number in range(1, count)]
            assert allocate(service, traits=several)["state"] == "active"


def test_an_empty_owner_is_none(service: Service) -> None:
    service.add_node("n1", owner="p1")
    allocation = allocate(service, owner="")
    assert (allocation["state"], allocation["owner"]) == ("active", None)


def test_candidate_nodes_keep_their_order_and_are_uuids(service: Service) -> None:
    one, two = service.add_node("n1"), service.add_node("n2")
    service.add_node("n3")
    allocation = allocate(service, candidate_nodes=["n2", one.upper()])
    assert allocation["candidate_nodes"] == [two, one]
    assert allocate(service, candidate_nodes=[one, two])["node_uuid"] in {one, two} - {allocation["node_uuid"]}
    assert refusal(service, 400, candidate_nodes=["n1", "nosuch", UUID]) == f"Nodes cannot be found: nosuch, {UUID}"


def test_a_node_of_the_same_name_is_tried_first(service: Service) -> None:
    fleet = {name: service.add_node(name) for name in ("n1", "n2", "n3", "n4")}
    for name in ("n3", "n1"):
        assert allocate(service, name=name)["node_uuid"] == fleet[name]
    rest = {allocate(service, name=name)["node_uuid"] for name in ("x", "y")}
    assert rest == {fleet["n2"], fleet["n4"]}


def test_a_node_at_which_a_conductor_works_is_waited_for(service: Service) -> None:
    node = service.add_node("n1")
    service.set_columns(node, reservation="c1")
    assert "1 suitable nodes" in refusal(service, 409)
    assert service.baremetal("GET", A).json["allocations"] == []
    service.set_columns(node, reservation=None)
    assert allocate(service)["node_uuid"] == node


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_bodies_that_are_refused(service: Service, row: Rows) -> None:
    for body, status, message in [
        ({"resource_class": None}, 400, "The resource_class field is mandatory when not backfilling"),
        ({"resource_class": ""}, 400, "mandatory"),
        ({"resource_class": 1}, 400, "1 is not of type 'string'"),
        ({"resource_class": "x" * 81}, 400, "is too long: 80 characters"),
        ({"x": 1}, 400, "Additional properties are not allowed"),
        ({"name": "a b"}, 400, "Cannot create allocation with invalid name 'a b'"),
        ({"name": UUID}, 400, "invalid name"),
        ({"uuid": "x"}, 400, "Expected UUID for uuid: x"),
        ({"traits": ["bad"]}, 400, "'bad' is not a valid trait"),
        ({"traits": ["!bad"]}, 400, "'bad' is not a valid trait"),
        ({"traits": ["!!CUSTOM_A"]}, 400, "'!CUSTOM_A' is not a valid trait"),
        ({"traits": ["in:"]}, 400, "should be non-empty"),
        ({"traits": ["in:CUSTOM_A,!CUSTOM_B"]}, 400, "'!CUSTOM_B' is not a valid trait"),
        ({"traits": ["CUSTOM_A,CUSTOM_B"]}, 400, "is not a valid trait"),
        ({"traits": "CUSTOM_A"}, 400, "is not of type 'array'"),
        ({"traits": [1]}, 400, "1 is not of type 'string'"),
        ({"traits": [f"CUSTOM_{number}" for number in range(501)]}, 400, "501 traits are too many"),
        ({"candidate_nodes": ["a b"]}, 400, "is not a 'uuid'"),
        ({"extra": []}, 400, "is not of type 'object'"),
        ({"node": "nosuch"}, 400, "Node nosuch could not be found."),
    ]:
        with row(body, status, message):
            assert message in refusal(service, status, **body)
            assert service.baremetal("GET", A).json["allocations"] == []


def test_names_and_uuids_are_given_once(service: Service) -> None:
    first = allocate(service, name="mine")
    assert refusal(service, 409, name="mine") == "An allocation with name mine already exists."
    assert first["uuid"] in refusal(service, 409, uuid=first["uuid"].upper())


def test_without_any_conductor_nothing_is_allocated(service: Service) -> None:
    service.add_node("n1")
    service.conductors["c1"].sign_off()
    refusal(service, 503)


def test_versions(service: Service) -> None:
    service.add_node("n1")
    for method, path, since, status in (
        ("GET", A, 52, 404), ("POST", A, 52, 405), ("GET", f"{A}/x", 52, 404), ("DELETE", f"{A}/x", 52, 405),
        ("PATCH", f"{A}/x", 52, 405), ("GET", "/nodes/n1/allocation", 52, 404),
        ("DELETE", "/nodes/n1/allocation", 52, 404),
    ):  # fmt: skip
        body = {} if method == "POST" else [] if method == "PATCH" else None
        refused = service.baremetal(method, path, body, version=f"1.{since - 1}", status=status)
        assert fault(refused) == "The API version does not allow allocations"
    refused = service.baremetal("PATCH", f"{A}/x", [], version="1.56", status=405)
    assert fault(refused) == "The API version does not allow updating allocations"
    assert "Additional properties" in refusal(service, 400, "1.57", node="n1")
    refusal(service, 406, "1.59", owner="p1")
    service.baremetal("GET", f"{A}?owner=x", version="1.59", status=406)
    assert "'owner' is not one of" in fault(service.baremetal("GET", f"{A}?fields=owner", version="1.59", status=400))
    made = service.baremetal("POST", A, {"resource_class": "gold"}, version="1.52").json
    assert "owner" not in made
    assert "owner" in service.baremetal("GET", f"{A}/{made['uuid']}", version="1.60").json


# -- lists and PATCH ---------------------------------------------------------------------------------------------------


def test_lists(service: Service) -> None:
    node = service.add_node("n1", owner="p1")
    one = allocate(service, name="b", owner="p1")["uuid"]
    two = allocate(service, name="a")["uuid"]
    three = allocate(service, resource_class="silver")["uuid"]

    def listed(query: str) -> list[str]:
        return [item["uuid"] for item in service.baremetal("GET", f"{A}?{query}").json["allocations"]]

    assert listed("") == [one, two, three]
    assert listed("node=n1") == listed(f"node={node}") == listed("state=active") == listed("owner=p1") == [one]
    assert listed("state=error&resource_class=gold") == [two]
    assert listed("state=bogus") == listed("owner=x") == listed("resource_class=GOLD") == []
    assert listed("sort_key=name&sort_dir=desc") == [one, two, three]
    assert listed("limit=1") == [one]
    assert listed(f"limit=1&marker={one}") == [two]
    page = service.baremetal("GET", f"{A}?limit=1&fields=uuid,node_uuid&state=active").json
    assert set(page["allocations"][0]) == {"uuid", "node_uuid", "links"}
    assert page["allocations"][0]["node_uuid"] == node
    assert "state=active" in page["next"]
    assert f"marker={one}" in page["next"]
    for query in (
        "node=nosuch",
        "sort_key=extra",
        "sort_key=traits",
        "sort_key=nosuch",
        "fields=nosuch",
        "x=1",
        "detail=1",
    ):
        service.baremetal("GET", f"{A}?{query}", status=400)
    service.baremetal("GET", f"{A}/nosuch", status=404)


def test_patch(service: Service) -> None:
    one = allocate(service, name="one")["uuid"]
    allocate(service, name="two")

    def patch(*operations: dict[str, Any], status: int = 200) -> Any:
        return service.baremetal("PATCH", f"{A}/{one}", list(operations), status=status)

    changed = patch(
        {"op": "replace", "path": "/name", "value": "uno"}, {"op": "add", "path": "/extra/a", "value": 1}
    ).json
    assert (changed["name"], changed["extra"]) == ("uno", {"a": 1})
    assert changed["updated_at"] is not None
    assert patch({"op": "remove", "path": "/name"}).json["name"] is None
    assert fault(patch({"op": "add", "path": "/name", "value": "two"}, status=409)).startswith(
        "An allocation with name"
    )
    assert "invalid name 'a b'" in fault(patch({"op": "add", "path": "/name", "value": "a b"}, status=400))
    for field in ("state", "traits", "owner", "uuid", "node_uuid"):
        message = fault(patch({"op": "replace", "path": f"/{field}", "value": "x"}, status=400))
        assert message == f"Cannot patch /{field}. Only the following can be updated: extra, name"
    assert service.baremetal("GET", f"{A}/{one}").json["extra"] == {"a": 1}


# -- giving back -------------------------------------------------------------------------------------------------------


def test_delete_frees_the_node(service: Service) -> None:
    node = service.add_node("n1")
    one = allocate(service, name="one")
    failed = allocate(service)
    service.baremetal("DELETE", f"{A}/{failed['uuid']}", status=204)
    service.baremetal("DELETE", f"{A}/one", status=204)
    service.baremetal("DELETE", f"{A}/{one['uuid']}", status=404)
    shown = service.node(node)
    assert (shown["instance_uuid"], shown["allocation_uuid"]) == (None, None)
    assert shown["instance_info"] == {"traits": []}
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    assert service.placement("GET", f"/allocations/{one['uuid']}").json["allocations"] == {}
    second = allocate(service)
    service.baremetal("DELETE", "/nodes/n1/allocation", status=204)
    for method in ("GET", "DELETE"):
        refused = service.baremetal(method, "/nodes/n1/allocation", status=404)
        assert fault(refused) == "Allocation for node n1 was not found"
    service.baremetal("GET", f"{A}/{second['uuid']}", status=404)
    assert fault(service.baremetal("GET", "/nodes/nosuch/allocation", status=400)) == "Node nosuch could not be found."
    service.baremetal("DELETE", "/nodes/nosuch/allocation", status=404)
    assert service.database.read(audit) == []


def test_when_an_allocation_may_be_deleted(service: Service, row: Rows) -> None:
    for columns, status in [
        ({"provision_state": "active"}, 409),
        ({"provision_state": "deploying", "target_provision_state": "active"}, 409),
        ({"provision_state": "active", "maintenance": True}, 204),
        ({"provision_state": "deploying", "target_provision_state": "active", "maintenance": True}, 204),
        ({"provision_state": "manageable"}, 204),
        ({"reservation": "c1"}, 409),
    ]:
        with row(columns, status):
            node = service.add_node("n1")
            allocation = allocate(service)
            service.set_columns(node, **columns)
            service.baremetal("DELETE", f"{A}/{allocation['uuid']}", status=status)
            assert (service.node(node)["instance_uuid"] is None) == (status == 204)
            assert service.database.read(audit) == []


def test_removing_the_instance_deletes_the_allocation(service: Service) -> None:
    node = service.add_node("n1")
    allocation = allocate(service)
    active(service, node)
    service.patch(node, ("remove", "/instance_uuid"), status=409)
    service.set_columns(node, provision_state="available")
    service.patch(node, ("remove", "/instance_uuid"))
    service.baremetal("GET", f"{A}/{allocation['uuid']}", status=404)
    assert service.node(node)["allocation_uuid"] is None
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    assert service.database.read(audit) == []


def test_a_node_with_an_allocation_stays_but_in_maintenance(service: Service) -> None:
    node = service.add_node("n1")
    allocation = allocate(service)
    assert allocation["uuid"] in fault(service.baremetal("DELETE", f"/nodes/{node}", status=409))
    service.patch(node, ("replace", "/maintenance", True))
    service.baremetal("DELETE", f"/nodes/{node}", status=204)
    service.baremetal("GET", f"{A}/{allocation['uuid']}", status=404)
    assert service.database.read(audit) == []


def test_the_owner_of_an_owned_allocations_node_stays(service: Service) -> None:
    node = service.add_node("n1", owner="p1")
    allocation = allocate(service, owner="p1")
    assert allocation["uuid"] in fault(service.patch(node, ("replace", "/owner", "p2"), status=409))
    service.baremetal("DELETE", f"{A}/{allocation['uuid']}")
    allocate(service)
    service.patch(node, ("replace", "/owner", "p2"))


# -- backfill ----------------------------------------------------------------------------------------------------------


def test_backfill(service: Service) -> None:
    node = service.add_node("n1", traits=("CUSTOM_A",))
    active(service, node)
    made = service.baremetal("POST", A, {"node": "n1", "name": "b", "traits": ["CUSTOM_A"]}, status=201).json
    assert (made["state"], made["node_uuid"], made["resource_class"]) == ("active", node, "gold")
    assert service.node(node)["instance_uuid"] == service.node(node)["allocation_uuid"] == made["uuid"]
    assert service.placement("GET", f"/allocations/{made['uuid']}").json["allocations"][node]["resources"]
    assert service.inventory(node)["CUSTOM_GOLD"]["reserved"] == 1
    assert service.database.read(audit) == []
    refused = service.baremetal("POST", A, {"node": "n1"}, status=409)
    assert fault(refused) == f"An allocation with UUID {made['uuid']} already exists."
    service.baremetal("POST", A, {"node": "n1", "uuid": str(uuid.uuid4())}, status=409)


def test_backfill_takes_over_the_instance_and_its_claim(service: Service) -> None:
    node = service.add_node("n1")
    service.claim(UUID, node)
    active(service, node, instance_uuid=UUID)
    assert service.baremetal("POST", A, {"node": node}, status=201).json["uuid"] == UUID
    assert service.database.read(audit) == []


def test_backfill_of_what_somebody_else_has(service: Service) -> None:
    node = service.add_node("n1")
    service.claim(UUID, node)
    active(service, node)
    assert UUID in fault(service.baremetal("POST", A, {"node": node}, status=409))


def test_backfill_of_a_node_with_another_instance(service: Service) -> None:
    node = service.add_node("n1")
    active(service, node, instance_uuid=UUID)
    refused = service.baremetal("POST", A, {"node": node, "uuid": str(uuid.uuid4())}, status=409)
    assert UUID in fault(refused)
    assert service.node(node)["instance_uuid"] == UUID


def test_backfill_that_does_not_fit(service: Service) -> None:
    node = service.add_node("n1", traits=("CUSTOM_A",))
    other = service.add_node("n2")
    body = {"node": "n1", "resource_class": "silver", "traits": ["!CUSTOM_A"], "candidate_nodes": [other]}
    message = fault(service.baremetal("POST", A, body, status=409))
    for reason in ('must be in the "active" state', "Resource class gold", "List of traits", "Candidate nodes must"):
        assert reason in message
    assert service.baremetal("GET", A).json["allocations"] == []
    assert service.node(node)["instance_uuid"] is None
