"""Who may do what: noauth2, both sets of defaults, an operator's own policy file, scopes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from baremetal_sched.placement.api.routes import ROUTES
from tests.service import Service

LIST = "/placement/resource_providers"


@pytest.fixture
def secured(database_url: str) -> Any:
    def start(**oslo_policy: Any) -> Service:
        running = Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy=oslo_policy)
        started.append(running)
        return running

    started: list[Service] = []
    yield start
    for running in started:
        running.close()


def caller(token: str = "u:p", **headers: str) -> dict[str, str]:
    return {"X-Auth-Token": token, "OpenStack-API-Version": "placement 1.39", **headers}


def test_without_a_token(secured: Any) -> None:
    service = secured()
    service.http.get("/placement/", status=200)
    for path in (LIST, "/placement/nosuch"):
        response = service.http.get(path, status=401)
        assert response.json["code"] == "401 Unauthorized"
        assert "openstack-api-version" not in response.headers
        assert response.headers["x-openstack-request-id"]


def test_defaults(secured: Any, subtests: pytest.Subtests) -> None:
    for new_defaults, roles, reshaper, providers in [
        (False, "admin", 400, 200),
        (False, "Service", 400, 200),
        (False, "reader,member", 403, 403),
        (True, "admin", 403, 200),
        (True, "service", 400, 200),
        (True, "reader, member", 403, 403),
    ]:
        with subtests.test(new_defaults=new_defaults, roles=roles):
            service = secured(enforce_new_defaults=new_defaults)
            headers = caller(**{"X-Roles": roles})
            service.http.get(LIST, headers=headers, status=providers)
            service.http.post_json("/placement/reshaper", {}, headers=headers, status=reshaper)


def test_a_refusal_names_the_policy(secured: Any) -> None:
    response = secured().http.get(LIST, headers=caller(), status=403)
    (error,) = response.json["errors"]
    assert "Policy does not allow placement:resource_providers:list to be performed." in error["detail"]
    assert error["code"] == "placement.undefined_code"


def test_the_system_as_a_whole_is_another_scope(secured: Any) -> None:
    headers = caller("admin", **{"OpenStack-System-Scope": "all", "X-Roles": "admin"})
    response = secured().http.get(LIST, headers=headers, status=403)
    assert "placement:resource_providers:list" in response.json["errors"][0]["detail"]


def test_readers_see_the_usages_of_their_own_project(secured: Any) -> None:
    service = secured(enforce_new_defaults=True)
    headers = caller("u:p", **{"X-Roles": "reader"})
    service.http.get("/placement/usages?project_id=p", headers=headers, status=200)
    service.http.get("/placement/usages?project_id=q", headers=headers, status=403)
    headers["X-Project-Id"] = "q"
    service.http.get("/placement/usages?project_id=q", headers=headers, status=200)


def test_of_two_projects_the_one_that_is_asked_about_is_judged(secured: Any) -> None:
    """The last one; or a reader would see usages of others by naming his own project first."""
    service = secured(enforce_new_defaults=True)
    headers = caller("u:p", **{"X-Roles": "reader"})
    service.http.get("/placement/usages?project_id=p&project_id=q", headers=headers, status=403)
    service.http.get("/placement/usages?project_id=q&project_id=p", headers=headers, status=200)


def test_an_operators_own_rules(secured: Any, tmp_path: Path) -> None:
    rules = {
        "placement:resource_providers:list": "role:auditor",
        "placement:traits:list": "@",
        "placement:resource_classes:list": "!",
    }
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump(rules))
    service = secured(policy_file=str(file))
    service.http.get(LIST, headers=caller(**{"X-Roles": "auditor"}), status=200)
    service.http.get(LIST, headers=caller("admin"), status=403)
    service.http.get("/placement/traits", headers=caller(), status=200)
    service.http.get("/placement/resource_classes", headers=caller("admin"), status=403)


def test_nobody_is_asked_without_authentication(service: Service) -> None:
    service.placement("POST", "/reshaper", {}, status=400)
    service.http.get(LIST, status=200)


#: What every request asks, except the root: method and path, and the policy after ``placement:``.
ASKED = {
    ("GET", "/resource_classes"): "resource_classes:list",
    ("POST", "/resource_classes"): "resource_classes:create",
    ("GET", "/resource_classes/x"): "resource_classes:show",
    ("PUT", "/resource_classes/x"): "resource_classes:update",
    ("DELETE", "/resource_classes/x"): "resource_classes:delete",
    ("GET", "/resource_providers"): "resource_providers:list",
    ("POST", "/resource_providers"): "resource_providers:create",
    ("GET", "/resource_providers/x"): "resource_providers:show",
    ("PUT", "/resource_providers/x"): "resource_providers:update",
    ("DELETE", "/resource_providers/x"): "resource_providers:delete",
    ("GET", "/resource_providers/x/inventories"): "resource_providers:inventories:list",
    ("POST", "/resource_providers/x/inventories"): "resource_providers:inventories:create",
    ("PUT", "/resource_providers/x/inventories"): "resource_providers:inventories:update",
    ("DELETE", "/resource_providers/x/inventories"): "resource_providers:inventories:delete",
    ("GET", "/resource_providers/x/inventories/x"): "resource_providers:inventories:show",
    ("PUT", "/resource_providers/x/inventories/x"): "resource_providers:inventories:update",
    ("DELETE", "/resource_providers/x/inventories/x"): "resource_providers:inventories:delete",
    ("GET", "/resource_providers/x/usages"): "resource_providers:usages",
    ("GET", "/resource_providers/x/aggregates"): "resource_providers:aggregates:list",
    ("PUT", "/resource_providers/x/aggregates"): "resource_providers:aggregates:update",
    ("GET", "/resource_providers/x/allocations"): "resource_providers:allocations:list",
    ("GET", "/resource_providers/x/traits"): "resource_providers:traits:list",
    ("PUT", "/resource_providers/x/traits"): "resource_providers:traits:update",
    ("DELETE", "/resource_providers/x/traits"): "resource_providers:traits:delete",
    ("POST", "/allocations"): "allocations:manage",
    ("GET", "/allocations/x"): "allocations:list",
    ("PUT", "/allocations/x"): "allocations:update",
    ("DELETE", "/allocations/x"): "allocations:delete",
    ("GET", "/allocation_candidates"): "allocation_candidates:list",
    ("GET", "/traits"): "traits:list",
    ("GET", "/traits/x"): "traits:show",
    ("PUT", "/traits/x"): "traits:update",
    ("DELETE", "/traits/x"): "traits:delete",
    ("GET", "/usages"): "usages",
    ("POST", "/reshaper"): "reshaper:reshape",
}


def test_what_every_request_asks(secured: Any) -> None:
    """Before it looks at anything else, so a caller who may not do it learns nothing."""
    service = secured()
    asked = {}
    for route in ROUTES:
        path = re.sub("<[^>]*>", "x", route.path)
        if path == "/":
            continue
        headers = caller(**{"Content-Type": "application/json"})
        response = service.http.request(f"/placement{path}", method=route.method, headers=headers, status=403)
        (error,) = response.json["errors"]
        found = re.search(r"Policy does not allow placement:(\S+) to be performed\.", error["detail"])
        assert found is not None
        asked[route.method, path] = found[1]
    assert asked == ASKED
