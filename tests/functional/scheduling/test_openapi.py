"""The OpenAPI document of the scheduling API, and that each of its answers is one that is really given."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from baremetal_sched.baremetal.schemas.allocations import ALLOCATION_CREATE
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import ConflictError, DatabaseAway, InvalidValue
from baremetal_sched.errors.baremetal import NodeLocked, NodeNotFound, SuitableNodesLocked
from baremetal_sched.errors.compute import FlavorNotFound
from baremetal_sched.errors.scheduling import NothingFree
from baremetal_sched.errors.webhooks import WebhookNotFound
from baremetal_sched.scheduling.api.openapi import document, show_root
from baremetal_sched.scheduling.api.routes import ROUTES
from baremetal_sched.scheduling.schemas.explanations import ALLOCATION, ASKED
from baremetal_sched.web.authentication import password_checks
from baremetal_sched.web.operation import Operation
from baremetal_sched.web.route import Route
from tests import named_errors, openapi
from tests.functional.test_http_basic import basic, hashed
from tests.service import Service

ADMIN = {"X-Auth-Token": "admin", "X-Roles": "admin", "OpenStack-System-Scope": "all"}

CLAIM = "b2f1c0de-0000-4000-8000-000000000001"

#: What makes a request one that is understood, where it is not any.
QUERIES = dict.fromkeys(("/v1/explanations", "/v1/explanations/nodes/{node}"), "resources=CUSTOM_GOLD:1")

#: How each error is provoked: what the request has instead of what it should have.
ERRORS: Mapping[int, Mapping[str, Any]] = {
    400: {"query": "nosuch=1"},
    401: {"headers": {}},
    403: {"headers": {"X-Auth-Token": "u:p", "X-Roles": "guest"}},
    404: dict.fromkeys(("node", "claim", "booking", "hold", "domain", "webhook"), "nosuch"),
    415: {"media_type": "text/plain"},
    503: {},
}
#: Too many failed log-ins have a test of their own, and so has each conflict.
ELSEWHERE = {409, 429}
#: What these are answered with depends on others: see the tests of each.
OF_CLAIMS = {200, 201, 202, 204, 410}
OTHERS = ("/claims", "/bookings", "/holds", "/domains", "/events", "/webhooks")

#: How callers are authenticated, by strategy.
SCHEMES = {
    "none": None,
    "noauth2": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"},
    "http_basic": {"type": "http", "scheme": "basic"},
}


def send(
    service: Service,
    method: str,
    path: str,
    *,
    node: str = "n1",
    claim: str = CLAIM,
    booking: str = CLAIM,
    hold: str = CLAIM,
    domain: str = CLAIM,
    webhook: str = CLAIM,
    query: str | None = None,
    media_type: str = "application/json",
    headers: Mapping[str, str] = MappingProxyType(ADMIN),
) -> int:
    """Return the status of a request to the operation."""
    query = QUERIES.get(path, "") if query is None and method == "GET" else query or ""
    body = b"" if method != "POST" else b'{"flavor": {"vcpus": 1, "extra_specs": {"resources:CUSTOM_GOLD": "1"}}}'
    if (method, path) == ("POST", "/v1/claims"):
        body = json.dumps({"query": "resources=CUSTOM_GOLD:1", "consumer": {"uuid": CLAIM}}).encode()
    if booking != CLAIM and path in ("/v1/claims", "/v1/explanations"):  # one that does not exist
        body = json.dumps({"query": "resources=CUSTOM_GOLD:1", "booking": CLAIM}).encode()
    if (method, path) == ("POST", "/v1/bookings"):
        body = json.dumps({"query": "resources=CUSTOM_GOLD:1", "for": 3600}).encode()
    if path.endswith("/holds"):
        body = json.dumps({"type": "window", **({} if "{node}" in path else {"filter": {"nodes": [node]}})}).encode()
    if method == "PATCH":
        body = b'{"until": null}' if "{claim}" in path else b'{"name": "r1"}'
    filled = path.format(node=node, claim=claim, booking=booking, hold=hold, domain=domain, webhook=webhook)
    url = f"/scheduling{filled}?{query}"
    more = {**headers, "Content-Type": media_type}
    status: int = service.http.request(url, method=method, headers=more, body=body, expect_errors=True).status_int
    return status


def test_a_validator_accepts_it() -> None:
    OpenAPIV31SpecValidator(openapi.DOCUMENT).validate()


def test_every_route_is_described() -> None:
    new = Route("GET", "/v1/new", show_root, transaction=None, public=True)
    with pytest.raises(LookupError, match="GET /v1/new has no operation"):
        document([*ROUTES, new])


def test_reasons_are_the_errors_of_the_route() -> None:
    errors = (WebhookNotFound, NodeNotFound, NothingFree, FlavorNotFound)
    statuses = {FlavorNotFound: 400}
    route = Route(
        "GET", "/v1/new", show_root, errors=errors, statuses=statuses, operation=Operation("new", "New", None)
    )
    responses = document([route])["paths"]["/v1/new"]["get"]["responses"]
    assert responses["404"]["description"] == "There is no webhook {webhook}.\nNode {node} could not be found."
    assert responses["409"]["description"] == "No machine fits now, and the request does not wait."
    assert list(responses) == ["204", "400", "401", "403", "404", "409", "429", "503", "default"]


def test_an_error_without_name_is_noticed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    route = Route("GET", "/v1/new", show_root, errors=(NodeLocked, ConflictError))
    named = (NodeLocked(node="n", host="c"), SuitableNodesLocked(count=1), InvalidValue(message="wrong"))
    assert [each for each in named if not named_errors.is_named(route, each)] == []
    others = (NodeNotFound(node="n"), NothingFree(reason="No."), ZeroDivisionError())
    assert [each for each in others if named_errors.is_named(route, each)] == []
    monkeypatch.setattr(named_errors, "COMMON_ERRORS", ())
    service.http.get("/scheduling/v1/groups?nosuch=1", status=400)
    (found,) = named_errors.FOUND
    assert found.startswith("GET /v1/groups does not name InvalidValue: ")
    named_errors.FOUND.clear()


def test_allocations_are_described() -> None:
    assert set(ALLOCATION["properties"]) == {*ALLOCATION_CREATE.fields, *ASKED} - {"node"}


@pytest.mark.sqlite_only
def test_anyone_may_read_it(database_url: str, tmp_path: Path, subtests: pytest.Subtests) -> None:
    for strategy in SCHEMES:
        with subtests.test(strategy=strategy), service_with(strategy, database_url, tmp_path) as service:
            (version,) = service.http.get("/scheduling/v1").json["versions"]
            links = {link["rel"]: link["href"] for link in version["links"]}
            with service.statements() as statements:
                found = service.http.get(links["service-desc"]).json
            assert statements == []
            OpenAPIV31SpecValidator(found).validate()
            assert found["servers"] == [{"url": "http://localhost/scheduling"}]
            assert links["self"] == f"{found['servers'][0]['url']}/v1"
            scheme = SCHEMES[strategy]
            assert found["components"].get("securitySchemes", {}).get("caller") == scheme
            assert (found.get("security") == [{"caller": []}]) == (scheme is not None)
            public = {path for path, methods in found["paths"].items() if methods.get("get", {}).get("security") == []}
            assert public == {"/", "/v1", "/v1/openapi.json"}


@pytest.mark.sqlite_only
def test_too_many_failed_logins(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_checks, "SECONDS_EACH", 3600)
    with service_with("http_basic", database_url, tmp_path) as service:
        for number in range(password_checks.FAILURES):
            assert send(service, "GET", "/v1/capacity", headers=basic("root", f"wrong {number}")) == 401
        for method, path, operation in openapi.operations():
            expected = 429 if "429" in operation["responses"] else 200
            # One that is known to be wrong is not counted.
            headers = basic("root", f"wrong {method} {path}")
            assert send(service, method, path, headers=headers) == expected, (method, path)


def service_with(strategy: str, database_url: str, folder: Path) -> Service:
    """The service, whose callers are authenticated so."""
    users = folder / "users"
    users.write_text(f"root:{hashed('toor')}\n")
    return Service(database_url, DEFAULT={"http_basic_auth_user_file": str(users)}, api={"auth_strategy": strategy})


def test_what_is_refused(service: Service) -> None:
    answer = service.http.get("/scheduling/v1/openapi.json?format=yaml", status=400)
    assert "Unexpected arguments: format" in answer.json["error"]["message"]
    assert service.http.post("/scheduling/v1/openapi.json", status=405).headers["Allow"] == "GET"


@pytest.fixture
def secured(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        yield service


@pytest.mark.sqlite_only
def test_every_status_is_answered(
    secured: Service, monkeypatch: pytest.MonkeyPatch, described: set[tuple[str, str, int]]
) -> None:
    """Everything that the document describes is compared with it."""
    for method, path, operation in openapi.operations():
        for status in {int(code) for code in operation["responses"] if code != "default"} - ELSEWHERE:
            if status in OF_CLAIMS and any(each in path for each in OTHERS):
                continue
            with monkeypatch.context() as patch:
                if status == 503:
                    let_the_database_fail(patch)
                # The policy of one node is its own: without it there is no such node.
                expected = 404 if status == 403 and "{node}" in path else status
                how = ERRORS.get(status, {})
                assert send(secured, method, path, **how) == expected, (method, path)
                assert (
                    method,
                    path.format(**{"node": "n1", **dict.fromkeys(ERRORS[404].keys() - {"node"}, CLAIM), **how}),
                    expected,
                ) in described


def let_the_database_fail(patch: pytest.MonkeyPatch) -> None:
    """No transaction is begun."""

    def fail(*arguments: Any, **named: Any) -> None:
        raise DatabaseAway

    for name in ("read", "select", "write"):
        patch.setattr(Database, name, fail)


def test_what_is_not_described_is_noticed() -> None:
    error = {"error": {"status": 404, "message": "m"}}
    assert openapi.complaints(error, openapi.ERROR) == []
    assert openapi.complaints({**error, "more": 1}, openapi.ERROR)
    assert openapi.complaints({"error": {"status": 404}}, openapi.ERROR)
    capacity: Callable[..., list[str]] = lambda **more: openapi.complaints(  # noqa: E731
        {"capacity": [{"total": 1, "free": 1, "allocated": 0, "unavailable": {}, "held": [], **more}]},
        {"$ref": "#/components/schemas/Capacity"},
    )
    assert capacity(**{"trait:CUSTOM_A": True, "owner": None}) == []
    assert capacity(other=1)
    assert capacity(total=-1)
