# tier: first
"""/v1/runbooks, their traits, and cleaning and servicing by them."""

from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.db.models import NodeWork
from tests.restored import Rows
from tests.service import Service, fault

STEP = {"interface": "bios", "step": "factory_reset", "args": {}, "order": 1}
LOG = {"interface": "vendor", "step": "log_passthrough", "order": "0"}
SECRET = {"interface": "bios", "step": "apply_configuration", "args": {"password": "x", "settings": []}, "order": 2}


def add(service: Service, name: str = "book", *steps: dict[str, Any], **more: Any) -> Any:
    body = {"name": name, "steps": list(steps) or [STEP], **more}
    return service.baremetal("POST", "/runbooks", body, status=201).json


def patch(service: Service, ident: str, *operations: tuple[Any, ...], **expected: Any) -> Any:
    return service.patch_at(f"/runbooks/{ident}", *operations, **expected)


def names(service: Service, query: str = "") -> list[str]:
    return [one["name"] for one in service.baremetal("GET", f"/runbooks{query}").json["runbooks"]]


def traits(service: Service, ident: str = "book") -> list[str]:
    found: list[str] = service.baremetal("GET", f"/runbooks/{ident}/traits").json["traits"]
    return found


# -- the collection ----------------------------------------------------------------------------------------------------


def test_create_and_show(service: Service) -> None:
    body = {"name": "my-runbook", "steps": [SECRET, {**LOG, "order": 3}], "extra": {"a": 1}, "description": "d"}
    response = service.baremetal("POST", "/runbooks", body, status=201)
    runbook = response.json
    assert response.headers["Location"] == f"http://localhost/baremetal/v1/runbooks/{runbook['uuid']}"
    assert runbook["steps"] == [
        {**SECRET, "args": {"password": "******", "settings": []}},
        {**LOG, "args": {}, "order": 3},
    ]
    assert (runbook["description"], runbook["extra"], runbook["traits"]) == ("d", {"a": 1}, [])
    assert (runbook["disable_ramdisk"], runbook["public"], runbook["owner"]) == (False, False, None)
    for ident in (runbook["uuid"], "my-runbook"):
        assert service.baremetal("GET", f"/runbooks/{ident}").json == runbook
    older = service.baremetal("GET", "/runbooks/my-runbook", version="1.111").json
    assert set(runbook) - set(older) == {"description", "traits"}


def test_bodies_that_do_not_fit_are_400(service: Service, row: Rows) -> None:
    for body, version in [
        ({"name": "my runbook"}, 115),
        ({"name": "n" * 256}, 115),
        ({"name": "cccccccc-0000-4000-8000-000000000000"}, 115),
        ({"name": None}, 115),
        ({"name": "my-runbook"}, 111),
        ({"name": "CUSTOM_A", "description": "d"}, 111),
        ({"steps": []}, 115),
        ({"steps": [STEP, STEP]}, 115),
        ({"steps": [{**STEP, "priority": 1}]}, 115),
        ({"steps": [{**STEP, "order": None}]}, 115),
        ({"steps": [{"interface": "raid", "step": "x"}]}, 115),
        ({"steps": [{**STEP, "interface": "network"}]}, 115),
        ({"traits": ["CUSTOM_A"]}, 115),
        ({"public": "maybe"}, 115),
        ({"disable_ramdisk": 2}, 115),
        ({"owner": "somebody"}, 115),
        ({"owner": 1}, 115),
        ({"uuid": "x"}, 115),
    ]:
        with row(body, version):
            whole = {"name": "CUSTOM_A", "steps": [STEP], **body}
            service.baremetal("POST", "/runbooks", whole, version=f"1.{version}", status=400)
            assert names(service) == []


def test_names_and_uuids_are_taken_once(service: Service) -> None:
    uuid = add(service)["uuid"]
    for same in ({"name": "book"}, {"name": "other", "uuid": uuid}):
        taken = service.baremetal("POST", "/runbooks", {"steps": [STEP], **same}, status=409)
        assert "already exists" in fault(taken)
    add(service, "other")
    patch(service, "other", ("replace", "/name", "book"), status=409)


def test_the_list(service: Service) -> None:
    for name in ("c", "a", "b"):
        add(service, name)
    service.baremetal("PUT", "/runbooks/c/traits", {"traits": ["CUSTOM_B", "CUSTOM_A"]})
    first = service.baremetal("GET", "/runbooks").json["runbooks"][0]
    assert set(first) == {"uuid", "name", "links"}
    whole = service.baremetal("GET", "/runbooks?detail=true").json["runbooks"]
    assert whole[0] == service.baremetal("GET", "/runbooks/c").json
    assert [one["traits"] for one in whole] == [["CUSTOM_A", "CUSTOM_B"], [], []]
    assert names(service, "?sort_key=name&sort_dir=desc") == ["c", "b", "a"]
    page = service.baremetal("GET", "/runbooks?limit=2").json
    assert names(service, "?" + page["next"].partition("?")[2]) == ["b"]
    for query in ("fields=x", "sort_key=steps", "detail=true&fields=name", "public=true"):
        service.baremetal("GET", f"/runbooks?{query}", status=400)
    service.baremetal("GET", "/runbooks?fields=traits", version="1.111", status=400)
    service.baremetal("GET", "/runbooks?marker=a", status=404)


def test_patch_and_delete(service: Service) -> None:
    add(service)
    changed = patch(
        service,
        "book",
        ("replace", "/name", "b2"),
        ("add", "/steps/-", SECRET),
        ("replace", "/disable_ramdisk", True),
        ("add", "/description", "d"),
    ).json
    assert (changed["name"], changed["disable_ramdisk"], changed["description"]) == ("b2", True, "d")
    assert len(changed["steps"]) == 2
    assert changed["updated_at"]
    assert not patch(service, "b2", ("remove", "/disable_ramdisk")).json["disable_ramdisk"]
    for refused in (
        ("remove", "/steps"),
        ("replace", "/name", "b 2"),
        ("add", "/traits", ["CUSTOM_A"]),
        ("replace", "/uuid", changed["uuid"]),
        ("add", "/steps/-", STEP),
        ("replace", "/public", "maybe"),
    ):
        patch(service, "b2", refused, status=400)
    patch(service, "b2", ("replace", "/name", "b3"), version="1.111", status=400)
    patch(service, "b2", ("add", "/extra/a", 1), version="1.111")
    refused = patch(service, "b2", ("add", "/description", "e"), version="1.111", status=400)
    assert "updated: disable_ramdisk, extra, name, owner, public, steps" in fault(refused)
    service.baremetal("PUT", "/runbooks/b2/traits/CUSTOM_A")
    service.baremetal("DELETE", "/runbooks/b2", status=204)
    for method, body in (("GET", None), ("PATCH", []), ("DELETE", None)):
        gone = service.baremetal(method, "/runbooks/b2", body, status=404)
        assert fault(gone) == "Runbook b2 could not be found."


def test_a_runbook_is_public_or_somebodys(service: Service) -> None:
    def of(*operations: tuple[Any, ...]) -> Any:
        shown = patch(service, "book", *operations).json
        return shown["public"], shown["owner"]

    assert add(service, public=True)["public"]
    for refused in ([("replace", "/owner", "p")], [("replace", "/public", True), ("replace", "/owner", "p")]):
        response = patch(service, "book", *refused, status=400)
        assert "There cannot be an owner for a public runbook" in fault(response)
    assert of(("remove", "/public"), ("add", "/owner", "p")) == (False, "p")
    assert of(("replace", "/public", "yes")) == (True, None)
    assert of(("replace", "/public", False), ("add", "/owner", "q")) == (False, "q")
    assert of(("remove", "/owner")) == (False, None)


def test_there_are_none_before_1_92(service: Service) -> None:
    add(service, "CUSTOM_A")
    for method, path, body, status in (
        ("GET", "", None, 404),
        ("GET", "/CUSTOM_A", None, 404),
        ("GET", "/CUSTOM_A/traits", None, 404),
        ("POST", "", {}, 405),
        ("PATCH", "/CUSTOM_A", [], 405),
        ("DELETE", "/CUSTOM_A", None, 405),
    ):
        response = service.baremetal(method, f"/runbooks{path}", body, version="1.91", status=status)
        assert fault(response) == "The API version does not allow runbooks"
    assert "runbooks" not in service.baremetal("GET", "", version="1.91").json
    assert "runbooks" in service.baremetal("GET", "", version="1.92").json


# -- traits ------------------------------------------------------------------------------------------------------------


def test_traits(service: Service) -> None:
    add(service)
    for _ in range(2):
        response = service.baremetal("PUT", "/runbooks/book/traits/CUSTOM_B", status=204)
        assert response.headers["Location"] == "http://localhost/baremetal/v1/runbooks/book/traits/CUSTOM_B"
    service.baremetal("PUT", "/runbooks/book/traits/HW_CPU_X86_VMX", {}, status=204)
    assert traits(service) == ["CUSTOM_B", "HW_CPU_X86_VMX"]
    many = [f"CUSTOM_N{number:03}" for number in range(60)]
    service.baremetal("PUT", "/runbooks/book/traits", {"traits": [*many, many[0]]}, status=204)
    assert traits(service) == many
    for _ in range(2):
        service.baremetal("DELETE", f"/runbooks/book/traits/{many[0]}", status=204)
    assert traits(service) == many[1:]
    headers = {"Prefer": "return=representation"}
    shown = service.baremetal("PUT", "/runbooks/book/traits", {"traits": ["CUSTOM_A"]}, headers=headers, status=200)
    assert shown.json == {"traits": ["CUSTOM_A"]}
    service.baremetal("DELETE", "/runbooks/book/traits", status=204)
    assert traits(service) == []


def test_traits_that_do_not_fit_change_nothing(service: Service) -> None:
    add(service)
    service.baremetal("PUT", "/runbooks/book/traits/CUSTOM_A")
    for path, body in (
        ("/traits/bad", None),
        ("/traits/CUSTOM_B", {"traits": ["CUSTOM_B"]}),
        ("/traits", {"traits": ["CUSTOM_B", "bad"]}),
        ("/traits", {"traits": "CUSTOM_B"}),
        ("/traits", {"x": 1}),
        ("/traits", []),
    ):
        service.baremetal("PUT", f"/runbooks/book{path}", body, status=400)
    usage = fault(service.baremetal("PUT", "/runbooks/book/traits", status=400))
    assert usage.startswith("A single runbook trait may be added via PUT /v1/runbooks/<runbook identifier>/traits/")
    assert traits(service) == ["CUSTOM_A"]


def test_traits_need_1_112_and_a_runbook(service: Service) -> None:
    add(service)
    for method, path in (("GET", ""), ("PUT", "/CUSTOM_A"), ("DELETE", ""), ("DELETE", "/CUSTOM_A")):
        response = service.baremetal(method, f"/runbooks/book/traits{path}", version="1.111", status=404)
        assert fault(response) == "The API version does not allow runbook traits"
        gone = service.baremetal(method, f"/runbooks/nosuch/traits{path}", status=404)
        assert fault(gone) == "Runbook nosuch could not be found."


# -- cleaning and servicing --------------------------------------------------------------------------------------------


@pytest.fixture
def uuid(service: Service) -> str:
    node: str = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}).json["uuid"]
    service.set_columns(node, provision_state="manageable")
    service.baremetal("PUT", "/nodes/n1/traits", {"traits": ["CUSTOM_A", "CUSTOM_B"]})
    return node


def ask(service: Service, verb: str, ident: str, *, version: int = 115, status: int = 202, **more: Any) -> Any:
    body = {"target": verb, "runbook": ident, **more}
    return service.baremetal("PUT", "/nodes/n1/states/provision", body, version=f"1.{version}", status=status)


def test_cleaning_by_a_runbook(service: Service, uuid: str) -> None:
    runbook = add(service, "book", SECRET | {"args": {"settings": []}}, STEP)
    service.baremetal("PUT", "/runbooks/book/traits", {"traits": ["CUSTOM_B", "CUSTOM_C"]})
    for ident in ("book", runbook["uuid"]):
        ask(service, "clean", ident)
        service.work()
        assert service.node(uuid)["provision_state"] == "manageable"
        assert service.node(uuid)["last_error"] is None
    assert service.steps_done(uuid) == ["bios.factory_reset", "bios.apply_configuration"] * 2


def test_the_request_says_whether_an_agent_is_needed_or_else_the_runbook(
    service: Service, uuid: str, row: Rows
) -> None:
    for own, asked, expected in [
        (True, {}, True),
        (True, {"disable_ramdisk": False}, False),
        (False, {"disable_ramdisk": True}, True),
    ]:
        with row(own, asked, expected):
            add(service, disable_ramdisk=own)
            service.baremetal("PUT", "/runbooks/book/traits/CUSTOM_A")
            ask(service, "clean", "book", **asked)
            (arguments,) = service.database.read(lambda session: session.scalars(select(NodeWork.arguments)).all())
            assert arguments["disable_ramdisk"] is expected


def test_servicing_by_a_runbook(service: Service, uuid: str) -> None:
    service.set_columns(uuid, provision_state="active")
    add(service, "book", LOG)
    service.baremetal("PUT", "/runbooks/book/traits/CUSTOM_A")
    ask(service, "service", "book")
    service.work()
    assert service.node(uuid)["provision_state"] == "active"
    assert service.steps_done(uuid) == ["vendor.log_passthrough"]


def test_steps_go_in_their_order_and_numbers_may_be_digits(service: Service, uuid: str) -> None:
    add(service, "book", {**STEP, "order": "10"}, {**LOG, "order": 9})
    service.baremetal("PUT", "/runbooks/book/traits/CUSTOM_A")
    ask(service, "clean", "book")
    service.work()
    assert service.steps_done(uuid) == ["vendor.log_passthrough", "bios.factory_reset"]


def test_a_step_that_the_machine_lacks_fails(service: Service, uuid: str) -> None:
    add(service, "book", {**STEP, "step": "nosuch"})
    service.baremetal("PUT", "/runbooks/book/traits/CUSTOM_A")
    ask(service, "clean", "book")
    service.work()
    node = service.node(uuid)
    assert node["provision_state"] == "clean failed"
    assert "does not support this clean step" in node["last_error"]


def test_a_runbook_needs_a_trait_of_the_node(service: Service, uuid: str, row: Rows) -> None:
    for own, version, approved, text in [
        ([], 115, False, "has no traits configured"),
        (["CUSTOM_X", "CUSTOM_C"], 115, False, "runbook's traits ['CUSTOM_C', 'CUSTOM_X']"),
        (["CUSTOM_X", "CUSTOM_B"], 112, True, ""),
        (["CUSTOM_B"], 111, False, "Please ask an administrator to add it to your node traits"),
    ]:
        with row(own, version, approved, text):
            add(service, "CUSTOM_RB")
            service.baremetal("PUT", "/runbooks/CUSTOM_RB/traits", {"traits": own})
            response = ask(service, "clean", "CUSTOM_RB", version=version, status=202 if approved else 400)
            if not approved:
                assert text in fault(response)
                assert service.node(uuid)["provision_state"] == "manageable"


def test_before_1_112_its_name_is_the_trait(service: Service, uuid: str) -> None:
    add(service, "CUSTOM_A")
    ask(service, "clean", "CUSTOM_A", version=111)


def test_where_runbooks_do_not_belong(service: Service, uuid: str) -> None:
    add(service, "book")
    service.baremetal("PUT", "/runbooks/book/traits/CUSTOM_A")
    ask(service, "clean", "book", version=91, status=406)
    assert "clean or service" in fault(ask(service, "provide", "book", status=400))
    steps = [{"interface": "bios", "step": "factory_reset"}]
    assert "not both" in fault(ask(service, "clean", "book", clean_steps=steps, status=400))
    assert fault(ask(service, "clean", "nosuch", status=404)) == "Runbook nosuch could not be found."
    assert service.node(uuid)["provision_state"] == "manageable"
