# tier: first
"""The image API where it is not Glance's: data, conditions of scheduling, pages, and who may do what.

What it has in common with Glance is in tests/conformance/image.
"""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session
from webtest import TestResponse

from baremetal_sched.db.models import Image
from baremetal_sched.web.http_errors import RefusedRequest
from baremetal_sched.web.slots import REFUSAL
from tests.restored import restored
from tests.service import Service

IMAGES = "/image/v2/images"
PATCH = "application/openstack-images-v2.1-json-patch"
FORMATS = {"disk_format": "raw", "container_format": "bare"}


def create(service: Service, headers: dict[str, str] | None = None, **fields: Any) -> str:
    body = {**FORMATS, **fields}
    uuid: str = service.http.post_json(IMAGES, body, headers=headers, status=201).json["id"]
    return uuid


def show(service: Service, uuid: str) -> dict[str, Any]:
    document: dict[str, Any] = service.http.get(f"{IMAGES}/{uuid}", status=200).json
    return document


def upload(service: Service, uuid: str, body: bytes, status: int) -> TestResponse:
    headers = {"Content-Type": "application/octet-stream", "Accept": "application/json"}
    return service.http.put(f"{IMAGES}/{uuid}/file", body, headers=headers, status=status)


def patch(service: Service, uuid: str, *operations: dict[str, Any], **expected: Any) -> TestResponse:
    headers = {"Accept": "application/json", **expected.pop("headers", {})}
    return service.http.patch_json(
        f"{IMAGES}/{uuid}", list(operations), content_type=PATCH, headers=headers, **expected
    )


def add(name: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": f"/{name}", "value": value}


def test_an_empty_upload_makes_an_image_active(service: Service) -> None:
    uuid = create(service)
    upload(service, uuid, b"", 204)
    image = show(service, uuid)
    unknown = ("size", "virtual_size", "checksum", "os_hash_algo", "os_hash_value")
    assert (image["status"], [image[name] for name in unknown]) == ("active", [None] * 5)
    assert service.http.get(f"{IMAGES}/{uuid}/file", status=204).body == b""


def test_bytes_are_refused_with_the_place_where_they_belong(service: Service, subtests: pytest.Subtests) -> None:
    for size in [1, 2 * 2**20]:
        with subtests.test(size=size):
            uuid = create(service)
            message = upload(service, uuid, b"x" * size, 400).json["message"]
            assert message.startswith("This service stores no image data. Put the data on a web server")
            assert f"POST /v2/images/{uuid}/import" in message
            assert "image_source" in message
            assert show(service, uuid)["status"] == "queued"


def test_more_bytes_than_the_server_takes_are_refused_with_the_same_words(service: Service) -> None:
    environ = {REFUSAL: RefusedRequest(413, "The request body is too large")}
    answer = service.http.put(f"{IMAGES}/{uuid4()}/file", b"", extra_environ=environ, status=400)
    assert "This service stores no image data" in answer


def test_an_import_is_noted_and_shown(service: Service) -> None:
    uuid = create(service)
    assert "direct_url" not in show(service, uuid)
    body = {"method": {"name": "web-download", "uri": "https://images.example.org:8443/ubuntu.raw"}}
    service.http.post_json(f"{IMAGES}/{uuid}/import", body, status=202)
    image = show(service, uuid)
    assert (image["status"], image["direct_url"]) == ("active", "https://images.example.org:8443/ubuntu.raw")


def test_locations_that_are_none(service: Service, subtests: pytest.Subtests) -> None:
    for uri in [
        "http://",
        "http:///x",
        "http://x y/",
        "http://x:99999/",
        "HTTP//x",
        "http://x/\n",
        "http://" + "x" * 2050,
    ]:
        with subtests.test(uri=uri):
            uuid = create(service)
            service.http.post_json(
                f"{IMAGES}/{uuid}/import", {"method": {"name": "web-download", "uri": uri}}, status=400
            )
            assert show(service, uuid)["status"] == "queued"


def test_conditions_that_nothing_would_come_of(service: Service, subtests: pytest.Subtests) -> None:
    for name, value in [
        ("trait:CUSTOM_A", "forbidden"),
        ("trait:NVME", "required"),
        ("trait1:CUSTOM_A", "required"),
        ("resources:X", "1"),
    ]:
        with subtests.test(name=name), restored(service):
            service.http.post_json(IMAGES, {"name": "new", name: value}, status=400)
            assert service.http.get(IMAGES).json["images"] == []
            uuid = create(service, **{"trait:CUSTOM_A": "required"})
            message = patch(service, uuid, add("name", "other"), add(name, value), status=400).json["message"]
            assert message.startswith(f"Image property '{name}' is not valid")
            assert (show(service, uuid)["name"], show(service, uuid)["trait:CUSTOM_A"]) == (None, "required")


def test_a_required_trait_that_no_node_has_is_accepted_and_can_be_removed(service: Service) -> None:
    uuid = create(service, **{"trait:CUSTOM_NOWHERE": "required"})
    changed = patch(service, uuid, {"op": "remove", "path": "/trait:CUSTOM_NOWHERE"}, status=200).json
    assert "trait:CUSTOM_NOWHERE" not in changed


def test_what_databases_would_mix_up_or_cut_off(service: Service, subtests: pytest.Subtests) -> None:
    for body in [{" padded": "x"}, {"": "x"}, {"tags": ["a", "a "]}, {"tags": [""]}, {"x": "v" * 65_536}]:
        with subtests.test(body=body):
            service.http.post_json(IMAGES, body, status=400)


def test_capitals_count(service: Service) -> None:
    uuid = create(service, tags=["a", "A"], os="x", OS="y")
    image = show(service, uuid)
    assert (image["tags"], image["os"], image["OS"]) == (["A", "a"], "x", "y")
    assert service.http.get(f"{IMAGES}?OS=x").json["images"] == []


def test_unknown_parameters_are_refused(service: Service) -> None:
    uuid = create(service)
    for path in ("", "/members", "/tasks"):
        assert "Unexpected query parameters: x" in service.http.get(f"{IMAGES}/{uuid}{path}?x=1", status=400)


def test_pages_have_every_image_once(service: Service, subtests: pytest.Subtests) -> None:
    for order in ["", "&sort=name:asc", "&sort_key=name&sort_key=status&sort_dir=desc", "&sort=size"]:
        with subtests.test(order=order), restored(service):
            expected = {create(service, name=name, tags=["t", "u"]) for name in ("b", "a", "b", None, "c", None, "a")}
            create(service, tags=["t"])
            found: list[str] = []
            path: str | None = f"/v2/images?limit=2&tag=t&tag=u{order}"
            while path:
                page = service.http.get(f"/image{path}").json
                found += [image["id"] for image in page["images"]]
                path = page.get("next")
            assert sorted(found) == sorted(expected)


def test_errors_come_in_the_form_that_the_client_likes(service: Service) -> None:
    path = f"{IMAGES}/<b>"
    page = service.http.get(path, headers={"Accept": "*/*"}, status=404)
    assert page.content_type == "text/html"
    assert "No image found with ID &lt;b&gt;<br />" in page.text
    document = service.http.get(path, headers={"Accept": "application/json"}, status=404)
    expected = {"message": "No image found with ID <b>", "code": "404 Not Found", "title": "Not Found"}
    assert document.json == expected
    assert service.http.get(path, status=404).content_type == "text/html"
    text = service.http.get(path, headers={"Accept": "image/png"}, status=404)
    assert (text.content_type, text.text.splitlines()[0]) == ("text/plain", "404 Not Found")


def test_the_versions_lead_here(service: Service) -> None:
    versions = service.http.get("/image", status=300).json["versions"]
    assert [version["id"] for version in versions if version["status"] == "CURRENT"] == ["v2.17"]
    assert {link["href"] for version in versions for link in version["links"]} == {"http://localhost/image/v2/"}


def as_member(project: str, *roles: str) -> dict[str, str]:
    return {"X-Auth-Token": f"someone:{project}", "X-Roles": ",".join(roles or ("member", "reader"))}


def test_who_may_do_what(database_url: str) -> None:
    anna, bert, reader = as_member("anna"), as_member("bert"), as_member("anna", "reader")
    admin = {"X-Auth-Token": "admin"}
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        http = service.http
        http.get("/image/", status=300)
        http.get(IMAGES, status=401)
        http.post_json(IMAGES, {"name": "x"}, headers=reader, status=403)
        uuid = create(service, anna, name="x")
        assert http.get(f"{IMAGES}/{uuid}", headers=reader).json["owner"] == "anna"
        http.get(f"{IMAGES}/{uuid}", headers=bert, status=404)
        patch(service, uuid, add("visibility", "public"), headers=anna, status=403)
        patch(service, uuid, add("visibility", "community"), headers=anna, status=200)
        patch(service, uuid, add("name", "mine"), headers=bert, status=403)
        http.delete(f"{IMAGES}/{uuid}", headers=bert, status=403)
        assert http.get(IMAGES, headers=bert).json["images"] == []
        patch(service, uuid, add("visibility", "public"), headers=admin, status=200)
        assert [image["id"] for image in http.get(IMAGES, headers=bert).json["images"]] == [uuid]
        http.delete(f"{IMAGES}/{uuid}", headers=anna, status=204)


def test_the_operators_rules_decide_about_images(database_url: str, tmp_path: Path) -> None:
    rules = {
        "publicize_image": "role:publisher",
        "communitize_image": "!",
        "modify_image": "role:editor or (role:member and project_id:%(project_id)s)",
        "get_image": "role:editor or (role:reader and (project_id:%(project_id)s or 'public':%(visibility)s))",
    }
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(rules))
    anna, bert = as_member("anna"), as_member("bert")
    with Service(database_url, api={"auth_strategy": "noauth2"}, oslo_policy={"policy_file": str(file)}) as service:
        uuid = create(service, anna, name="x")
        patch(service, uuid, add("visibility", "community"), headers=anna, status=403)
        patch(service, uuid, add("visibility", "public"), headers=anna, status=403)
        publisher, editor = as_member("anna", "member", "reader", "publisher"), as_member("bert", "editor", "reader")
        patch(service, uuid, add("visibility", "public"), headers=publisher, status=200)
        patch(service, uuid, add("name", "y"), headers=bert, status=403)
        patch(service, uuid, add("name", "y"), headers=editor, status=200)
        community = create(service, anna, name="c")
        service.database.write(lambda session: set_visibility(session, community, "community"))
        # The rule shows community images to editors only, in lists as well.
        service.http.get(f"{IMAGES}/{community}", headers=bert, status=404)
        for headers, count in ((bert, 0), (editor, 1)):
            found = service.http.get(f"{IMAGES}?visibility=community", headers=headers).json["images"]
            assert len(found) == count


def set_visibility(session: Session, uuid: str, visibility: str) -> None:
    session.execute(update(Image).where(Image.uuid == uuid).values(visibility=visibility))


def test_what_only_owners_and_administrators_see_and_do(database_url: str) -> None:
    anna, bert, admin = as_member("anna"), as_member("bert"), {"X-Auth-Token": "admin"}
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        uuid = create(service, anna, name="x", disk_format="raw", container_format="bare")
        body = {"method": {"name": "web-download", "uri": "http://secret.example/image"}}
        service.http.post_json(f"{IMAGES}/{uuid}/import", body, headers=anna, status=202)
        patch(service, uuid, add("visibility", "public"), headers=admin, status=200)
        assert "direct_url" in service.http.get(f"{IMAGES}/{uuid}", headers=anna).json
        for path in (IMAGES, f"{IMAGES}/{uuid}"):
            assert "secret.example" not in service.http.get(path, headers=bert).text
        service.http.get("/image/v2/tasks", headers=anna, status=403)
        service.http.get("/image/v2/tasks", headers=admin)
        service.http.get("/image/v2/schemas/image", headers=bert)
        service.http.get("/image/v2/schemas/image", status=401)
        # Protected, it stays, whoever asks.
        patch(service, uuid, add("protected", True), headers=anna, status=200)
        for headers in (anna, admin):
            service.http.delete(f"{IMAGES}/{uuid}", headers=headers, status=403)
        service.http.post_json(IMAGES, {"owner": "bert"}, headers=anna, status=403)
        assert service.http.post_json(IMAGES, {"owner": "bert"}, headers=admin).json["owner"] == "bert"


def test_without_authentication_images_belong_to_the_project_of_the_settings(database_url: str) -> None:
    project = str(uuid4())
    with Service(database_url, compute={"project_id": project}) as service:
        assert show(service, create(service))["owner"] == project
        assert show(service, create(service, owner="other"))["owner"] == "other"
        assert len(service.http.get(IMAGES).json["images"]) == 2


def test_a_list_takes_three_statements_however_long(service: Service) -> None:
    for number in range(5):
        create(service, name=str(number), tags=["t"], os="x")
    with service.statements() as seen:
        assert len(service.http.get(f"{IMAGES}?os=x").json["images"]) == 5
    assert len(seen) <= 3
