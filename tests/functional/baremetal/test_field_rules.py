"""Rules that depend on what a request sets: fields of nodes, owners of new resources, steps, owners of runbooks."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from baremetal_sched.baremetal.api.edge import BaremetalApi
from baremetal_sched.baremetal.nodes.node_fields import FIELDS
from baremetal_sched.web.caller import Caller
from tests.functional.baremetal.test_access import MANAGERS, MEMBERS, as_project
from tests.restored import Rows
from tests.service import Service, fault

RUNBOOK = {"name": "CUSTOM_RUN", "steps": [{"interface": "bios", "step": "do_nothing", "args": {}, "order": 1}]}


@pytest.fixture
def secured(database_url: str) -> Iterator[Service]:
    """The service with a node that ``owners`` own and ``tenants`` lease."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("host")
        service.add_node("owned", owner="owners", lessee="tenants", power=False)
        yield service


def change(field: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "add", "path": f"/{field}", "value": value}]


def test_lessee_may_not_change_what_is_the_owners(secured: Service, row: Rows) -> None:
    for field, value, rule in [
        ("owner", "tenants", "update:owner"),
        ("lessee", "others", "update:lessee"),
        ("name", "renamed", "update:name"),
        ("driver_info/address", "10.0.0.1", "update:driver_info"),
        ("properties/cpus", 8, "update:properties"),
        ("conductor_group", "", "update:conductor_group"),
        ("deploy_interface", "fake", "update:driver_interfaces"),
        ("driver", "fake-hardware", "update:driver_interfaces"),
        ("retired_reason", "old", "update:retired"),
        ("shard", "one", "update:shard"),
        ("disable_power_off", True, "update:disable_power_off"),
        ("automated_clean", False, "disable_cleaning"),
        ("automated_clean", "off", "disable_cleaning"),
    ]:
        with row(field, value, rule):
            patch = change("extra/rack", "7") + change(field, value)
            answer = as_project(secured, "tenants", MANAGERS, "PATCH", "/nodes/owned", patch, status=403)
            assert fault(answer) == f"Access was denied to the following resource: baremetal:node:{rule}"
            assert secured.node("owned")["extra"] == {}


def test_lessee_changes_what_needs_no_owner(secured: Service, row: Rows) -> None:
    for field, value in [("extra/rack", "7"), ("description", "mine"), ("instance_info/a", "b")]:
        with row(field, value):
            as_project(secured, "tenants", MANAGERS, "PATCH", "/nodes/owned", change(field, value))
            document, _, member = field.partition("/")
            assert secured.node("owned")[document] == ({member: value} if member else value)


def test_every_field_that_can_be_changed_is_refused_to_readers(secured: Service) -> None:
    for field in FIELDS.patchable:
        as_project(secured, "owners", "reader", "PATCH", "/nodes/owned", change(field, None), status=403)


def test_owner_of_a_node_in_use_is_changed_by_administrators_only(secured: Service) -> None:
    secured.set_columns(secured.node("owned")["uuid"], provision_state="active")
    system_member = {"X-Roles": MEMBERS}
    patch = change("owner", "others")
    answer = secured.baremetal("PATCH", "/nodes/owned", patch, headers=system_member, status=409)
    assert "Cannot update owner of node" in fault(answer)
    secured.baremetal("PATCH", "/nodes/owned", patch)
    assert secured.node("owned")["owner"] == "others"


def test_administrators_of_a_project_create_and_delete_its_nodes(secured: Service) -> None:
    body = {"driver": "fake-hardware", "name": "new"}
    made = as_project(secured, "owners", MANAGERS, "POST", "/nodes", body)
    assert made.json["owner"] == "owners"
    refused = {**body, "name": "another", "owner": "others"}
    as_project(secured, "owners", MANAGERS, "POST", "/nodes", refused, status=400)
    as_project(secured, "owners", MEMBERS, "POST", "/nodes", refused, status=403)
    as_project(secured, "owners", MEMBERS, "DELETE", "/nodes/new", status=403)
    as_project(secured, "owners", MANAGERS, "DELETE", "/nodes/new", status=204)
    as_project(secured, "tenants", MANAGERS, "DELETE", "/nodes/owned", status=403)


def test_system_names_any_owner(secured: Service) -> None:
    made = secured.baremetal("POST", "/nodes", {"driver": "fake-hardware", "owner": "others"})
    assert made.json["owner"] == "others"
    assert secured.baremetal("POST", "/nodes", {"driver": "fake-hardware"}).json["owner"] is None


def test_projects_create_no_nodes_if_the_settings_say_so(database_url: str) -> None:
    options = {"auth_strategy": "noauth2", "project_admin_can_manage_own_nodes": False}
    with Service(database_url, api=options) as service:
        service.add_conductor("host")
        service.add_node("owned", owner="owners", power=False)
        answer = as_project(service, "owners", MANAGERS, "POST", "/nodes", {"driver": "fake-hardware"}, status=403)
        assert fault(answer).endswith("baremetal:node:create")
        answer = as_project(service, "owners", MANAGERS, "DELETE", "/nodes/owned", status=403)
        assert fault(answer).endswith("baremetal:node:delete")


def test_new_allocation_is_the_callers(secured: Service) -> None:
    body = {"resource_class": "gold", "name": "first"}
    assert as_project(secured, "owners", MEMBERS, "POST", "/allocations", body).json["owner"] == "owners"
    body = {"resource_class": "gold", "owner": "others"}
    answer = as_project(secured, "owners", MEMBERS, "POST", "/allocations", body, status=403)
    assert "not matching the requester Project ID owners" in fault(answer)
    as_project(secured, "tenants", MANAGERS, "GET", "/allocations/first", status=404)
    as_project(secured, "owners", "reader", "DELETE", "/allocations/first", status=403)
    as_project(secured, "owners", MEMBERS, "DELETE", "/allocations/first")


def test_steps_of_the_request_need_a_rule_more(database_url: str, tmp_path: Any) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text('"baremetal:node:set_provision_state:clean_steps": "role:cleaner"\n')
    policy = {"policy_file": str(rules)}
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy=policy) as service:
        service.add_conductor("host")
        service.add_node("owned", owner="owners", power=False)
        body = {"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset"}]}
        path = "/nodes/owned/states/provision"
        answer = as_project(service, "owners", MEMBERS, "PUT", path, body, status=403)
        assert fault(answer).endswith("baremetal:node:set_provision_state:clean_steps")
        # No longer refused: cleaning does not begin where the node is.
        as_project(service, "owners", f"{MEMBERS},cleaner", "PUT", path, body, status=400)


def test_runbooks_owner_and_publicity_are_the_systems(secured: Service) -> None:
    as_project(secured, "owners", MANAGERS, "POST", "/runbooks", RUNBOOK, status=201)
    path = "/runbooks/CUSTOM_RUN"
    as_project(secured, "owners", MANAGERS, "PATCH", path, change("extra/a", 1))
    for field, value in (("owner", "others"), ("public", True)):
        answer = as_project(secured, "owners", MANAGERS, "PATCH", path, change(field, value), status=403)
        assert fault(answer).endswith(f"baremetal:runbook:update:{field}")
    as_project(secured, "others", MANAGERS, "GET", path, status=403)
    secured.baremetal("PATCH", path, change("public", True))
    as_project(secured, "others", "reader", "GET", path)


def test_ports_are_created_on_ones_own_nodes(secured: Service) -> None:
    uuid = secured.node("owned")["uuid"]
    body = {"node_uuid": uuid, "address": "52:54:00:00:00:01"}
    as_project(secured, "tenants", MANAGERS, "POST", "/ports", body, status=403)
    port = as_project(secured, "owners", MANAGERS, "POST", "/ports", body).json["uuid"]
    as_project(secured, "others", MANAGERS, "GET", f"/ports/{port}", status=404)
    as_project(secured, "tenants", "reader", "GET", f"/ports/{port}")
    as_project(secured, "tenants", MANAGERS, "DELETE", f"/ports/{port}", status=403)
    as_project(secured, "others", MANAGERS, "POST", "/ports", {**body, "node_uuid": "unknown"}, status=403)


def test_services_of_the_services_project_may_more_if_the_settings_say_so(database_url: str) -> None:
    caller = Caller("nova", "services", ("service",), project_name="service")
    for elevated in (False, True):
        options = {"DEFAULT": {"rbac_service_role_elevated_access": elevated}, "api": {"auth_strategy": "noauth2"}}
        with Service(database_url, **options) as service:
            api = BaremetalApi(service.app.settings)
            call = api.new_call(Request(EnvironBuilder().get_environ()), "req-1")
            call.policy, call.caller = api.policy, caller
            assert call.allows("baremetal:node:list_all") is elevated
            assert call.allows("baremetal:node:update:owner") is elevated
