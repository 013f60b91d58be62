"""Headers, forms and exact texts of answers, which Placement's own suite looks at here and there only."""

import json
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from sqlalchemy import update
from werkzeug.test import Client

from baremetal_sched.db.models import Allocation, Inventory, ResourceClass, ResourceProvider, Trait
from baremetal_sched.placement.api.routes import ROUTES
from tests.service import Service

A, B, CONSUMER = (f"{letter * 8}-0000-4000-8000-000000000001" for letter in "abc")
ROOT = f"/resource_providers/{A}"
INTRODUCTIONS = {
    400: "The server could not comply with the request since it is either malformed or otherwise incorrect.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    405: "The method PATCH is not allowed for this resource. ",
    406: "The resource could not be generated that was acceptable to your browser (content of type text/plain. ",
    409: "There was a conflict when trying to complete your request.",
    415: "The request media type text/plain is not supported by this server. ",
}
#: A request for each status, and the message proper (None: too long to repeat here).
REFUSED: dict[int, tuple[str, str, Any, dict[str, str], str | None]] = {
    400: ("PUT", "/traits/CUSTOM_%C3%9C", None, {}, None),
    403: ("GET", "/resource_providers", None, {"X-Auth-Token": "user"}, None),
    404: ("GET", f"/resource_providers/{B}", None, {}, f"No resource provider with uuid {B} found"),
    405: ("PATCH", "/traits", None, {}, "The method specified is not allowed for this resource."),
    406: ("GET", "/resource_providers", None, {"Accept": "text/plain"}, "Only application/json is provided"),
    409: ("POST", "/resource_providers", {"name": "a"}, {}, "Conflicting resource provider name: a already exists."),
    415: ("POST", "/resource_providers", None, {"Content-Type": "text/plain"}, None),
}


@pytest.fixture
def secured(database_url: str) -> Any:
    """Asked by an admin, unless told otherwise. There is provider A, with inventory, traits and an allocation."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        ask(service, "POST", "/resource_providers", {"name": "a", "uuid": A})
        body: Any = {"resource_provider_generation": 0, "inventories": {"DISK_GB": {"total": 5}, "VCPU": {"total": 4}}}
        ask(service, "PUT", f"{ROOT}/inventories", body)
        ask(service, "PUT", "/traits/CUSTOM_A")
        body = {"resource_provider_generation": 1, "traits": ["HW_CPU_X86_AVX", "CUSTOM_A"]}
        ask(service, "PUT", f"{ROOT}/traits", body)
        body = {"allocations": {A: {"resources": {"VCPU": 1}}}, "consumer_generation": None}
        body |= {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
        ask(service, "PUT", f"/allocations/{CONSUMER}", body)
        yield service


def ask(
    service: Service, method: str, path: str, body: Any = None, *, version: str = "1.39", **headers: str | None
) -> Any:
    """The answer, whatever its status."""
    given = {"X-Auth-Token": "admin", "OpenStack-API-Version": f"placement {version}", **headers}
    sent = {name: value for name, value in given.items() if value is not None}
    if body is not None:
        sent["Content-Type"] = "application/json"
    client = Client(service.app)
    return client.open(
        "/placement" + path, method=method, headers=sent, data=None if body is None else json.dumps(body)
    )


def refused(service: Service, status: int, *, version: str = "1.39", **headers: str) -> Any:
    method, path, body, others, _ = REFUSED[status]
    response = ask(service, method, path, body, version=version, **{**others, **headers})
    assert response.status_code == status
    return response


def path_of(route: Any) -> str:
    """A path that the route serves, of things that are there."""
    things = {"consumer": CONSUMER, "resource_class": "VCPU", "name": "VCPU" if "class" in route.path else "CUSTOM_A"}
    return re.sub(r"<(\w+)>", lambda match: things.get(match[1], A), route.path)


# -- headers ----------------------------------------------------------------------------------------------------------


def test_every_answer_has_its_request_id_version_and_vary(secured: Service) -> None:
    """Successes and errors; the client's own request id is not taken over."""
    answers = [refused(secured, status) for status in REFUSED]
    answers += [ask(secured, "GET", path_of(route)) for route in ROUTES]
    answers += [ask(secured, "GET", "/nosuch"), ask(secured, "PUT", "/traits/CUSTOM_B")]
    ids = set()
    for response in answers:
        ids.add(response.headers["x-openstack-request-id"])
        assert response.headers["openstack-api-version"] == "placement 1.39"
        assert response.headers["vary"].lower() == "openstack-api-version"
    assert all(re.fullmatch(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", found) for found in ids)
    assert len(ids) == len(answers)
    again = ask(secured, "GET", "/", **{"X-Openstack-Request-Id": "req-mine"})
    assert again.headers["x-openstack-request-id"] not in {"req-mine", *ids}


def test_a_refused_version_is_answered_without_one(secured: Service, subtests: pytest.Subtests) -> None:
    """A 406 says which versions there are: after the request id, and only there."""
    for version, status, message in [
        ("1.40", 406, "Invalid microversion: Unacceptable version header: 1.40"),
        ("0.5", 406, "Invalid microversion: Unacceptable version header: 0.5"),
        ("2.0", 406, "Invalid microversion: Unacceptable version header: 2.0"),
        *(
            (text, 400, f"Invalid microversion: invalid version string: {text}")
            for text in ("LATEST", "1", "pony.horse", "1.2.3")
        ),
    ]:
        with subtests.test(version=version):
            response = ask(secured, "GET", "/resource_providers", version=version)
            assert response.status_code == status
            (error,) = response.json["errors"]
            assert error["detail"].split("\n\n ")[1].rstrip() == message
            span = ["max_version", "min_version"] if status == 406 else []
            assert list(error) == ["status", "title", "detail", "request_id", *span]
            assert [error[name] for name in span] == ["1.39", "1.0"][: len(span)]
            assert not {"vary", "openstack-api-version"} & {name.lower() for name, _ in response.headers}
            assert response.headers["x-openstack-request-id"] == error["request_id"]


def test_last_modified_says_when(secured: Service) -> None:
    """When the row was changed (or made), of several the newest; of what has no such moment: now."""
    start = datetime(2020, 1, 1, tzinfo=UTC)
    ask(secured, "POST", "/resource_providers", {"name": "b", "uuid": B})

    def age(session: Any) -> None:
        def at(days: int) -> datetime:
            return (start + timedelta(days=days)).replace(tzinfo=None)

        session.execute(update(ResourceProvider).values(created_at=at(0), updated_at=None))
        session.execute(update(ResourceProvider).where(ResourceProvider.uuid == A).values(updated_at=at(2)))
        session.execute(update(Inventory).values(created_at=at(3), updated_at=None))
        session.execute(update(Inventory).where(Inventory.total == 4).values(updated_at=at(4)))
        session.execute(update(Trait).values(created_at=at(5)))
        session.execute(update(Trait).where(Trait.name == "CUSTOM_A").values(created_at=at(6)))
        session.execute(update(ResourceClass).values(created_at=at(7), updated_at=None))
        session.execute(update(ResourceClass).where(ResourceClass.name == "VCPU").values(updated_at=at(8)))
        session.execute(update(Allocation).values(created_at=at(9)))

    secured.database.write(age)
    expected = {
        f"/resource_providers/{B}": 0,
        ROOT: 2,
        "/resource_providers": 2,
        "/resource_providers?name=b": 0,
        f"{ROOT}/inventories": 4,
        f"{ROOT}/inventories/DISK_GB": 3,
        f"{ROOT}/traits": 6,
        "/traits": 6,
        "/traits?name=in:HW_CPU_X86_AVX": 5,
        "/traits/CUSTOM_A": 6,
        "/resource_classes": 8,
        "/resource_classes/DISK_GB": 7,
        f"{ROOT}/allocations": 9,
        f"/allocations/{CONSUMER}": 9,
    }
    now = ["/", "/resource_providers?name=none", f"{ROOT}/usages", "/usages?project_id=p", f"{ROOT}/aggregates"]
    now += ["/allocation_candidates?resources=VCPU:1", f"/allocations/{A}", f"/resource_providers/{B}/traits"]
    for path, days in expected.items():
        assert modified(ask(secured, "GET", path)) == start + timedelta(days=days), path
    for path in now:
        assert abs(modified(ask(secured, "GET", path)) - datetime.now(UTC)) < timedelta(minutes=1), path
    assert "last-modified" not in ask(secured, "GET", f"/resource_providers/{B}/inventories").headers


def modified(response: Any) -> datetime:
    assert response.headers["cache-control"] == "no-cache"
    return parsedate_to_datetime(response.headers["last-modified"])


# -- errors -----------------------------------------------------------------------------------------------------------


def test_an_error_begins_with_a_sentence_about_its_status(secured: Service, subtests: pytest.Subtests) -> None:
    """In JSON as in plain text; an end of two blanks is there for some. Exact to the byte."""
    for status in REFUSED:
        with subtests.test(status=status):
            message = REFUSED[status][4]
            end = "" if status in (405, 406, 415) else "  "
            response = refused(secured, status)
            if status == 406:
                detail = response.text.removeprefix("406 Not Acceptable\n\n")
                assert response.content_type == "text/plain; charset=UTF-8"
            else:
                (error,) = response.json["errors"]
                detail = error["detail"]
                code = "placement.duplicate_name" if status == 409 else "placement.undefined_code"
                item = {
                    "status": status,
                    "title": response.status.split(" ", 1)[1].title(),
                    "detail": detail,
                    "code": code,
                }
                item["request_id"] = response.headers["x-openstack-request-id"]
                assert response.data == json.dumps({"errors": [item]}).encode()
                assert response.content_type == "application/json"
            introduction = f"{INTRODUCTIONS[status]}\n\n "
            assert detail.startswith(introduction)
            assert detail.endswith(end)
            if message is not None:
                assert detail == introduction + message + end


def test_codes_begin_with_1_23(secured: Service, subtests: pytest.Subtests) -> None:
    for version in ["1.0", "1.22", "1.23"]:
        with subtests.test(version=version):
            for status in REFUSED.keys() - {400, 405, 406}:
                (error,) = refused(secured, status, version=version).json["errors"]
                assert ("code" in error) == (version == "1.23")


def test_an_error_comes_in_the_form_that_the_client_likes_best(secured: Service, subtests: pytest.Subtests) -> None:
    for accept, form in [
        ("application/json", "json"),
        ("*/*", "json"),
        ("", "json"),
        ("text/html", "html"),
        ("text/*", "html"),
        # On a tie HTML wins, whatever comes first; a better quality decides.
        ("application/json, text/html", "html"),
        ("text/html, application/json", "html"),
        ("application/xml, */*", "html"),
        ("application/json;q=0.5, text/html;q=0.4", "json"),
        ("application/json;q=0.4, text/html;q=0.5", "html"),
        ("application/*", "json"),
        ("text/*;q=0.5, application/json;q=0.5", "html"),
        # A header that is malformed says nothing.
        ("json", "html"),
        ("*", "html"),
        ("application/json;q=2", "html"),
        ("application/json;q=abc", "html"),
        ("application/json, ,text/html;q=0.9,", "json"),
        ('application/json;a="b, c";q=1;x', "plain"),
        ("text/plain", "plain"),
        ("image/png", "plain"),
    ]:
        with subtests.test(accept=accept):
            response = ask(secured, "DELETE", f"/resource_providers/{B}", Accept=accept)
            assert response.status_code == 404
            message = f"No resource provider with uuid {B} found for delete"
            match form:
                case "html":
                    page = (
                        "<html>\n <head>\n  <title>404 Not Found</title>\n </head>\n <body>\n  <h1>404 Not Found</h1>\n"
                    )
                    page += f"  {INTRODUCTIONS[404]}<br /><br />\n{message}\n\n\n </body>\n</html>"
                    assert (response.content_type, response.text) == ("text/html; charset=UTF-8", page)
                case "plain":
                    text = f"404 Not Found\n\n{INTRODUCTIONS[404]}\n\n {message}  "
                    assert (response.content_type, response.text) == ("text/plain; charset=UTF-8", text)
                case _:
                    assert response.json["errors"][0]["detail"] == f"{INTRODUCTIONS[404]}\n\n {message}  "
            without = ask(secured, "GET", "/resource_providers", Accept=accept, **{"X-Auth-Token": None})
            assert without.status_code == 401
            said = "The request you have made requires authentication."
            match form:
                case "html":
                    assert f"<h1>401 Unauthorized</h1>\n  {said}<br />" in without.text
                case "plain":
                    assert without.text.startswith(f"401 Unauthorized\n\n{said}")
                case _:
                    assert without.json == {"message": said, "code": "401 Unauthorized", "title": "Unauthorized"}


def test_a_document_goes_to_who_does_not_exclude_json(secured: Service, subtests: pytest.Subtests) -> None:
    """A malformed header excludes nothing."""
    for accept, status in [
        ("application/json;q=0.001", 200),
        ("application/json;q=0", 406),
        ("*/*;q=0", 406),
        ("json", 200),
        ("*", 200),
    ]:
        with subtests.test(accept=accept):
            assert ask(secured, "GET", ROOT, Accept=accept).status_code == status


def test_a_media_type_is_named_without_parameters(secured: Service, subtests: pytest.Subtests) -> None:
    """It must be JSON to the letter."""
    for content_type, named in [
        ("text/plain; charset=utf-8", "text/plain"),
        ("Application/JSON", "Application/JSON"),
        ("multipart/form-data; boundary=x", "multipart/form-data"),
        (";", "None"),
        (None, "None"),
    ]:
        with subtests.test(content_type=content_type):
            headers = {"Content-Type": content_type} if content_type else {}
            response = ask(secured, "POST", "/resource_providers", **headers)
            assert response.status_code == 415
            detail = response.json["errors"][0]["detail"]
            assert detail.endswith(f"The media type {named} is not supported, use application/json")
            headers = {"Content-Type": "application/json; charset=utf-8"}
            assert ask(secured, "POST", "/resource_providers", **headers).status_code == 400


def test_slashes_at_the_front_are_not_passed_over(secured: Service, subtests: pytest.Subtests) -> None:
    for path in ["//", "//resource_providers", "///traits"]:
        with subtests.test(path=path):
            assert ask(secured, "GET", path).status_code == 404
            assert ask(secured, "GET", path, **{"X-Auth-Token": None}).status_code == 401


def test_an_empty_token_is_that_of_nobody_in_particular(secured: Service) -> None:
    """Who has one may be told that he may not."""
    assert ask(secured, "GET", ROOT, **{"X-Auth-Token": ""}).status_code == 403


def test_markup_in_a_message_is_no_markup(secured: Service) -> None:
    path = "/resource_providers?name=a&%3Cscript%3E=1"
    assert "<" not in ask(secured, "GET", path).json["errors"][0]["detail"].split("Failed")[0]
    assert "<script>" not in ask(secured, "GET", path, Accept="application/json, text/html").text


def test_who_asks_in_another_scope_is_told_the_policy(secured: Service) -> None:
    headers = {"OpenStack-System-Scope": "all", "X-Roles": "admin"}
    response = ask(secured, "GET", "/resource_providers", **headers)
    assert response.status_code == 403
    detail = response.json["errors"][0]["detail"]
    assert detail.startswith(f"{INTRODUCTIONS[403]}\n\n ")
    assert "placement:resource_providers:list" in detail


# -- paths and methods ------------------------------------------------------------------------------------------------


def test_no_head_no_options_and_no_slash_at_the_end(secured: Service, subtests: pytest.Subtests) -> None:
    """HEAD is refused without a body. Only the root has a form with a slash."""
    for path in sorted({path_of(route) for route in ROUTES}):
        with subtests.test(path=path):
            head = ask(secured, "HEAD", path)
            assert (head.status_code, head.data) == (405, b"")
            options = ask(secured, "OPTIONS", path)
            assert options.status_code == 405
            assert options.headers["allow"] == head.headers["allow"]
            assert not {"HEAD", "OPTIONS"} & set(options.headers["allow"].split(", "))
            methods = {route.method for route in ROUTES if path_of(route) == path}
            assert set(options.headers["allow"].split(", ")) == methods
            if path.rstrip("/"):
                assert ask(secured, "GET", f"{path}/").status_code == 404
            else:
                assert ask(secured, "GET", "").data == ask(secured, "GET", "/").data


# -- documents --------------------------------------------------------------------------------------------------------


def test_members_come_in_a_fixed_order(secured: Service) -> None:
    def keys(path: str, *inner: str) -> list[str]:
        document = ask(secured, "GET", path).json
        for name in inner:
            document = document[name]
        return list(document[0] if isinstance(document, list) else document)

    provider = ["uuid", "name", "generation", "links", "parent_provider_uuid", "root_provider_uuid"]
    assert keys(ROOT) == keys("/resource_providers", "resource_providers") == provider
    assert keys(f"{ROOT}/inventories") == ["resource_provider_generation", "inventories"]
    inventory = ["total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio"]
    assert keys(f"{ROOT}/inventories/VCPU") == [*inventory, "resource_provider_generation"]
    assert keys(f"{ROOT}/inventories", "inventories", "VCPU") == inventory
    assert keys(f"{ROOT}/usages") == ["resource_provider_generation", "usages"]
    assert keys(f"{ROOT}/aggregates") == ["aggregates", "resource_provider_generation"]
    assert keys(f"{ROOT}/traits") == ["traits", "resource_provider_generation"]
    assert keys(f"{ROOT}/allocations") == ["allocations", "resource_provider_generation"]
    consumer = ["allocations", "project_id", "user_id", "consumer_generation", "consumer_type"]
    assert keys(f"/allocations/{CONSUMER}") == consumer
    assert keys(f"/allocations/{CONSUMER}", "allocations", A) == ["resources", "generation"]
    assert keys("/usages?project_id=p", "usages", "INSTANCE") == ["VCPU", "consumer_count"]
    assert keys("/resource_classes/VCPU") == ["name", "links"]
    candidates = "/allocation_candidates?resources=VCPU:1"
    assert keys(candidates) == ["allocation_requests", "provider_summaries"]
    assert keys(candidates, "allocation_requests") == ["allocations", "mappings"]
    summary = ["resources", "traits", "parent_provider_uuid", "root_provider_uuid"]
    assert keys(candidates, "provider_summaries", A) == summary
    assert keys("/", "versions") == ["id", "max_version", "min_version", "status", "links"]


def test_lists_come_in_a_fixed_order(secured: Service) -> None:
    """Providers by age; traits and aggregates by name; classes the standard ones first."""
    for name in "zyxb":
        ask(secured, "POST", "/resource_providers", {"name": name})
    for name in ("CUSTOM_Z", "CUSTOM_M"):
        assert ask(secured, "PUT", f"/resource_classes/{name}").status_code == 201
        assert ask(secured, "PUT", f"/traits/{name}").status_code == 201
    body = {"resource_provider_generation": 2, "traits": ["HW_CPU_X86_AVX", "CUSTOM_Z", "CUSTOM_A"]}
    generation = ask(secured, "GET", ROOT).json["generation"]
    ask(secured, "PUT", f"{ROOT}/traits", body | {"resource_provider_generation": generation})
    body = {"resource_provider_generation": generation + 1, "aggregates": [CONSUMER, A, B]}
    assert ask(secured, "PUT", f"{ROOT}/aggregates", body).status_code == 200
    listed = ask(secured, "GET", "/resource_providers").json["resource_providers"]
    assert [row["name"] for row in listed] == ["a", *"zyxb"]
    assert ask(secured, "GET", f"{ROOT}/traits").json["traits"] == ["CUSTOM_A", "CUSTOM_Z", "HW_CPU_X86_AVX"]
    traits = ask(secured, "GET", "/traits").json["traits"]
    assert traits == sorted(traits)
    assert ask(secured, "GET", f"{ROOT}/aggregates").json["aggregates"] == [A, B, CONSUMER]
    classes = [row["name"] for row in ask(secured, "GET", "/resource_classes").json["resource_classes"]]
    assert classes[:2] == ["VCPU", "MEMORY_MB"]
    assert classes[-2:] == ["CUSTOM_Z", "CUSTOM_M"]
    assert list(ask(secured, "GET", f"{ROOT}/inventories").json["inventories"]) == ["VCPU", "DISK_GB"]
    assert list(ask(secured, "GET", f"{ROOT}/usages").json["usages"]) == ["VCPU", "DISK_GB"]
