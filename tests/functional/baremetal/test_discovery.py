# tier: first
"""Version documents, negotiation, and requests that no view sees."""

import json

from tests.restored import Rows
from tests.service import Service, fault

MINIMUM, MAXIMUM, VERSION = (
    "X-OpenStack-Ironic-API-Minimum-Version",
    "X-OpenStack-Ironic-API-Maximum-Version",
    "X-OpenStack-Ironic-API-Version",
)


def test_root_document(service: Service, row: Rows) -> None:
    for path in ["/baremetal", "/baremetal/"]:
        with row(path):
            document = service.http.get(path).json
            (version,) = document["versions"]
            assert version == document["default_version"]
            assert (version["min_version"], version["version"], version["status"]) == ("1.1", "1.115", "CURRENT")
            assert version["links"][0]["href"] == "http://localhost/baremetal/v1/"


def test_v1_shows_the_collections_of_the_version(service: Service) -> None:
    assert "conductors" not in service.baremetal("GET", "", version="1.48").json
    document = service.baremetal("GET", "", version="1.49").json
    assert document["conductors"][0]["href"] == "http://localhost/baremetal/v1/conductors/"
    assert {"nodes", "drivers"} <= set(document)


def test_negotiation(service: Service, row: Rows) -> None:
    for headers, version in [
        ({}, "1.1"),
        ({VERSION: ""}, "1.1"),
        ({VERSION: "1.46"}, "1.46"),
        ({VERSION: " 1.46 "}, "1.46"),
        ({VERSION: "01.046"}, "1.46"),
        ({VERSION: "LaTest"}, "1.115"),
        ({"OpenStack-API-Version": "baremetal 1.46"}, "1.46"),
        ({"OpenStack-API-Version": "BareMetal latest"}, "1.115"),
        ({"OpenStack-API-Version": "compute 2.1, baremetal 1.50"}, "1.50"),
        ({"OpenStack-API-Version": "compute 2.1"}, "1.1"),
        ({"OpenStack-API-Version": "ironic 1.46"}, "1.1"),
        ({"OpenStack-API-Version": "1.46"}, "1.1"),
        ({"OpenStack-API-Version": "baremetal"}, "1.1"),
        ({"OpenStack-API-Version": "baremetal 1.50", VERSION: "1.40"}, "1.50"),
    ]:
        with row(headers, version):
            response = service.http.get("/baremetal/v1/nodes", headers=headers)
            assert response.headers[VERSION] == version
            assert (response.headers[MINIMUM], response.headers[MAXIMUM]) == ("1.1", "1.115")


def test_versions_out_of_range_are_406_with_the_range(service: Service, row: Rows) -> None:
    for version in ["1.0", "1.116", "2.0", "0.1", "-1.1"]:
        with row(version):
            response = service.baremetal("GET", "/nodes", version=version, status=406)
            assert json.loads(response.json["error_message"])["code"] == 406
            assert (response.headers[MINIMUM], response.headers[MAXIMUM]) == ("1.1", "1.115")
            assert VERSION not in response.headers
            at_root = service.http.get("/baremetal/", headers={VERSION: version}, status=406)
            assert "faultstring" in json.loads(at_root.json["error_message"])


def test_malformed_versions_are_406(service: Service, row: Rows) -> None:
    for version in ["bad", "1", "1.", ".1", "1.1.1", "1.x", "1.1\u0661"]:
        with row(version):
            headers = {VERSION: version.encode().decode("latin-1")}
            response = service.http.get("/baremetal/v1/nodes", headers=headers, status=406)
            assert "Invalid value" in fault(response)


def test_the_prefix_and_a_final_slash_are_optional(service: Service, row: Rows) -> None:
    for path in ["/v1/nodes/", "/nodes", "/nodes/", "/v1/nodes"]:
        with row(path):
            assert service.http.get("/baremetal" + path).json == {"nodes": []}


def test_json_suffix_is_taken_off_until_1_91(service: Service) -> None:
    uuid = service.add_node("x.json", power=False)
    other = service.add_node("y", power=False)
    assert service.node(f"{other}.json", version="1.90")["uuid"] == other
    assert service.node("x.json", version="1.90")["uuid"] == uuid
    assert service.node("x.json")["uuid"] == uuid
    service.baremetal("GET", f"/nodes/{other}.json", status=404)


def test_unknown_paths_and_methods(service: Service) -> None:
    for path in ("/nosuch", "/nodes/a/b/c/d", "/nodes/traits"):
        response = service.baremetal("GET", path, status=404)
        assert json.loads(response.json["error_message"]) == {"code": 404, "title": "Not Found", "description": ""}
        assert VERSION not in response.headers
    response = service.baremetal("PUT", "/nodes", {}, status=405)
    assert json.loads(response.json["error_message"])["code"] == 405
    service.baremetal("HEAD", "/nodes", status=405)
    service.baremetal("HEAD", "", status=200)
    service.baremetal("POST", "", {}, status=405)
    assert service.http.options("/baremetal/v1/nodes", status=200).body == b""
    assert service.http.post_json("/baremetal/", {}).json["versions"]


def test_request_ids_are_ours_and_on_everything(service: Service) -> None:
    seen = set()
    for path, status in (("/nodes", 200), ("/nosuch", 404), ("/nodes/nosuch", 404)):
        response = service.baremetal("GET", path, status=status, headers={"X-OpenStack-Request-ID": "req-mine"})
        request_id = response.headers["x-openstack-request-id"]
        assert request_id.startswith("req-")
        assert request_id == response.headers["openstack-request-id"]
        seen.add(request_id)
    assert len(seen) == 3
    assert "req-mine" not in seen


def test_only_json_is_served(service: Service) -> None:
    response = service.baremetal("GET", "/nodes", headers={"Accept": "application/xml"}, status=406)
    assert "406 Not Acceptable" in response.json["error_message"]
    for accept in ("*/*", "application/*", "text/html, application/json;q=0.5"):
        service.baremetal("GET", "/nodes", headers={"Accept": accept}, status=200)


def test_bodies_are_limited(service: Service) -> None:
    deep: dict = {}
    for _ in range(30):
        deep = {"a": deep}
    response = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "extra": deep}, status=400)
    assert response.json["faultcode"] == "Client"
    big = {"driver": "fake-hardware", "extra": {"a": "x" * 1_100_000}}
    response = service.baremetal("POST", "/nodes", big, status=413)
    assert "too large" in response.json["faultstring"]
    assert service.baremetal("GET", "/nodes").json == {"nodes": []}


def test_bodies_that_make_no_sense_are_400(service: Service, row: Rows) -> None:
    for body in [b"{bad", b"<a/>", b"null", b"[]", b'"x"', b"5", b'{"driver": "a\\u0000"}', b"\xff"]:
        with row(body):
            response = service.http.post(
                "/baremetal/v1/nodes", body, headers={VERSION: "1.115"}, content_type="application/json", status=400
            )
            assert fault(response)


def test_unknown_parameters_are_400(service: Service, row: Rows) -> None:
    for path in ["/nodes?nosuch=1", "/nodes/detail?fields=uuid", "/conductors?conductor_group=x"]:
        with row(path):
            assert "Unexpected arguments" in fault(service.baremetal("GET", path, status=400))


def test_queries_that_are_no_text_are_400(service: Service, row: Rows) -> None:
    for query in ["owner=%ff", "owner=%00", "%00=1"]:
        with row(query):
            service.baremetal("GET", f"/nodes?{query}", status=400)


def test_links_follow_the_public_endpoint_or_the_proxy(database_url: str) -> None:
    with Service(database_url, api={"public_endpoint": "https://api.example.org/"}) as service:
        href = service.http.get("/baremetal").json["versions"][0]["links"][0]["href"]
        assert href == "https://api.example.org/baremetal/v1/"
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "b.example.org", "X-Forwarded-Prefix": "/p"}
    with Service(database_url, oslo_middleware={"enable_proxy_headers_parsing": True}) as service:
        href = service.http.get("/baremetal", headers=forwarded).json["versions"][0]["links"][0]["href"]
        assert href == "https://b.example.org/p/baremetal/v1/"
    with Service(database_url) as service:
        href = service.http.get("/baremetal", headers=forwarded).json["versions"][0]["links"][0]["href"]
        assert href == "http://localhost/baremetal/v1/"


def test_requests_that_name_nothing(service: Service, row: Rows) -> None:
    """Statuses as Ironic 39.0.0 has them; where that answers 500, it is 400 too."""
    for method, path, missing, since, before in [
        ("PATCH", "nodes", "node_ident", 1, 0),
        ("DELETE", "nodes", "node_ident", 1, 0),
        ("PATCH", "ports", "port_ident", 1, 0),
        ("DELETE", "ports", "port_uuid", 1, 0),
        ("PATCH", "portgroups", "portgroup_ident", 23, 404),
        ("DELETE", "portgroups", "portgroup_ident", 23, 404),
        ("PATCH", "volume/connectors", "connector_uuid", 32, 404),
        ("DELETE", "volume/connectors", "connector_uuid", 32, 404),
        ("PATCH", "volume/targets", "target_uuid", 32, 404),
        ("DELETE", "volume/targets", "target_uuid", 32, 404),
        ("PATCH", "chassis", "chassis_uuid", 1, 0),
        ("DELETE", "chassis", "chassis_uuid", 1, 0),
        ("PATCH", "allocations", "allocation_ident", 57, 405),
        ("DELETE", "allocations", "allocation_ident", 52, 405),
        ("PATCH", "deploy_templates", "template_ident", 55, 405),
        ("DELETE", "deploy_templates", "template_ident", 55, 405),
        ("PATCH", "runbooks", "runbook_ident", 92, 405),
        ("DELETE", "runbooks", "runbook_ident", 92, 405),
        ("PATCH", "inspection_rules", "inspection_rule_uuid", 96, 405),
        ("POST", "heartbeat", "node_ident", 1, 0),
    ]:
        with row(method, path, missing, since, before):
            for url in (f"/{path}", f"/{path}/"):
                for version in (f"1.{since}", "1.115"):
                    response = service.baremetal(method, url, [], version=version, status=400)
                    assert fault(response) == f"Missing mandatory parameter: {missing}"
                if before:
                    service.baremetal(method, url, [], version=f"1.{since - 1}", status=before)


def test_collections_that_nobody_changes(service: Service, row: Rows) -> None:
    for path in ["conductors", "drivers", "shards", "volume", "events", "lookup"]:
        with row(path):
            for method in ("PATCH", "DELETE", "PUT"):
                service.baremetal(method, f"/{path}", status=405)
            service.baremetal("DELETE", "/heartbeat", status=405)
