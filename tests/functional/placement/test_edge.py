"""Version documents, negotiation, headers and error bodies of the Placement API."""

import re

import pytest

from tests.service import Service

CODE = "placement.undefined_code"


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


def test_versions_that_are_not_served(service: Service, subtests: pytest.Subtests) -> None:
    for version, status in [("0.5", 406), ("1.40", 406), ("2.0", 406), ("pony.horse", 400), ("1.2.3", 400)]:
        with subtests.test(version=version):
            response = service.placement("GET", "/resource_providers", version=version, status=status)
            (error,) = response.json["errors"]
            wanted = "Unacceptable version header: " if status == 406 else "invalid version string: "
            assert wanted + version in error["detail"]
            assert "code" not in error
            assert "openstack-api-version" not in response.headers
            assert (error.get("max_version"), error.get("min_version")) == (
                ("1.39", "1.0") if status == 406 else (None, None)
            )


def test_an_error_says_what_the_original_says(service: Service) -> None:
    response = service.placement("GET", "/resource_providers/nosuch", status=404)
    (error,) = response.json["errors"]
    assert list(error) == ["status", "title", "detail", "code", "request_id"]
    assert error["detail"] == "The resource could not be found.\n\n No resource provider with uuid nosuch found  "
    assert (error["status"], error["title"], error["code"]) == (404, "Not Found", CODE)
    assert error["request_id"] == response.headers["x-openstack-request-id"]
    assert "code" not in service.placement("GET", "/resource_providers/x", version="1.22", status=404).json["errors"][0]


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


def test_what_is_too_new_is_404(service: Service, subtests: pytest.Subtests) -> None:
    for path, since in [("/resource_classes", 2), ("/traits", 6), ("/traits/X", 6), ("/allocation_candidates", 10)]:
        with subtests.test(path=path):
            response = service.placement("GET", path, version=f"1.{since - 1}", status=404)
            assert response.json["errors"][0]["detail"] == "The resource could not be found.\n\n   "


def test_errors_come_as_the_client_likes(service: Service, subtests: pytest.Subtests) -> None:
    for accept, content_type in [
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        ("text/html", "text/html"),
        ("application/json, text/html", "text/html"),
        ("image/png", "text/plain"),
    ]:
        with subtests.test(accept=accept):
            response = service.placement("GET", "/nosuch/<b>x", status=404, headers={"Accept": accept})
            assert response.content_type == content_type
            assert b"<b>" not in response.body


def test_only_json_is_served(service: Service) -> None:
    response = service.placement("GET", "/resource_providers", status=406, headers={"Accept": "image/png"})
    assert b"Only application/json is provided" in response.body


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
    response = service.app.test_client().get("/placement/", environ_overrides={"CONTENT_LENGTH": "many"})
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
