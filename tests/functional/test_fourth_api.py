"""Another API on the edge that all share: it needs a table of routes, a few views, and its error body."""

from datetime import datetime
from functools import partial
from uuid import UUID

import pytest
from flask import Response
from oslo_policy.policy import RuleDefault
from sqlalchemy import select
from sqlalchemy.orm import Session
from webtest import TestApp
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Chassis
from baremetal_sched.db.paging import Page, SortKey, select_page
from baremetal_sched.documents.fields import Field, Fields
from baremetal_sched.documents.schema import StrictSchema, Text
from baremetal_sched.errors.baremetal import ChassisNotFound
from baremetal_sched.settings import load
from baremetal_sched.web import listing
from baremetal_sched.web.api import Api
from baremetal_sched.web.application import build
from baremetal_sched.web.call import Call
from baremetal_sched.web.http_errors import message_of
from baremetal_sched.web.listing import Filter
from baremetal_sched.web.microversions import Microversions
from baremetal_sched.web.responses import JSON, empty_response, json_response
from baremetal_sched.web.route import Route
from baremetal_sched.web.view import Resource, View
from tests.service import Service


# Some twenty statements: an API with microversions, a list, a thing, a form, and errors that look like no other's.
class Form(StrictSchema):
    description = Text(required=True, longest=255)


FIELDS = Fields(Field("uuid"), Field("description", since=3))
SHELVES = Resource(
    path="shelves", plural="shelves", model=Chassis, fields=FIELDS, list_default=("uuid",), view=View,
    missing=lambda key: ChassisNotFound(chassis=key), sort_columns={"description": Chassis.description},
)  # fmt: skip


def list_shelves(call: Call, session: Session) -> Response:
    return listing.list_all(call, session, SHELVES, filters=[Filter("about", Chassis.description.startswith, since=3)])


def create_shelf(call: Call, session: Session) -> Response:
    session.add(Chassis(uuid=str(UUID(int=9)), created_at=utcnow(), **call.load(Form(), "shelf")))
    return empty_response(201)


def show_shelf(call: Call, session: Session, key: str) -> Response:
    return listing.show(call, session, SHELVES, key)


class Library(Api):
    name = "library"
    versions = Microversions("library", 4, 1, 3, legacy_header="X-Library-Version")
    rules = (RuleDefault("library:read", "@"), RuleDefault("library:write", "role:librarian"))
    routes = (
        Route(
            "GET", "/v4/hours", lambda call, session: json_response({"open": "always"}), transaction=None, public=True
        ),
        Route("GET", "/v4/shelves", list_shelves, policy="library:read"),
        Route(
            "POST", "/v4/shelves", create_shelf, 2, "write", policy="library:write", takes=(JSON,), largest_body=500_000
        ),
        Route("GET", "/v4/shelves/<key>", show_shelf, 2, policy="library:read"),
    )

    def error_body(self, call: Call, error: Exception, status: int) -> Response:
        return json_response({"sorry": {"code": status, "why": message_of(error)}}, status)


@pytest.fixture
def library(service: Service) -> TestApp:
    def add(session: Session) -> None:
        for number in range(1, 6):
            session.add(Chassis(uuid=str(UUID(int=number)), description=f"shelf {number % 2}", created_at=utcnow()))

    service.database.write(add)
    limits = {"max_limit": 4, "max_json_body_size": 2000}
    settings = load(overrides={"database": {"connection": service.database_url}, "api": limits})
    return TestApp(DispatcherMiddleware(service.app, {"/library": build(Library(settings), service.database)}))


def at(version: str) -> dict[str, str]:
    return {"OpenStack-API-Version": f"library {version}"}


def numbers(documents: list[dict[str, str]]) -> list[int]:
    return [UUID(each["uuid"]).int for each in documents]


def test_a_list_goes_on_where_its_link_says(library: TestApp) -> None:
    found, url = [], "/library/v4/shelves?limit=2&sort_key=description&sort_dir=desc"
    while url:
        page = library.get(url, headers=at("4.3")).json
        found.append(numbers(page["shelves"]))
        url = next((link["href"].removeprefix("http://localhost:80") for link in page.get("shelves_links", [])), "")
    assert found == [[5, 3], [1, 4], [2]]


def test_pages_by_several_keys_have_everything_once(service: Service, subtests: pytest.Subtests) -> None:
    """With equal values and without any (which come first), on every page size."""
    shelves = [(n, text, n % 4) for n, text in enumerate(["b", None, "a", "a", None, "b", "a", None], start=1)]
    columns = {"text": Chassis.description, "day": Chassis.created_at}

    def add(session: Session) -> None:
        for number, text, day in shelves:
            moment = datetime(2026, 1, 1 + day)
            session.add(Chassis(uuid=str(UUID(int=number)), description=text, created_at=moment))

    def walk(session: Session, limit: int, sort: list[SortKey]) -> list[str]:
        found: list[str] = []
        while len(found) <= len(shelves):
            page = Page(limit, found[-1] if found else None, sort, columns)
            rows = select_page(session, select(Chassis.uuid), Chassis, page, SHELVES.missing)
            found += [uuid for (uuid,) in rows]
            if len(rows) < limit:
                break
        return found

    service.database.write(add)
    for order in ["asc asc", "asc desc", "desc asc", "desc desc"]:
        with subtests.test(order=order):
            by_text, by_day = (direction == "desc" for direction in order.split())
            sort = [SortKey("text", by_text), SortKey("day", by_day)]
            expected = sorted(shelves, key=lambda shelf: shelf[0], reverse=by_day)
            expected.sort(key=lambda shelf: shelf[2], reverse=by_day)
            expected.sort(key=lambda shelf: shelf[1] or "", reverse=by_text)

            for limit in (1, 2, 3, 100):
                found = service.database.read(partial(walk, limit=limit, sort=sort))
                assert [UUID(uuid).int for uuid in found] == [number for number, _, _ in expected]


def test_filters_order_and_fields_have_their_microversions(library: TestApp) -> None:
    page = library.get("/library/v4/shelves?about=shelf 0", headers=at("latest")).json
    assert page == {"shelves": [{"uuid": str(UUID(int=n)), "description": "shelf 0"} for n in (2, 4)]}
    assert list(library.get("/library/v4/shelves").json["shelves"][0]) == ["uuid"]
    for parameter in ("about=shelf 0", "sort_key=description"):
        answer = library.get(f"/library/v4/shelves?{parameter}", headers=at("4.2"), status=406)
        assert answer.json["sorry"]["why"].endswith("should be 4.3")


def test_what_a_list_does_not_take_is_refused(library: TestApp, subtests: pytest.Subtests) -> None:
    for query, why in [
        ("shelf=1", "Unexpected arguments: shelf"),
        ("limit=0", "Expected an integer of at least 1 for limit: 0"),
        ("limit=1&limit=2", "Expected one value for limit: ['1', '2']"),
        ("sort_key=uuid", 'The sort_key value "uuid" is an invalid field for sorting.'),
        ("sort_dir=up", "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'"),
        ("sort_key=description&sort_dir=asc&sort_dir=asc", "There are 2 of sort_dir, but 1 of sort_key."),
    ]:
        with subtests.test(query=query):
            answer = library.get(f"/library/v4/shelves?{query}", headers=at("4.3"), status=400)
            assert answer.json == {"sorry": {"code": 400, "why": why}}


def test_pages_are_as_large_as_the_settings_allow(library: TestApp) -> None:
    page = library.get("/library/v4/shelves?limit=100").json
    assert numbers(page["shelves"]) == [1, 2, 3, 4]
    assert page["shelves_links"][0]["href"].endswith(f"/library/v4/shelves?limit=100&marker={UUID(int=4)}")
    library.get("/library/v4/shelves?marker=nosuch", status=404)


def test_a_route_is_there_from_its_microversion_on(library: TestApp) -> None:
    one = f"/library/v4/shelves/{UUID(int=1)}"
    library.get(one, headers=at("4.1"), status=404)
    assert library.get(one, headers={"X-Library-Version": "4.2"}).json == {"uuid": str(UUID(int=1))}
    assert library.get(f"{one}?fields=description", headers=at("4.3")).json["description"] == "shelf 1"
    library.get("/library/v4/shelves/nosuch", headers=at("4.2"), status=404)


def test_microversions_that_are_not_served(library: TestApp, subtests: pytest.Subtests) -> None:
    for asked, status in [("4.4", 406), ("5.1", 406), ("4", 400), ("4.01", 400), ("4." + "1" * 5000, 400)]:
        with subtests.test(asked=asked):
            answer = library.get("/library/v4/shelves", headers=at(asked), status=status)
            assert answer.json["sorry"]["code"] == status
            assert "OpenStack-API-Version" not in answer.headers


def test_answers_say_their_version_and_request(library: TestApp) -> None:
    headers = library.get("/library/v4/shelves", headers=at("4.2")).headers
    assert headers["OpenStack-API-Version"] == "library 4.2"
    assert headers["X-Library-Version"] == "4.2"
    assert headers.getall("Vary") == ["OpenStack-API-Version", "X-Library-Version"]
    assert headers["X-OpenStack-Request-Id"].startswith("req-")


def test_bodies_are_checked_by_their_schema(library: TestApp, subtests: pytest.Subtests) -> None:
    for body, why in [
        ("{", "The body of the request is not JSON"),
        ("{}", "Schema error for shelf: 'description': Missing data for required field."),
        ('{"description": "x", "colour": 1}', "Schema error for shelf: 'colour': Additional properties"),
        ('{"description": "' + "x" * 400_000 + '"}', "is too long"),
        ('{"description": "' + "x" * 600_000 + '"}', "at most 500000 bytes"),
    ]:
        with subtests.test(body=body):
            answer = library.post("/library/v4/shelves", body, content_type=JSON, headers=at("4.2"), status="4*")
            assert why in answer.json["sorry"]["why"]


def test_what_is_sent_is_stored(library: TestApp) -> None:
    library.post_json("/library/v4/shelves", {"description": "new"}, headers=at("4.2"), status=201)
    assert library.get(f"/library/v4/shelves/{UUID(int=9)}", headers=at("4.3")).json["description"] == "new"
    library.post("/library/v4/shelves", "{}", content_type="text/plain", headers=at("4.2"), status=415)


def test_unknown_paths_and_methods(library: TestApp) -> None:
    library.get("/library/v4/books", status=404)
    answer = library.put("/library/v4/shelves", status=405)
    assert answer.headers["Allow"] == "GET, POST"


def test_callers_are_authenticated_except_on_public_routes(service: Service) -> None:
    settings = load(overrides={"database": {"connection": service.database_url}, "api": {"auth_strategy": "noauth2"}})
    library = TestApp(build(Library(settings), service.database))
    library.get("/v4/hours")
    assert library.get("/v4/shelves", status=401).json["sorry"]["code"] == 401
    ann = {"X-Auth-Token": "ann", "OpenStack-API-Version": "library 4.3"}
    library.get("/v4/shelves", headers=ann)
    library.post_json("/v4/shelves", {"description": "hers"}, headers=ann, status=403)
    library.post_json("/v4/shelves", {"description": "hers"}, headers={**ann, "X-Roles": "librarian"})
    # As for a page of another site, whose browser asks first; and unknown paths tell a stranger nothing.
    library.options("/v4/shelves", status=405)
    library.get("/v4/nothing", status=401)
    library.post("/v4/hours", status=405)
    library.post("/v4/shelves", status=401)


def test_a_route_that_says_nothing_of_who_may_use_it_is_not_served(service: Service) -> None:
    class Careless(Library):
        routes = (*Library.routes, Route("DELETE", "/v4/shelves/<key>", show_shelf))

    settings = load(overrides={"database": {"connection": service.database_url}})
    with pytest.raises(ValueError, match="name no policy and are not public: DELETE /v4/shelves/<key>"):
        build(Careless(settings), service.database)
