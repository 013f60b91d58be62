# tier: first
"""/v1/inspection_rules"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.restored import Rows
from tests.service import Service, fault

TRAIT = {"op": "add-trait", "args": {"name": "CUSTOM_A"}}
EQUAL = {"op": "eq", "args": {"values": ["{node.driver}", "fake-hardware"]}}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    """The service, as it is where it listens on a loopback address only."""
    with Service(database_url, inspection_rules={"allow_loopback": True}) as running:
        running.add_conductor("c1")
        yield running


def add(service: Service, *actions: dict[str, Any], **more: Any) -> Any:
    body = {"actions": list(actions) or [TRAIT], **more}
    return service.baremetal("POST", "/inspection_rules", body, status=201).json


def patch(service: Service, uuid: str, *operations: tuple[Any, ...], **expected: Any) -> Any:
    return service.patch_at(f"/inspection_rules/{uuid}", *operations, **expected)


def listed(service: Service, query: str = "") -> list[Any]:
    found: list[Any] = service.baremetal("GET", f"/inspection_rules{query}").json["inspection_rules"]
    return found


def test_create_and_show(service: Service) -> None:
    body = {"actions": [TRAIT], "conditions": [EQUAL], "description": "d", "priority": 5, "phase": "main"}
    response = service.baremetal("POST", "/inspection_rules", body, version="1.96", status=201)
    rule = response.json
    url = f"http://localhost/baremetal/v1/inspection_rules/{rule['uuid']}"
    assert response.headers["Location"] == url
    assert rule["links"][0] == {"href": url, "rel": "self"}
    assert {name: rule[name] for name in body} == body
    assert (rule["sensitive"], rule["updated_at"]) == (False, None)
    assert service.baremetal("GET", f"/inspection_rules/{rule['uuid']}").json == rule


def test_what_is_left_out(service: Service) -> None:
    rule = add(service)
    assert (rule["phase"], rule["priority"], rule["conditions"], rule["description"]) == ("main", 0, [], None)
    rule = add(service, conditions=None, priority="17", sensitive=None, uuid=None)
    assert (rule["priority"], rule["conditions"], rule["sensitive"]) == (17, [], False)


def test_what_says_nothing_is_dropped(service: Service) -> None:
    loop = {**EQUAL, "loop": [], "multiple": "all"}
    rule = add(service, {**TRAIT, "loop": {}}, conditions=[loop, {**EQUAL, "loop": [1], "multiple": "all"}])
    assert rule["actions"] == [TRAIT]
    assert rule["conditions"] == [EQUAL, {**EQUAL, "loop": [1], "multiple": "all"}]


def test_bodies_that_do_not_fit_are_400(service: Service, row: Rows) -> None:
    for body in [
        {"actions": None},
        {"actions": []},
        {"actions": {}},
        {"actions": ["x"]},
        {"actions": [{"op": "nosuch", "args": {}}]},
        {"actions": [{"op": "add-trait"}]},
        {"actions": [{"op": "add-trait", "args": "x"}]},
        {"actions": [{"op": "add-trait", "args": {}}]},
        {"actions": [{"op": "add-trait", "args": {"name": "bad"}}]},
        {"actions": [{"op": "add-trait", "args": ["CUSTOM_A", 1]}]},
        {"actions": [{**TRAIT, "multiple": "any"}]},
        {"actions": [{**TRAIT, "loop": "x"}]},
        {"actions": [{**TRAIT, "x": 1}]},
        {"conditions": {}},
        {"conditions": [{"op": "! eq", "args": [[1, 1]]}]},
        {"conditions": [{"op": "eq", "args": {"x": 1}}]},
        {"conditions": [{"op": "matches", "args": ["a", "("]}]},
        {"conditions": [{**EQUAL, "loop": [1], "multiple": "some"}]},
        {"priority": -1},
        {"priority": 10000},
        {"priority": None},
        {"priority": "x"},
        {"priority": "1" * 20},
        {"priority": True},
        {"priority": 1.5},
        {"phase": "early"},
        {"phase": None},
        {"sensitive": "maybe"},
        {"description": "d" * 256},
        {"description": 5},
        {"uuid": "x"},
        {"scope": "x"},
    ]:
        with row(body):
            service.baremetal("POST", "/inspection_rules", {"actions": [TRAIT], **body}, status=400)
            assert listed(service) == []


def test_a_uuid_is_taken_once(service: Service) -> None:
    body = {"actions": [TRAIT], "uuid": add(service)["uuid"]}
    assert "already exists" in fault(service.baremetal("POST", "/inspection_rules", body, status=409))


def test_the_list(service: Service) -> None:
    uuids = [add(service, priority=priority)["uuid"] for priority in (3, 1, 2)]
    assert set(listed(service)[0]) == {"uuid", "priority", "phase", "description", "links"}
    whole = service.baremetal("GET", f"/inspection_rules/{uuids[0]}").json
    assert listed(service, "?detail=true")[0] == whole
    assert set(listed(service, "?fields=actions,sensitive")[0]) == {"actions", "sensitive", "links"}
    assert [rule["priority"] for rule in listed(service, "?sort_key=priority")] == [1, 2, 3]
    page = service.baremetal("GET", "/inspection_rules?limit=2").json
    assert [rule["uuid"] for rule in listed(service, "?" + page["next"].partition("?")[2])] == uuids[2:]
    assert len(listed(service, "?phase=main")) == 3
    assert listed(service, "?phase=other") == []
    for query in ("fields=x", "sort_key=actions", "detail=true&fields=uuid", "sensitive=true", "limit=0", "marker=a/b"):
        service.baremetal("GET", f"/inspection_rules?{query}", status=400)
    service.baremetal("GET", "/inspection_rules?marker=x", status=404)


def test_sensitive_rules_do_not_show_what_they_do(service: Service) -> None:
    rule = add(service, conditions=[EQUAL], sensitive=True)
    uuid = rule["uuid"]
    for shown in (rule, *listed(service, "?detail=true"), *listed(service, "?fields=actions,conditions")):
        assert (shown["conditions"], shown["actions"]) == (None, None)
    assert patch(service, uuid, ("add", "/conditions/-", EQUAL)).json["conditions"] is None
    refused = patch(service, uuid, ("replace", "/sensitive", False), status=400)
    assert "cannot have the sensitive flag unset" in fault(refused)
    patch(service, uuid, ("remove", "/sensitive"), status=400)


def test_patch(service: Service) -> None:
    uuid = add(service, priority=5, description="d")["uuid"]
    rule = patch(
        service, uuid, ("add", "/conditions/-", EQUAL), ("replace", "/priority", "7"), ("replace", "/description", "e")
    ).json
    assert (rule["conditions"], rule["priority"], rule["description"]) == ([EQUAL], 7, "e")
    assert rule["updated_at"]
    rule = patch(service, uuid, *(("remove", f"/{name}") for name in ("conditions", "priority", "description"))).json
    assert (rule["conditions"], rule["priority"], rule["description"]) == ([], 0, None)
    assert patch(service, uuid, ("remove", "/phase")).json["phase"] == "main"
    before = service.baremetal("GET", f"/inspection_rules/{uuid}").json
    for refused in (
        ("remove", "/actions"),
        ("remove", "/actions/0"),
        ("replace", "/actions/0/op", "fail"),
        ("add", "/conditions/-", {"op": "eq", "args": {}}),
        ("remove", "/conditions/0"),
        ("replace", "/priority", 10000),
        ("replace", "/phase", "x"),
        ("replace", "/uuid", uuid),
        ("add", "/scope", "x"),
        ("remove", "/action/0"),
    ):
        patch(service, uuid, refused, status=400)
    assert service.baremetal("GET", f"/inspection_rules/{uuid}").json == before
    assert patch(service, uuid, ("replace", "/sensitive", True)).json["actions"] is None


def test_delete_one_and_all(service: Service) -> None:
    first, *others = [add(service)["uuid"] for _ in range(3)]
    service.baremetal("DELETE", f"/inspection_rules/{first}", status=204)
    for method, body in (("GET", None), ("PATCH", []), ("DELETE", None)):
        gone = service.baremetal(method, f"/inspection_rules/{first}", body, status=404)
        assert fault(gone) == f"Rule {first} could not be found."
        service.baremetal(method, "/inspection_rules/x", body, status=400)
    service.baremetal("DELETE", "/inspection_rules?x=1", status=400)
    assert [rule["uuid"] for rule in listed(service)] == others
    for _ in range(2):
        service.baremetal("DELETE", "/inspection_rules", status=204)
        assert listed(service) == []


def test_there_are_none_before_1_96(service: Service) -> None:
    uuid = add(service)["uuid"]
    for method, path, body, status in (
        ("GET", "", None, 404),
        ("GET", f"/{uuid}", None, 404),
        ("POST", "", {}, 405),
        ("PATCH", f"/{uuid}", [], 405),
        ("DELETE", f"/{uuid}", None, 405),
        ("DELETE", "", None, 405),
    ):
        response = service.baremetal(method, f"/inspection_rules{path}", body, version="1.95", status=status)
        assert fault(response) == "The API version does not allow inspection rules"
    service.baremetal("PUT", f"/inspection_rules/{uuid}", {}, status=405)
    assert "inspection_rules" not in service.baremetal("GET", "", version="1.95").json
    assert "inspection_rules" in service.baremetal("GET", "", version="1.96").json
