"""Rules for single steps, which the operator's file may have: who asks for which step, on which node."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from webtest import TestResponse

from tests.functional.baremetal.test_access import MANAGERS, MEMBERS, as_project
from tests.restored import Rows
from tests.service import Service, fault

RESET = {"interface": "bios", "step": "factory_reset"}
LOG = {"interface": "vendor", "step": "log_passthrough"}
ERASE = {"interface": "deploy", "step": "erase_devices"}
RULES = """
"baremetal:step:execute:bios.factory_reset": "role:firmware"
"baremetal:step:execute:deploy.erase_devices": "project_id:%(node.owner)s"
"baremetal:runbook:use": "@"
"""
NO_RESET = "insufficient privileges to execute step factory_reset on interface bios"
NO_ERASURE = "insufficient privileges to execute step erase_devices on interface deploy"


@pytest.fixture
def ruled(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """The service with rules for two steps, and a node that ``owners`` own and ``tenants`` lease."""
    with with_rules(database_url, tmp_path, "noauth2") as service:
        yield service


def with_rules(database_url: str, folder: Path, strategy: str) -> Service:
    file = folder / "policy.yaml"
    file.write_text(RULES)
    service = Service(database_url, api={"auth_strategy": strategy}, oslo_policy={"policy_file": str(file)})
    service.add_conductor("host")
    service.add_node("owned", owner="owners", lessee="tenants", power=False)
    return service


def provision(
    service: Service, body: dict[str, Any], status: int, *, project: str = "owners", roles: str = MANAGERS
) -> TestResponse:
    return as_project(service, project, roles, "PUT", "/nodes/owned/states/provision", body, status=status)


def in_order(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**step, "args": {}, "order": order} for order, step in enumerate(steps)]


def test_a_step_with_a_rule_is_refused_to_who_does_not_meet_it(ruled: Service, row: Rows) -> None:
    for state, body, status in [
        ("manageable", {"target": "clean", "clean_steps": [LOG, RESET]}, 202),
        ("active", {"target": "service", "service_steps": [RESET]}, 202),
        ("available", {"target": "active", "deploy_steps": [{**RESET, "args": {}, "priority": 0}]}, 202),
        ("active", {"target": "rebuild", "deploy_steps": [{**RESET, "args": {}, "priority": 10}]}, 202),
        ("available", {"target": "clean", "clean_steps": [RESET]}, 400),
        ("available", {"target": "manage", "clean_steps": [RESET]}, 400),
    ]:
        with row(state, body, status):
            ruled.set_columns(ruled.node("owned")["uuid"], provision_state=state)
            assert fault(provision(ruled, body, 403)) == NO_RESET
            provision(ruled, body, status, roles=f"{MANAGERS},firmware")


def test_every_refused_step_is_named_once(ruled: Service) -> None:
    body = {"target": "clean", "clean_steps": [RESET, ERASE, RESET]}
    assert fault(provision(ruled, body, 403, project="tenants")) == f"{NO_RESET}; {NO_ERASURE}"


def test_a_rule_may_ask_for_the_owner_of_the_node(ruled: Service) -> None:
    body = {"target": "clean", "clean_steps": [ERASE]}
    provision(ruled, body, 400)
    assert fault(provision(ruled, body, 403, project="tenants")) == NO_ERASURE


def test_a_step_without_a_rule_is_free(ruled: Service) -> None:
    provision(ruled, {"target": "clean", "clean_steps": [LOG]}, 400)


def test_steps_that_are_none_are_the_schemas_to_refuse(ruled: Service, row: Rows) -> None:
    for steps in [7, "x", [7], [{"interface": "bios"}], [{"interface": [], "step": {}}]]:
        with row(steps):
            ruled.set_columns(ruled.node("owned")["uuid"], provision_state="manageable")
            provision(ruled, {"target": "clean", "clean_steps": steps}, 400)


def test_runbooks_are_made_of_steps_that_their_author_may_do(ruled: Service) -> None:
    def create(roles: str, status: int, *steps: dict[str, Any]) -> TestResponse:
        body = {"name": "book", "steps": in_order(*steps)}
        return as_project(ruled, "owners", roles, "POST", "/runbooks", body, status=status)

    assert fault(create(MANAGERS, 403, RESET)) == NO_RESET
    # There is no node yet whose owner the caller could be.
    assert fault(create(MANAGERS, 403, ERASE)) == NO_ERASURE
    ruled.baremetal("GET", "/runbooks/book", status=404)
    create(f"{MANAGERS},firmware", 201, RESET)


def test_a_changed_runbook_is_asked_about_if_its_steps_change(ruled: Service) -> None:
    roles = f"{MANAGERS},firmware"
    book = {"name": "book", "steps": in_order(RESET)}
    as_project(ruled, "owners", roles, "POST", "/runbooks", book, status=201)

    def change(roles: str, status: int, path: str, value: Any) -> TestResponse:
        body = [{"op": "add", "path": path, "value": value}]
        return as_project(ruled, "owners", roles, "PATCH", "/runbooks/book", body, status=status)

    change(MANAGERS, 200, "/extra/a", 1)
    added = {**LOG, "args": {}, "order": 2}
    assert fault(change(MANAGERS, 403, "/steps/-", added)) == NO_RESET
    assert len(ruled.baremetal("GET", "/runbooks/book").json["steps"]) == 1
    change(roles, 200, "/steps/-", added)


def test_runbooks_of_a_project_are_asked_about_when_they_are_used(ruled: Service, row: Rows) -> None:
    for approved, status in [({}, 403), ({"public": True}, 202), ({"owner": None}, 202)]:
        with row(approved, status):
            book = {"name": "CUSTOM_BOOK", "steps": in_order(RESET)}
            as_project(ruled, "owners", f"{MANAGERS},firmware", "POST", "/runbooks", book, status=201)
            ruled.baremetal("PUT", "/runbooks/CUSTOM_BOOK/traits", {"traits": ["CUSTOM_BOOK"]}, status=204)
            ruled.baremetal("PUT", "/nodes/owned/traits", {"traits": ["CUSTOM_BOOK"]}, status=204)
            for field, value in approved.items():
                patch = [{"op": "add", "path": f"/{field}", "value": value}]
                ruled.baremetal("PATCH", "/runbooks/CUSTOM_BOOK", patch)
            ruled.set_columns(ruled.node("owned")["uuid"], provision_state="manageable")
            body = {"target": "clean", "runbook": "CUSTOM_BOOK"}
            answer = provision(ruled, body, status, roles=MEMBERS)
            if status == 403:
                assert fault(answer) == NO_RESET
                assert ruled.node("owned")["provision_state"] == "manageable"
                provision(ruled, body, 202, roles=f"{MEMBERS},firmware")


def test_without_authentication_nobody_is_asked(database_url: str, tmp_path: Path) -> None:
    with with_rules(database_url, tmp_path, "none") as service:
        service.set_columns(service.node("owned")["uuid"], provision_state="manageable")
        body = {"target": "clean", "clean_steps": [RESET]}
        service.baremetal("PUT", "/nodes/owned/states/provision", body, status=202)
