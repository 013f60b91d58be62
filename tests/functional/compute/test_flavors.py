# tier: first
"""/flavors: fields at each microversion, lists and their pages, and refusals."""

from typing import Any

import pytest

from tests.restored import restored
from tests.service import Service
from tests.unchanged import unchanged

BODY = {"name": "gold", "ram": 1024, "vcpus": 2, "disk": 10}


def create(service: Service, version: str = "2.100", *, status: int | None = None, **fields: Any) -> Any:
    return service.compute("POST", "/flavors", {"flavor": {**BODY, **fields}}, version=version, status=status).json


def message(document: dict[str, Any], name: str = "badRequest") -> str:
    return document[name]["message"]


def test_fields_of_a_flavor(service: Service, subtests: pytest.Subtests) -> None:
    for version, more, swap in [
        ("2.1", set(), ""),
        ("2.54", set(), ""),
        ("2.55", {"description"}, ""),
        ("2.60", {"description"}, ""),
        ("2.61", {"description", "extra_specs"}, ""),
        ("2.74", {"description", "extra_specs"}, ""),
        ("2.75", {"description", "extra_specs"}, 0),
        ("2.100", {"description", "extra_specs"}, 0),
    ]:
        with subtests.test(version=version), restored(service):
            created = create(service, version, id="f 1")["flavor"]
            plain = {
                "id": "f 1",
                "name": "gold",
                "ram": 1024,
                "disk": 10,
                "swap": swap,
                "vcpus": 2,
                "OS-FLV-EXT-DATA:ephemeral": 0,
                "OS-FLV-DISABLED:disabled": False,
                "os-flavor-access:is_public": True,
                "rxtx_factor": 1.0,
                "links": [
                    {"rel": "self", "href": "http://localhost/compute/v2.1/flavors/f%201"},
                    {"rel": "bookmark", "href": "http://localhost/compute/flavors/f%201"},
                ],
            }
            expected = {
                **plain,
                **{name: value for name, value in (("description", None), ("extra_specs", {})) if name in more},
            }
            assert created == expected
            assert service.compute("GET", "/flavors/f%201", version=version).json == {"flavor": expected}
            assert service.compute("GET", "/flavors/detail", version=version).json == {"flavors": [expected]}
            (short,) = service.compute("GET", "/flavors", version=version).json["flavors"]
            assert set(short) == {"id", "name", "links"} | (more & {"description"})


def test_every_member_of_a_creation(service: Service) -> None:
    created = create(
        service,
        **{"OS-FLV-EXT-DATA:ephemeral": "3", "swap": 512, "rxtx_factor": "2.5", "os-flavor-access:is_public": "no"},
        description="Two\nlines",
        id=7,
        ram="2048",
    )["flavor"]
    assert created["id"] == "7"
    assert (created["ram"], created["swap"], created["OS-FLV-EXT-DATA:ephemeral"]) == (2048, 512, 3)
    assert (created["rxtx_factor"], created["os-flavor-access:is_public"]) == (2.5, False)
    assert created["description"] == "Two\nlines"


def test_without_an_id_it_is_a_uuid(service: Service) -> None:
    first, second = create(service)["flavor"]["id"], create(service, name="other", id=None)["flavor"]["id"]
    assert len(first) == len(second) == 36
    assert first != second


def test_a_body_that_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for fields, wrong in [
            ({"ram": 0}, "ram"),
            ({"ram": "0"}, "ram"),
            ({"ram": "many"}, "ram"),
            ({"ram": 2**31}, "ram"),
            ({"ram": str(2**31)}, "ram"),
            ({"ram": True}, "ram"),
            ({"vcpus": 0}, "vcpus"),
            ({"disk": -1}, "disk"),
            ({"disk": None}, "disk"),
            ({"swap": "-1"}, "swap"),
            ({"name": ""}, "name"),
            ({"name": " gold"}, "name"),
            ({"name": "go\tld"}, "name"),
            ({"name": "x" * 256}, "name"),
            ({"id": "a/b"}, "id"),
            ({"id": " a"}, "id"),
            ({"id": "a\n"}, "newline"),
            ({"id": 10**300}, "id"),
            ({"id": 1e300}, "id"),
            ({"ram": 10**400}, "ram"),
            ({"rxtx_factor": 10**400}, "rxtx_factor"),
            ({"rxtx_factor": 0}, "rxtx_factor"),
            ({"rxtx_factor": "0.0"}, "rxtx_factor"),
            ({"rxtx_factor": "1e3"}, "rxtx_factor"),
            ({"os-flavor-access:is_public": "perhaps"}, "is_public"),
            ({"description": "bell \x07"}, "description"),
            ({"description": 1}, "description"),
            ({"unknown": 1}, "unknown"),
            ({"extra_specs": {}}, "extra_specs"),
        ]:
            with subtests.test(fields=fields):
                assert wrong in message(create(service, status=400, **fields))


def test_bodies_that_are_not_a_flavor(service: Service) -> None:
    for body in ({}, [], {"flavor": 1}, {"flavor": {}}, {"flavor": BODY, "other": 1}):
        assert message(service.compute("POST", "/flavors", body, status=400).json)
    headers = {"OpenStack-API-Version": "compute 2.61", "Content-Type": "application/json"}
    answer = service.http.post("/compute/v2.1/flavors", "{", headers=headers, status=400)
    assert message(answer.json).startswith("Malformed request body")
    answer = service.http.post("/compute/v2.1/flavors", "a=b", status=415)
    assert answer.json["badMediaType"]["code"] == 415


def test_description_is_unknown_before_2_55(service: Service) -> None:
    assert "description" in message(create(service, "2.54", status=400, description="x"))
    assert create(service, "2.55", description="x")["flavor"]["description"] == "x"


def test_names_and_ids_are_unique(service: Service) -> None:
    create(service, id="one")
    assert create(service, status=409)["conflictingRequest"] == {
        "code": 409,
        "message": "Flavor with name gold already exists.",
    }
    assert message(create(service, status=409, name="other", id="one"), "conflictingRequest") == (
        "Flavor with ID one already exists."
    )


def test_update_of_the_description(service: Service) -> None:
    flavor = service.add_flavor("gold", specs={"a": "b"})
    body = {"flavor": {"description": "new"}}
    changed = service.compute("PUT", f"/flavors/{flavor}", body, version="2.61").json["flavor"]
    assert (changed["description"], changed["extra_specs"]) == ("new", {"a": "b"})
    assert service.compute("GET", f"/flavors/{flavor}").json["flavor"] == {**changed, "swap": 0}
    service.compute("PUT", f"/flavors/{flavor}", {"flavor": {"description": None}})
    assert service.compute("GET", f"/flavors/{flavor}").json["flavor"]["description"] is None
    service.compute("PUT", f"/flavors/{flavor}", body, version="2.54", status=404)
    service.compute("PUT", "/flavors/none", body, status=404)
    service.compute("PUT", f"/flavors/{flavor}", {"flavor": {"description": "x", "ram": 1}}, status=400)


def test_delete(service: Service) -> None:
    flavor = service.add_flavor("gold", **{"os-flavor-access:is_public": False})
    service.compute("POST", f"/flavors/{flavor}/action", {"addTenantAccess": {"tenant": "p1"}})
    answer = service.compute("DELETE", f"/flavors/{flavor}", status=202)
    assert answer.body == b""
    for method in ("GET", "DELETE"):
        error = service.compute(method, f"/flavors/{flavor}", status=404).json["itemNotFound"]
        assert error == {"code": 404, "message": f"Flavor {flavor} could not be found."}
    service.add_flavor("gold", id=flavor)


# -- lists -------------------------------------------------------------------------------------------------------------


def ids(service: Service, query: str = "", **options: Any) -> list[str]:
    document = service.compute("GET", f"/flavors{query}", **options).json
    return [flavor["id"] for flavor in document["flavors"]]


@pytest.fixture
def three(service: Service) -> Service:
    service.add_flavor("b", id="1", ram=100, disk=0)
    service.add_flavor("a", id="3", ram=300, disk=30)
    service.add_flavor("c", id="2", ram=200, disk=20, **{"os-flavor-access:is_public": False})
    return service


def test_lists_are_in_the_order_of_ids(three: Service) -> None:
    assert ids(three) == ["1", "3"]
    assert ids(three, "?is_public=None") == ["1", "2", "3"]
    assert ids(three, "?is_public=None&sort_dir=desc") == ["3", "2", "1"]


def test_orders_and_filters(three: Service, subtests: pytest.Subtests) -> None:
    for query, expected in [
        ("sort_key=name", ["3", "1", "2"]),
        ("sort_key=memory_mb&sort_dir=desc", ["3", "2", "1"]),
        ("sort_key=id", ["1", "3", "2"]),
        ("sort_key=disabled", ["1", "3", "2"]),
        ("sort_key=description", ["1", "3", "2"]),
        ("minRam=200", ["2", "3"]),
        ("minDisk=21", ["3"]),
        ("minRam=100&minDisk=0", ["1", "2", "3"]),
    ]:
        with subtests.test(query=query):
            assert ids(three, f"?is_public=None&{query}") == expected


def test_is_public(three: Service, subtests: pytest.Subtests) -> None:
    for word, expected in [
        ("true", ["1", "3"]),
        ("1", ["1", "3"]),
        ("False", ["2"]),
        ("no", ["2"]),
        ("none", ["1", "2", "3"]),
    ]:
        with subtests.test(word=word):
            assert ids(three, f"?is_public={word}") == expected


def test_pages_cover_the_list(three: Service) -> None:
    for path in ("/flavors", "/flavors/detail"):
        seen, query = [], "?is_public=None&limit=2&sort_key=name"
        while query:
            document = three.compute("GET", path + query).json
            seen += [flavor["name"] for flavor in document["flavors"]]
            (link,) = document.get("flavors_links", [{"href": ""}])
            assert not link["href"] or link["href"].startswith(f"http://localhost/compute/v2.1{path}?")
            query = link["href"] and "?" + link["href"].partition("?")[2]
        assert seen == ["a", "b", "c"]


def test_marker_and_limit(three: Service) -> None:
    assert ids(three, "?is_public=None&marker=1") == ["2", "3"]
    assert three.compute("GET", "/flavors?is_public=None&limit=0").json == {"flavors": []}
    document = three.compute("GET", "/flavors?marker=9", status=400).json
    assert message(document) == "marker [9] not found"


def test_queries_that_are_refused(service: Service, subtests: pytest.Subtests) -> None:
    for query in [
        "limit=-1",
        "limit=x",
        "minRam=x",
        "minDisk=1.5",
        "is_public=perhaps",
        "sort_key=extra_specs",
        "sort_dir=up",
        "x=1",
    ]:
        for version in ["2.1", "2.100"]:
            with subtests.test(query=query, version=version):
                assert message(service.compute("GET", f"/flavors?{query}", version=version, status=400).json)


def test_a_list_takes_as_many_statements_as_one_flavor(three: Service) -> None:
    with three.statements() as statements:
        three.compute("GET", "/flavors/detail?is_public=None")
    assert len(statements) == 1


# -- who sees what -----------------------------------------------------------------------------------------------------


def test_others_see_public_flavors_and_those_they_have_access_to(database_url: str) -> None:
    admin, member = {"X-Auth-Token": "admin"}, {"X-Auth-Token": "u1:p1", "X-Roles": "member,reader"}
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        for name, public in (("open", True), ("mine", False), ("theirs", False)):
            body = {"flavor": {**BODY, "name": name, "id": name, "os-flavor-access:is_public": public}}
            service.compute("POST", "/flavors", body, headers=member, status=403)
            service.compute("POST", "/flavors", body, headers=admin)
        service.compute("POST", "/flavors/mine/action", {"addTenantAccess": {"tenant": "p1"}}, headers=admin)
        for query in ("", "?is_public=None", "?is_public=false"):
            assert ids(service, query, headers=member) == ["mine", "open"]
        service.compute("GET", "/flavors/mine", headers=member)
        service.compute("GET", "/flavors/theirs", headers=member, status=404)
        service.compute("GET", "/flavors/theirs/os-extra_specs", headers=member, status=404)
        for method, path in (("DELETE", "/flavors/open"), ("GET", "/flavors/mine/os-flavor-access")):
            error = service.compute(method, path, headers=member, status=403).json["forbidden"]
            assert error["message"].startswith("Policy does not allow os_compute_api:os-flavor")
        assert service.compute("GET", "/flavors", status=401).json["unauthorized"]["code"] == 401
