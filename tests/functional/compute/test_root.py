"""Version documents, microversions, errors, and the extensions that clients look for."""

import pytest

from tests.service import Service

STANDARD, OLD = "OpenStack-API-Version", "X-OpenStack-Nova-API-Version"


def test_versions(service: Service, subtests: pytest.Subtests) -> None:
    for path in ["/compute", "/compute/"]:
        with subtests.test(path=path):
            (version,) = service.http.get(path).json["versions"]
            assert version == {
                "id": "v2.1",
                "status": "CURRENT",
                "version": "2.104",
                "min_version": "2.1",
                "updated": "2013-07-23T11:33:21Z",
                "links": [{"rel": "self", "href": "http://localhost/compute/v2.1/"}],
            }


def test_version(service: Service, subtests: pytest.Subtests) -> None:
    for path in ["/compute/v2.1", "/compute/v2.1/"]:
        with subtests.test(path=path):
            version = service.http.get(path).json["version"]
            assert (version["id"], version["min_version"], version["version"]) == ("v2.1", "2.1", "2.104")
            assert [link["rel"] for link in version["links"]] == ["self", "describedby"]
            assert version["media-types"][0]["base"] == "application/json"


def test_version_documents_need_no_token(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        for path in ("/compute", "/compute/v2.1", "/compute/v2.1/"):
            assert service.http.get(path).status_int == 200
        error = service.http.get("/compute/v2.1/flavors", status=401).json["unauthorized"]
        assert error["code"] == 401


def test_negotiation(service: Service, subtests: pytest.Subtests) -> None:
    for headers, version in [
        ({}, "2.1"),
        ({STANDARD: "compute 2.61"}, "2.61"),
        ({STANDARD: "placement 1.30, compute 2.10"}, "2.10"),
        ({STANDARD: "placement 1.30"}, "2.1"),
        ({STANDARD: "compute latest"}, "2.104"),
        ({OLD: "2.55"}, "2.55"),
        ({STANDARD: "compute 2.2", OLD: "2.55"}, "2.2"),
    ]:
        with subtests.test(headers=headers):
            answer = service.http.get("/compute/v2.1/flavors", headers=headers)
            assert answer.headers[STANDARD] == f"compute {version}"
            assert answer.headers[OLD] == version
            assert set(answer.headers.getall("Vary")) == {STANDARD, OLD}
            assert answer.headers["X-OpenStack-Request-Id"] == answer.headers["X-Compute-Request-Id"]


def test_versions_that_are_refused(service: Service, subtests: pytest.Subtests) -> None:
    for wanted, status, name in [
        ("2.105", 406, "computeFault"),
        ("2.0", 406, "computeFault"),
        ("3.1", 406, "computeFault"),
        ("two", 400, "badRequest"),
        ("2", 400, "badRequest"),
        ("2.1.1", 400, "badRequest"),
    ]:
        with subtests.test(wanted=wanted):
            error = service.compute("GET", "/flavors", version=wanted, status=status).json[name]
            assert error["code"] == status
            assert wanted in error["message"]


def test_paths_and_methods_that_are_not_there(service: Service) -> None:
    for path in ("/os-hypervisors", "/os-hypervisors/detail", "/nonsense"):
        assert service.compute("GET", path, status=404).json["itemNotFound"]["code"] == 404
    answer = service.compute("PATCH", "/flavors", status=405)
    assert answer.json["badMethod"]["code"] == 405
    assert answer.headers["Allow"] == "GET, POST"


def test_extensions(service: Service) -> None:
    extensions = service.compute("GET", "/extensions").json["extensions"]
    by_alias = {extension["alias"]: extension for extension in extensions}
    assert {"os-keypairs", "os-flavor-extra-specs", "os-availability-zone"} <= set(by_alias)
    for alias, extension in by_alias.items():
        assert service.compute("GET", f"/extensions/{alias}").json == {"extension": extension}
        assert extension.keys() == {"alias", "name", "description", "namespace", "updated", "links"}
    service.compute("GET", "/extensions/os-nothing", status=404)


def test_the_service_says_that_it_is_there(service: Service) -> None:
    links = service.http.get("/").json["links"]
    assert links["compute"] == {"href": "http://localhost/compute"}
