# tier: ci
"""Requests that are made up, to every route of every API, at each edge of its microversions.

Whatever is asked, the answer is one that the reference describes, in the format of its API; and never a 500.
FUZZ_EXAMPLES says how many requests a route gets; where it is given, they are others each time. On the databases of
servers it gets fewer by default: what a database refuses in its own way, ``test_worlds.py`` asks of all.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from webtest import TestResponse

from baremetal_sched.compute.api import call
from baremetal_sched.web.microversions import STANDARD_HEADER
from baremetal_sched.web.route import Route
from tests.built_once import built_once
from tests.functional.fuzz import fleet
from tests.functional.fuzz.requests import Request, edges, requests
from tests.reference import MICROVERSIONS, ROUTES, Method, page_of
from tests.service import Service

#: How many requests a route gets, on SQLite and on others.
EXAMPLES = {is_file: int(os.environ.get("FUZZ_EXAMPLES", few)) for is_file, few in ((True, "8"), (False, "2"))}

#: What every route may be answered with: a microversion that has not got it, a method or a path that is none then.
ALWAYS = {400, 404, 405, 406}
#: Routes for which random input is hardly ever meaningful.
SELDOM_RIGHT = {
    "allocation_candidates",
    "events",
    "explanations",
    "node_explanations",
    "provision",
    "requests",
    "reshaper",
    "server_actions",
}
#: The first and the last microversion of each API; 0 without any.
VERSIONS = {
    api: (versions.minimum, versions.maximum) if versions else (0, 0) for api, versions in MICROVERSIONS.items()
}


def resource_of(api: str, route: Route) -> str:
    """Return what the page is called that describes the route."""
    return page_of(api, route).name


def _described() -> Iterator[tuple[str, Route, Method]]:
    for api, route in ROUTES:
        section = page_of(api, route).section(route)
        if section is not None:
            yield api, route, section


DESCRIBED = [*_described()]
RESOURCES = sorted({(api, resource_of(api, route)) for api, route, _ in DESCRIBED})


@pytest.mark.parametrize(("api", "resource"), RESOURCES, ids=["-".join(each) for each in RESOURCES])
def test_answers_are_those_described(service: Service, api: str, resource: str) -> None:
    routes = [
        (route, section) for each, route, section in DESCRIBED if (each, resource_of(each, route)) == (api, resource)
    ]
    words = built_once(service, fleet.build)
    seen: Counter[int] = Counter()
    each = EXAMPLES[service.database.engine.dialect.name == "sqlite"]

    @settings(
        max_examples=max(each * len(routes), 4 * each),
        deadline=None,
        derandomize="FUZZ_EXAMPLES" not in os.environ,
        database=None,
        # What a request finds depends on those before it: it cannot be made smaller afterwards.
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        route, section = data.draw(st.sampled_from(routes))
        request = data.draw(requests(api, route, edges(route, section, *VERSIONS[api]), words))
        response = send(service, api, request)
        seen[response.status_code] += 1
        assert response.status_code in section.statuses | ALWAYS, f"{request} -> {response.status}: {response.text}"
        assert_format(api, response, request)

    ask()
    assert sum(seen.values()) >= each * len(routes) / 2
    assert each < 8 or resource in SELDOM_RIGHT or any(status < 400 for status in seen), seen


def send(service: Service, api: str, request: Request, headers: Mapping[str, str] | None = None) -> TestResponse:
    versions = MICROVERSIONS[api]
    asked = f"{versions.service_type} {versions.text(request.version)}" if versions else None
    version = {STANDARD_HEADER: asked} if asked else {"Accept": "application/json"}
    return service.http.request(
        f"/{api}{request.path}?{request.query}",
        method=request.method,
        headers={**version, "Content-Type": _media_type(api, request), **(headers or {})},
        body=request.body or b"",
        expect_errors=True,
    )


def _media_type(api: str, request: Request) -> str:
    if api == "image" and request.method == "PATCH":
        return "application/openstack-images-v2.1-json-patch"
    return "application/octet-stream" if api == "image" and request.path.endswith("/file") else "application/json"


def assert_format(api: str, response: TestResponse, request: Request) -> None:
    """JSON, if anything; an error as its API writes it."""
    if not response.body:
        assert response.status_code in (200, 201, 202, 204), request
        return
    document = json.loads(response.body)
    if response.status_code < 400:
        return
    if api == "placement":
        (error,) = document["errors"]
        assert error["status"] == response.status_code, request
        assert error["detail"], request
    elif api == "compute":
        ((name, error),) = document.items()
        assert name == call.NAMES.get(response.status_code, call.FAULT), request
        assert error["code"] == response.status_code, request
        assert error["message"], request
    elif api == "image":
        assert document["code"].startswith(str(response.status_code)), request
        assert document["message"], request
    elif api == "baremetal":
        message = json.loads(document["error_message"])
        assert message.get("faultstring") or message.get("title"), request
    else:
        assert document["error"]["status"] == response.status_code, request
        assert document["error"]["message"], request
