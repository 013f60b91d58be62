"""/flavors/{id}/os-flavor-access, and the actions that change it."""

from typing import Any

import pytest

from tests.service import Service
from tests.unchanged import unchanged


@pytest.fixture
def private(service: Service) -> str:
    return service.add_flavor("private", **{"os-flavor-access:is_public": False})


def act(service: Service, flavor: str, action: str, project: str, **options: Any) -> Any:
    return service.compute("POST", f"/flavors/{flavor}/action", {action: {"tenant": project}}, **options).json


def projects(document: dict[str, Any]) -> list[str]:
    return [entry["tenant_id"] for entry in document["flavor_access"]]


def test_add_list_and_remove(service: Service, private: str) -> None:
    path = f"/flavors/{private}/os-flavor-access"
    assert service.compute("GET", path).json == {"flavor_access": []}
    assert act(service, private, "addTenantAccess", "p2") == {
        "flavor_access": [{"flavor_id": private, "tenant_id": "p2"}]
    }
    assert projects(act(service, private, "addTenantAccess", "p1")) == ["p1", "p2"]
    assert projects(service.compute("GET", path).json) == ["p1", "p2"]
    error = act(service, private, "addTenantAccess", "p1", status=409)["conflictingRequest"]
    assert error["message"] == f"Flavor access already exists for flavor {private} and project p1 combination."
    assert projects(act(service, private, "removeTenantAccess", "p1")) == ["p2"]
    error = act(service, private, "removeTenantAccess", "p1", status=404)["itemNotFound"]
    assert error["message"] == f"Flavor access not found for {private} / p1 combination."


def test_public_flavors(service: Service) -> None:
    public = service.add_flavor("public")
    error = service.compute("GET", f"/flavors/{public}/os-flavor-access", status=404).json["itemNotFound"]
    assert error["message"] == "Access list not available for public flavors."
    error = act(service, public, "addTenantAccess", "p1", version="2.7", status=409)["conflictingRequest"]
    assert error["message"] == "Can not add access to a public flavor."
    assert projects(act(service, public, "addTenantAccess", "p1", version="2.6")) == ["p1"]


def test_a_flavor_that_is_not_there(service: Service) -> None:
    service.compute("GET", "/flavors/none/os-flavor-access", status=404)
    act(service, "none", "addTenantAccess", "p1", status=404)
    act(service, "none", "removeTenantAccess", "p1", status=404)


def test_actions_that_are_refused(service: Service, private: str, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for body in [
            {},
            {"addTenantAccess": {}},
            {"addTenantAccess": {"tenant": ""}},
            {"addTenantAccess": {"tenant": "a b"}},
            {"addTenantAccess": {"tenant": "x" * 256}},
            {"addTenantAccess": {"tenant": "p", "more": 1}},
            {"addTenantAccess": {"tenant": "p"}, "removeTenantAccess": {"tenant": "p"}},
            {"grow": None},
        ]:
            with subtests.test(body=body):
                service.compute("POST", f"/flavors/{private}/action", body, status=400)
