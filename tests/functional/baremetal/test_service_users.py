"""A Nova above: what its service user may do to the nodes of others, with elevated access and without."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Request

from baremetal_sched.web.authentication.strategy import NoAuth2
from baremetal_sched.web.caller import Caller
from tests.restored import Rows
from tests.service import Service

NOVA = {"X-Auth-Token": "nova:services", "X-Roles": "service", "OpenStack-System-Scope": ""}
INSTANCE = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.fixture
def serving(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes the service, with elevated access or without; the project of service users has its usual name."""
    authenticate = NoAuth2.authenticate

    def with_name(self: NoAuth2, http: Request) -> Caller:
        caller = authenticate(self, http)
        return replace(caller, project_name="service") if caller.project_id == "services" else caller

    def start(elevated: bool) -> Service:
        options = {"rbac_service_role_elevated_access": elevated}
        service = Service(database_url, api={"auth_strategy": "noauth2"}, DEFAULT=options)
        started.append(service)
        service.add_conductor("c1")
        return service

    monkeypatch.setattr(NoAuth2, "authenticate", with_name)
    started: list[Service] = []
    yield start
    for service in started:
        service.close()


def test_with_elevated_access_nova_deploys_any_node(serving: Any) -> None:
    """As its driver does it: it lists and shows nodes, takes one, deploys it, and gives it back."""
    service = serving(True)
    node = service.add_node(power=False)
    (listed,) = service.baremetal("GET", "/nodes?fields=uuid,provision_state", headers=NOVA).json["nodes"]
    assert listed["uuid"] == node
    patch = [
        {"op": "add", "path": "/instance_uuid", "value": INSTANCE},
        {"op": "add", "path": "/instance_info/image_source", "value": "http://192.0.2.1/image"},
    ]
    service.baremetal("PATCH", f"/nodes/{node}", patch, headers=NOVA)
    service.baremetal("GET", f"/nodes/{node}/validate", headers=NOVA)
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "active"}, headers=NOVA)
    service.work()
    shown = service.baremetal("GET", f"/nodes/{node}", headers=NOVA).json
    assert (shown["provision_state"], shown["instance_uuid"]) == ("active", INSTANCE)
    service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": "deleted"}, headers=NOVA)
    service.work()
    assert service.baremetal("GET", f"/nodes/{node}", headers=NOVA).json["provision_state"] == "available"


def test_without_it_nova_has_the_nodes_of_its_project(serving: Any) -> None:
    service = serving(False)
    own, foreign = service.add_node(power=False, owner="services"), service.add_node(power=False, owner="other")
    service.add_node(power=False)
    listed = service.baremetal("GET", "/nodes", headers=NOVA).json["nodes"]
    assert [node["uuid"] for node in listed] == [own]
    service.baremetal("GET", f"/nodes/{foreign}", headers=NOVA, status=404)
    service.baremetal("PUT", f"/nodes/{foreign}/states/provision", {"target": "active"}, headers=NOVA, status=404)


def test_nova_claims_in_placement_either_way(serving: Any, row: Rows) -> None:
    for elevated in [False, True]:
        with row(elevated):
            service = serving(elevated)
            node = service.add_node()
            candidates = service.placement("GET", "/allocation_candidates?resources=CUSTOM_GOLD:1", headers=NOVA).json
            assert [*candidates["provider_summaries"]] == [node]
            body = {
                "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}},
                "consumer_generation": None,
                "project_id": "p",
                "user_id": "u",
                "consumer_type": "INSTANCE",
            }
            service.placement("PUT", f"/allocations/{INSTANCE}", body, headers=NOVA, status=204)
            service.placement("DELETE", f"/allocations/{INSTANCE}", headers=NOVA, status=204)
