"""Fields of nodes that a lessee does not see, in lists and elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.functional.baremetal.fleet import SEEN, Fleet, customized, shared
from tests.restored import Rows
from tests.service import Service

REDACTED = {
    "last_error": "** Value Redacted - Requires baremetal:node:get:last_error permission. **",
    "reservation": "** Redacted - requires baremetal:node:get:reservation permission. **",
    "driver_internal_info": {
        "content": "** Redacted - Requires baremetal:node:get:driver_internal_info permission. **"
    },
    "driver_info": {"content": "** Redacted - requires baremetal:node:get:driver_info permission. **"},
}
SHOWN = {
    "last_error": 'it\'s "broken"\n',
    "reservation": "host",
    "driver_internal_info": {"agent": "a"},
    "driver_info": {"address": "a", "password": "******"},
}


@pytest.fixture
def secrets(fleet: Fleet) -> Fleet:
    return plant(fleet)


def plant(fleet: Fleet) -> Fleet:
    """Give every node something to hide."""
    for uuid in fleet.uuids.values():
        values = {**SHOWN, "driver_info": {"address": "a", "password": "planted"}}
        fleet.service.set_columns(uuid, **values, instance_info={"project_id": "x", "secret_key": "planted"})
    return fleet


def fields(node: dict[str, Any]) -> dict[str, Any]:
    return {name: node[name] for name in REDACTED if name in node}


def test_owners_see_what_lessees_do_not(secrets: Fleet, row: Rows) -> None:
    for path in ["/nodes/detail", "/nodes?detail=true", f"/nodes?fields=name,{','.join(REDACTED)}"]:
        with row(path):
            nodes = {node["name"]: fields(node) for node in secrets.ask("GET", path).json["nodes"]}
            assert nodes == {"mine": SHOWN, "lent": SHOWN, "leased": REDACTED}
            everything = secrets.service.baremetal("GET", path, headers={"X-Roles": "reader"}).json["nodes"]
            assert [fields(node) for node in everything] == [SHOWN] * 5


def test_single_nodes_are_redacted_alike(secrets: Fleet) -> None:
    for project, expected in (("ours", REDACTED), ("theirs", SHOWN)):
        for ident in ("leased", secrets.uuids["leased"]):
            assert fields(secrets.ask("GET", f"/nodes/{ident}", project=project).json) == expected
        chosen = secrets.ask("GET", "/nodes/leased?fields=uuid,last_error", project=project).json
        assert chosen["last_error"] == expected["last_error"]
    assert fields(secrets.service.node("leased")) == SHOWN


def test_answers_to_changes_are_redacted(secrets: Fleet) -> None:
    secrets.service.set_columns(secrets.uuids["leased"], reservation=None)
    secrets.service.set_columns(secrets.uuids["lent"], reservation=None)
    assert fields(secrets.patch("/nodes/leased", "/extra/a", 1).json) == REDACTED
    assert fields(secrets.patch("/nodes/lent", "/extra/a", 1).json) == SHOWN
    assert fields(secrets.patch("/nodes/lent", "/extra/a", 1, project="theirs").json) == REDACTED


def test_what_is_hidden_is_in_no_answer(secrets: Fleet) -> None:
    secrets.service.set_columns(secrets.uuids["leased"], last_error="planted", driver_internal_info={"a": "planted"})
    for path in ("/nodes/detail", "/nodes/leased", "/nodes/leased?fields=driver_info,last_error,driver_internal_info"):
        assert "planted" not in secrets.ask("GET", path).text


def test_a_rule_decides_for_owners_and_lessees(database_url: str, tmp_path: Path) -> None:
    check = "role:reader and project_id:%(node.lessee)s"
    with customized(database_url, tmp_path, "node:get:last_error", check) as fleet:
        plant(fleet)
        nodes = fleet.ask("GET", "/nodes/detail").json["nodes"]
        shown = {node["name"]: node["last_error"] == SHOWN["last_error"] for node in nodes}
        assert shown == {"mine": False, "lent": False, "leased": True}
        assert fleet.ask("GET", "/nodes/mine").json["last_error"] == REDACTED["last_error"]
        assert fleet.ask("GET", "/nodes/mine").json["driver_info"] == SHOWN["driver_info"]


def test_secrets_are_shown_to_those_whom_a_rule_names(database_url: str, tmp_path: Path, row: Rows) -> None:
    for strategy in ["none", "noauth2"]:
        with row(strategy):
            file = tmp_path / "policy.yaml"
            file.write_text('"show_password": "@"\n"show_instance_secrets": "@"\n')
            options: dict[str, Any] = {"oslo_policy": {"policy_file": str(file)}, "api": {"auth_strategy": strategy}}
            with Service(database_url, **options) as service:
                service.add_conductor("host")
                uuid = service.add_node("node")
                service.set_columns(uuid, driver_info={"password": "planted"}, instance_info={"secret_key": "shown"})
                for node in (service.node(uuid), service.baremetal("GET", "/nodes/detail").json["nodes"][0]):
                    assert (node["driver_info"], node["instance_info"]) == (
                        {"password": "planted"},
                        {"secret_key": "shown"},
                    )
                    assert "last_power_state_change" in node["driver_internal_info"]


def test_redaction_costs_no_statements(database_url: str) -> None:
    with shared(database_url) as fleet:
        plant(fleet)
        paths = ["/nodes/detail", "/nodes", "/ports/detail", "/nodes?sort_key=name&limit=2"]
        headers = {"X-Roles": "reader"}
        for path in paths:
            fleet.ask("GET", path)
            with fleet.service.statements() as tenant:
                fleet.ask("GET", path)
            with fleet.service.statements() as system:
                fleet.service.baremetal("GET", path, headers=headers)
            assert len(tenant) == len(system), path


def test_a_list_by_conductor_is_redacted(secrets: Fleet) -> None:
    nodes = secrets.ask("GET", "/nodes/detail?conductor=host").json["nodes"]
    assert {node["name"] for node in nodes} == SEEN
    assert json.dumps(REDACTED["driver_info"]) in json.dumps(nodes)
