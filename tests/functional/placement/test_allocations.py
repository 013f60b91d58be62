# tier: first
"""PUT, GET and DELETE /allocations/{consumer}"""

import json
import uuid as uuid_module
from typing import Any

import pytest

from tests.restored import restored
from tests.service import Service
from tests.unchanged import unchanged

CONSUMER = "aaaaaaaa-0000-4000-8000-0000000000aa"
OTHER = "aaaaaaaa-0000-4000-8000-0000000000bb"


def detail(response: Any) -> str:
    return response.json["errors"][0]["detail"]


def code(response: Any) -> str:
    return response.json["errors"][0]["code"]


def body(node: str, amount: int = 1, resource_class: str = "CUSTOM_GOLD", **more: Any) -> dict[str, Any]:
    return {"allocations": {node: {"resources": {resource_class: amount}}}, **more}


def generation(service: Service, node: str) -> int:
    return service.placement("GET", f"/resource_providers/{node}").json["generation"]


def test_a_claim_and_its_release(service: Service, node: str) -> None:
    before = generation(service, node)
    service.claim(CONSUMER, node, status=204)
    assert generation(service, node) == before + 1
    held = service.placement("GET", f"/allocations/{CONSUMER}").json
    assert held == {
        "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}, "generation": before + 1}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": 1,
        "consumer_type": "INSTANCE",
    }
    service.placement("DELETE", f"/allocations/{CONSUMER}", status=204)
    assert generation(service, node) == before + 1
    assert service.placement("GET", f"/allocations/{CONSUMER}").json == {"allocations": {}}
    response = service.placement("DELETE", f"/allocations/{CONSUMER}", status=404)
    assert f"No allocations for consumer '{CONSUMER}'" in detail(response)


def test_a_claim_and_a_release_take_few_statements(service: Service, node: str) -> None:
    with service.statements() as statements:
        service.claim(CONSUMER, node, status=204)
    # MariaDB can change a provider and its inventory at once, PostgreSQL all tables. The others write the event last.
    dialect = service.database.engine.dialect.name
    assert len(statements) == {"postgresql": 1, "sqlite": 5}.get(dialect, 4)
    with service.statements() as statements:
        service.placement("DELETE", f"/allocations/{CONSUMER}", status=204)
    # The last one looks for claims that wait for the node.
    assert len(statements) == (4 if dialect == "postgresql" else 7)
    assert "FROM resource_providers" in statements[-1]
    with service.statements() as statements:
        service.placement("GET", f"/allocations/{CONSUMER}")
    assert len(statements) == 1


OWNER = {"project_id": "p", "user_id": "u"}
LISTED = [{"resource_provider": {"uuid": "NODE"}, "resources": {"CUSTOM_GOLD": 1}}]
KEYED = {"NODE": {"resources": {"CUSTOM_GOLD": 1}}}
WITH_GENERATION = {"allocations": KEYED, "consumer_generation": None, **OWNER}


def test_the_forms_of_all_versions(service: Service, node: str, subtests: pytest.Subtests) -> None:
    for version, request_body in [
        ("1.0", {"allocations": LISTED}),
        ("1.8", {"allocations": LISTED, **OWNER}),
        ("1.12", {"allocations": {"NODE": {"resources": {"CUSTOM_GOLD": 1}, "generation": 99}}, **OWNER}),
        ("1.28", WITH_GENERATION),
        ("1.34", {**WITH_GENERATION, "mappings": {"": ["NODE"]}}),
    ]:
        with subtests.test(version=version), restored(service):
            request_body = json.loads(json.dumps(request_body).replace("NODE", node))
            service.placement("PUT", f"/allocations/{CONSUMER}", request_body, version=version, status=204)
            held = service.placement("GET", f"/allocations/{CONSUMER}").json
            assert list(held["allocations"]) == [node]
            assert held["consumer_type"] == "unknown"
            assert held["project_id"] == ("p" if version != "1.0" else "00000000-0000-0000-0000-000000000000")
            keys = set(service.placement("GET", f"/allocations/{CONSUMER}", version="1.11").json)
            assert keys == {"allocations"}


def test_generations_of_consumers(service: Service, node: str) -> None:
    response = service.claim(CONSUMER, node, generation=5, status=409)
    assert "consumer generation conflict - expected null but got 5" in detail(response)
    assert code(response) == "placement.concurrent_update"
    service.claim(CONSUMER, node, status=204)
    response = service.claim(CONSUMER, node, generation=None, status=409)
    assert "expected 1 but got None" in detail(response)
    service.claim(CONSUMER, node, generation=1, status=204)
    assert service.placement("GET", f"/allocations/{CONSUMER}").json["consumer_generation"] == 2


def test_an_older_client_does_not_know_generations(service: Service, node: str) -> None:
    service.claim(CONSUMER, node, status=204)
    service.placement(
        "PUT", f"/allocations/{CONSUMER}", body(node, project_id="p2", user_id="u2"), version="1.27", status=204
    )
    held = service.placement("GET", f"/allocations/{CONSUMER}").json
    assert (held["project_id"], held["consumer_generation"], held["consumer_type"]) == ("p2", 2, "INSTANCE")


def test_a_move_frees_what_was_held(service: Service, node: str) -> None:
    other = service.add_node("n2")
    service.claim(CONSUMER, node, status=204)
    untouched = generation(service, node)
    service.claim(CONSUMER, other, generation=1, status=204)
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    assert generation(service, node) == untouched


def test_empty_allocations_free_everything(service: Service, node: str) -> None:
    service.claim(CONSUMER, node, status=204)
    before = generation(service, node)
    empty = {
        "allocations": {},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": 1,
        "consumer_type": "INSTANCE",
    }
    service.placement("PUT", f"/allocations/{CONSUMER}", empty, status=204)
    assert generation(service, node) == before + 1
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    fresh = empty | {"consumer_generation": None}
    service.placement("PUT", f"/allocations/{CONSUMER}", fresh, status=204)
    service.claim(CONSUMER, node, generation=None, status=204)


def test_what_is_taken_is_taken(service: Service, node: str) -> None:
    service.claim(CONSUMER, node, status=204)
    response = service.claim(OTHER, node, status=409)
    assert "The requested amount would exceed the capacity" in detail(response)
    assert code(response) == "placement.undefined_code"
    assert service.placement("GET", f"/allocations/{OTHER}").json == {"allocations": {}}
    service.placement("DELETE", f"/allocations/{CONSUMER}")
    service.claim(OTHER, node, generation=None, status=204)


def test_amounts_that_cannot_be(service: Service, node: str, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for resource_class, amount, status, message in [
            ("CUSTOM_GOLD", 2, 409, "would violate inventory constraints"),
            ("CUSTOM_GOLD", 99999999999999999999, 409, "would violate inventory constraints"),
            ("VCPU", 1, 409, "Inventory for 'VCPU' on resource provider"),
            ("CUSTOM_NOSUCH", 1, 400, "No such resource class CUSTOM_NOSUCH."),
            ("CUSTOM_GOLD", 0, 400, "0 is less than the minimum of 1"),
            ("lower", 1, 400, "does not match any of the regexes"),
        ]:
            with subtests.test(resource_class=resource_class, amount=amount):
                response = service.claim(CONSUMER, node, resource_class, amount=amount, status=status)
                assert message in detail(response)
    service.claim(CONSUMER, node, status=204)


def test_a_reserved_node_cannot_be_claimed(service: Service) -> None:
    node = service.add_node("n1", power=False)
    assert "exceed the capacity" in detail(service.claim(CONSUMER, node, status=409))
    bare = service.add_node("n2", resource_class=None)
    assert "Inventory for 'CUSTOM_GOLD' on resource provider" in detail(service.claim(CONSUMER, bare, status=409))


def test_providers_and_consumers_that_cannot_be(service: Service, node: str) -> None:
    response = service.claim(CONSUMER, OTHER, status=400)
    assert f"Allocation for resource provider '{OTHER}' that does not exist." in detail(response)
    assert "Malformed consumer_uuid: x" in detail(service.claim("x", node, status=400))
    service.claim(CONSUMER.replace("-", "").upper(), node, status=204)
    assert service.placement("GET", f"/allocations/{CONSUMER}").json["allocations"]
    service.placement("DELETE", "/allocations/x", status=404)


def test_bodies_that_do_not_validate(service: Service, node: str, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for change, message in [
            ({"project_id": ""}, "JSON does not validate"),
            ({"user_id": "x" * 256}, "is too long"),
            ({"consumer_type": "instance"}, "'instance' does not match '^[A-Z0-9_]+$'"),
            ({"consumer_generation": "1"}, "is not of type 'integer', 'null'"),
            ({"nosuch": 1}, "Additional properties are not allowed"),
            ({"allocations": []}, "is not of type 'object'"),
            ({"mappings": {}}, "should be non-empty"),
        ]:
            with subtests.test(change=change):
                good = body(node, project_id="p", user_id="u", consumer_generation=None, consumer_type="INSTANCE")
                response = service.placement("PUT", f"/allocations/{CONSUMER}", good | change, status=400)
                assert message in detail(response)


def test_a_consumer_may_hold_several_nodes(service: Service, node: str) -> None:
    other = service.add_node("n2", resource_class="silver")
    both = {
        "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}, other: {"resources": {"CUSTOM_SILVER": 1}}},
        "project_id": "p", "user_id": "u", "consumer_generation": None, "consumer_type": "INSTANCE",
    }  # fmt: skip
    taken = str(uuid_module.uuid4())
    service.claim(taken, other, "CUSTOM_SILVER", status=204)
    service.placement("PUT", f"/allocations/{CONSUMER}", both, status=409)
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    service.placement("DELETE", f"/allocations/{taken}")
    service.placement("PUT", f"/allocations/{CONSUMER}", both, status=204)
    assert set(service.placement("GET", f"/allocations/{CONSUMER}").json["allocations"]) == {node, other}


def test_of_several_amounts_that_cannot_be_the_first_is_complained_of(service: Service) -> None:
    """The amounts of consumers add up in the order of the request."""
    small, odd = service.add_node("small"), service.add_node("odd")

    def write(**amounts: int) -> dict[str, Any]:
        return body("", **OWNER, consumer_generation=None, consumer_type="X") | {
            "allocations": {uuid: {"resources": {"CUSTOM_GOLD": amount}} for uuid, amount in amounts.items()}
        }

    def complaint(*writes: dict[str, Any]) -> str:
        consumers = [CONSUMER, OTHER, small]
        return detail(service.placement("POST", "/allocations", dict(zip(consumers, writes, strict=False)), status=409))

    assert f"'{odd}'. The requested amount would violate" in complaint(
        write(**{small: 1}), write(**{odd: 2}), write(**{small: 1})
    )
    assert f"'{small}'. The requested amount would exceed" in complaint(
        write(**{small: 1}), write(**{small: 1}), write(**{odd: 2})
    )


def test_who_holds_too_much_may_keep_it_or_give_some_back(service: Service) -> None:
    """An inventory may be made smaller than its used amount. Then no consumer gets more of it, and all may hold
    less."""
    path = f"/resource_providers/{OTHER}"
    service.placement("POST", "/resource_providers", {"name": "a", "uuid": OTHER})
    service.placement("POST", f"{path}/inventories", {"resource_class": "VCPU", "total": 8}, status=201)
    service.claim(CONSUMER, OTHER, "VCPU", amount=6, status=204)
    service.placement("PUT", f"{path}/inventories/VCPU", {"resource_provider_generation": 2, "total": 2})
    for amount, status in ((7, 409), (6, 204), (5, 204), (6, 409), (3, 204), (2, 204)):
        held = service.placement("GET", f"/allocations/{CONSUMER}").json["consumer_generation"]
        service.claim(CONSUMER, OTHER, "VCPU", amount=amount, generation=held, status=status)
    assert service.placement("GET", f"{path}/usages").json["usages"] == {"VCPU": 2}
    service.claim(OTHER, OTHER, "VCPU", status=409)


def test_what_an_inventory_allows(service: Service, subtests: pytest.Subtests) -> None:
    for limits, refused, taken in [
        ({"min_unit": 2}, [1], [2, 3]),
        ({"max_unit": 3}, [4], [1, 3]),
        ({"step_size": 3}, [1, 2, 4], [3, 6]),
        ({"reserved": 2}, [7], [6]),
        ({"allocation_ratio": 1.5}, [13], [12]),
        ({"allocation_ratio": 0.7}, [6], [5]),
        ({"reserved": 5, "allocation_ratio": 1.5}, [5], [4]),
    ]:
        with subtests.test(limits=limits), restored(service):
            path = f"/resource_providers/{OTHER}"
            service.placement("POST", "/resource_providers", {"name": "a", "uuid": OTHER})
            inventory = {"resource_class": "VCPU", "total": 8, **limits}
            service.placement("POST", f"{path}/inventories", inventory, status=201)
            constrained = limits.keys() & {"min_unit", "max_unit", "step_size"}
            words = (
                "amount would violate inventory constraints." if constrained else "amount would exceed the capacity."
            )
            for amount in refused:
                response = service.claim(CONSUMER, OTHER, "VCPU", amount=amount, status=409)
                assert (
                    f"Unable to create allocation for 'VCPU' on resource provider '{OTHER}'. The requested"
                    in detail(response)
                )
                assert words in detail(response)
                assert service.candidates(f"resources=VCPU:{amount}") == set()
            for amount in taken:
                assert service.candidates(f"resources=VCPU:{amount}") == {OTHER}
                service.claim(CONSUMER, OTHER, "VCPU", amount=amount, status=204)
                service.placement("DELETE", f"/allocations/{CONSUMER}", status=204)
