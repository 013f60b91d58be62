"""An impossible name in a path is refused, in the shape in which Ironic does so there."""

import json

from tests.restored import Rows
from tests.service import Service

NEITHER = "a%20b"


def refusal(service: Service, method: str, path: str, body: object) -> dict[str, object]:
    response = service.baremetal(method, path, body, status=400)
    document: dict[str, object] = json.loads(response.json["error_message"])
    negotiated = "X-OpenStack-Ironic-API-Version" in response.headers
    assert negotiated == ("faultstring" in document)
    return document


def test_nodes_that_are_arguments(service: Service, row: Rows) -> None:
    for method, path, body in [
        ("PUT", "maintenance", {}),
        ("DELETE", "maintenance", None),
        ("GET", "states", None),
        ("PUT", "states/power", {"target": "power on"}),
        ("PUT", "states/provision", {"target": "manage"}),
        ("GET", "management/boot_device", None),
        ("GET", "vendor_passthru/methods", None),
    ]:
        with row(method, path, body):
            document = refusal(service, method, f"/nodes/{NEITHER}/{path}", body)
            assert document["faultstring"] == "Expected UUID or name for node_ident: a b"


def test_nodes_on_the_way(service: Service, row: Rows) -> None:
    for path in ["", "/traits", "/ports", "/vifs", "/validate"]:
        with row(path):
            document = refusal(service, "GET", f"/nodes/{NEITHER}{path}", None)
            assert (document["code"], document["description"]) == (400, "Expected UUID or name for node: a b")


def test_portgroups(service: Service, row: Rows) -> None:
    for method, path, body in [("GET", "", None), ("DELETE", "", None), ("GET", "/ports", None)]:
        with row(method, path, body):
            document = refusal(service, method, f"/portgroups/{NEITHER}{path}", body)
            assert document["description"] == "Expected UUID or name for portgroup: a b"


def test_allocations(service: Service, row: Rows) -> None:
    for method, body in [("GET", None), ("PATCH", []), ("DELETE", None)]:
        with row(method, body):
            document = refusal(service, method, f"/allocations/{NEITHER}", body)
            assert document["faultstring"] == "Expected a logical name or UUID but received a b."


def test_links_of_indicators_name_the_node_as_the_request_does(service: Service) -> None:
    uuid = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}, status=201).json["uuid"]
    for ident in ("n1", uuid):
        for indicator in service.baremetal("GET", f"/nodes/{ident}/management/indicators").json["indicators"]:
            path = f"/nodes/{ident}/management/indicators/{indicator['name']}"
            assert [link["href"].endswith(path) for link in indicator["links"]] == [True, True]


NOBODY = "/99999999-9999-4999-8999-999999999999"


def test_what_is_said_of_a_bad_patch_of_what_is_not_there(service: Service, row: Rows) -> None:
    for collection, version, name, status in [
        *(
            (collection, "1.115", "created_at", 404)
            for collection in ("allocations", "portgroups", "volume/connectors", "volume/targets", "inspection_rules")
        ),
        *(
            (collection, "1.115", "created_at", 400)
            for collection in ("nodes", "chassis", "ports", "runbooks", "deploy_templates")
        ),
        ("portgroups", "1.50", "category", 404),
        ("ports", "1.50", "name", 404),
        ("nodes", "1.15", "protected", 406),
    ]:
        with row(collection, version, name, status):
            operations = [{"op": "replace", "path": "/extra"}, {"op": "add", "path": f"/{name}", "value": "x"}]
            service.baremetal("PATCH", f"/{collection}{NOBODY}", operations, version=version, status=status)
            service.baremetal("PATCH", f"/{collection}{NOBODY}", operations[:1], status=404)
            service.baremetal("PATCH", f"/{collection}{NOBODY}", [{"op": "test", "path": "/extra"}], status=400)


def test_a_node_that_is_not_there_is_not_switched(service: Service, row: Rows) -> None:
    for body in [{"target": "nope"}, {"target": None}, {"target": "power on", "timeout": -1}]:
        with row(body):
            service.baremetal("PUT", "/nodes/nosuch/states/power", body, status=404)
            service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}, status=201)
            service.baremetal("PUT", "/nodes/n1/states/power", body, status=400)


def test_too_new_for_power_comes_before_what_is_wrong(service: Service) -> None:
    service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}, status=201)
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": None, "timeout": -1}, version="1.8", status=406)
