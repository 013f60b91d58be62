# tier: first
"""Version documents, negotiation, headers and error bodies of the Placement API."""

import re

import pytest
from werkzeug.test import Client

from tests.service import Service


def test_root_document(service: Service) -> None:
    for path in ("/placement", "/placement/"):
        (version,) = service.http.get(path).json["versions"]
        assert (version["id"], version["min_version"], version["max_version"]) == ("v1.0", "1.0", "1.39")
        assert version["links"] == [{"rel": "self", "href": ""}]


def test_negotiation(service: Service, subtests: pytest.Subtests) -> None:
    for header, version in [
        (None, "1.0"),
        ("compute 2.1", "1.0"),
        ("1.5", "1.0"),
        ("placement 1.5", "1.5"),
        ("Placement 1.05", "1.5"),
        ("placement latest", "1.39"),
        ("placement 1.5, compute 2.1, placement 1.7", "1.7"),
    ]:
        with subtests.test(header=header):
            headers = {"OpenStack-API-Version": header} if header else {}
            response = service.http.get("/placement/resource_providers", headers=headers)
            assert response.headers["openstack-api-version"] == f"placement {version}"
            assert response.headers["vary"] == "openstack-api-version"


def test_unknown_paths_and_methods(service: Service) -> None:
    response = service.placement("GET", "/nosuch", status=404)
    assert response.json["errors"][0]["detail"] == "The resource could not be found.\n\n   "
    service.placement("GET", "/resource_providers/", status=404)
    response = service.placement("DELETE", "/allocation_candidates", status=405)
    assert response.headers["allow"] == "GET"
    assert "The method DELETE is not allowed for this resource." in response.json["errors"][0]["detail"]
    service.placement("HEAD", "/resource_providers", status=405)
    service.placement("OPTIONS", "/resource_providers", status=405)
    assert service.placement("PATCH", "/allocations/x", {}, status=405).headers["allow"] == "GET, PUT, DELETE"


def test_bodies_have_to_be_json(service: Service) -> None:
    path = "/placement/allocations/aaaaaaaa-0000-4000-8000-000000000001"
    response = service.http.put(path, b"x", content_type="text/plain", status=415)
    assert "The media type text/plain is not supported, use application/json" in response.json["errors"][0]["detail"]
    response = service.http.put(path, b"{", content_type="application/json", status=400)
    assert "Malformed JSON:" in response.json["errors"][0]["detail"]
    response = service.http.put(path, b"{}", content_type="application/json", status=400)
    assert "JSON does not validate: 'allocations' is a required property" in response.json["errors"][0]["detail"]
    response = service.http.request(path, method="PUT", body=b"x", headers={"Content-Type": ""}, status=400)
    assert "content-type header required" in response.json["errors"][0]["detail"]
    response = Client(service.app).get("/placement/", environ_overrides={"CONTENT_LENGTH": "many"})
    assert response.status_code == 400
    assert "content-length header must be an integer" in response.json["errors"][0]["detail"]
    response = service.http.put(path, b"x" * 2_000_000, content_type="application/json", status=413)
    assert response.json["errors"][0]["status"] == 413


def test_queries_that_are_no_text(service: Service, subtests: pytest.Subtests) -> None:
    for query in ["name=%ff", "name=%00"]:
        with subtests.test(query=query):
            service.placement("GET", f"/resource_providers?{query}", status=400)


def test_cache_headers_since_1_15(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",))
    provider = f"/resource_providers/{uuid}"
    paths = [
        "/",
        "/resource_providers",
        provider,
        "/resource_classes",
        "/resource_classes/VCPU",
        "/traits",
        "/traits/CUSTOM_A",
    ]
    paths += [
        f"{provider}/{sub}" for sub in ("inventories", "inventories/CUSTOM_GOLD", "usages", "traits", "allocations")
    ]
    paths += ["/allocation_candidates?resources=CUSTOM_GOLD:1", f"/allocations/{uuid}"]
    for path in paths:
        response = service.placement("GET", path)
        assert response.headers["cache-control"] == "no-cache", path
        assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", response.headers["last-modified"]), path
        older = service.placement("GET", path, version="1.14")
        assert "cache-control" not in older.headers
        assert "last-modified" not in older.headers
    bare = service.add_node("n2", resource_class=None)
    assert "last-modified" not in service.placement("GET", f"/resource_providers/{bare}/inventories").headers
