"""Worlds that are large, deep and full, and requests that go to their edges.

None is answered with 5xx (503 is: it says when to try again), no list breaks by what was stored, and the audit finds
nothing. ``python -m tests.functional.fuzz --seconds 1800`` does the same over HTTP, and watches the service's memory.
"""

import json
import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st

from tests.functional.fuzz import checks
from tests.functional.fuzz.all_attacks import all_kinds
from tests.functional.fuzz.headers import hostile_headers
from tests.functional.fuzz.requests import Request
from tests.functional.fuzz.wire import usual_headers
from tests.functional.fuzz.worlds import SMALL, World
from tests.service import Service

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "8"))


def call(service: Service, api: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """``worlds.Call``, in process."""
    path, _, query = path.partition("?")
    encoded = b"" if body is None else json.dumps(body).encode()
    response = send(
        service, api, Request(method, path, query, {"baremetal": 115, "placement": 39}.get(api, 0), encoded)
    )
    return response.status_code, response.json if "json" in (response.content_type or "") else response.text


def send(service: Service, api: str, request: Request) -> Any:
    headers = {
        name: value.encode("utf-8", "surrogatepass").decode("latin-1")
        for name, value in usual_headers(api, request).items()
    }
    return service.http.request(
        f"/{api}{request.path}?{request.query}",
        method=request.method,
        headers=headers,
        body=request.body or b"",
        expect_errors=True,
    )


@pytest.fixture
def fuzzed(database_url: str) -> Any:
    """The service with room for the deepest documents, behind a proxy that it believes."""
    overrides = {"api": {"max_json_body_depth": 100}, "oslo_middleware": {"enable_proxy_headers_parsing": True}}
    with Service(database_url, **overrides) as service:
        service.add_conductor("c1")
        yield service


def test_the_edges_of_a_full_world(fuzzed: Service) -> None:
    service, world = fuzzed, World(SMALL)

    def ask_for(*arguments: Any) -> tuple[int, Any]:
        return call(service, *arguments)

    for step in (world.restore, world.provision, world.claim):
        step(ask_for)
        service.work()
    kinds = all_kinds(world, world.words(ask_for), world.generations(ask_for))
    accepted: Counter[str] = Counter()

    @settings(
        max_examples=max(EXAMPLES * len(kinds), 30),
        deadline=None,
        derandomize="FUZZ_EXAMPLES" not in os.environ,
        database=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from(sorted(kinds)))
        api, request = data.draw(st.composite(kinds[kind])())
        if data.draw(st.integers(0, 5)) == 0:
            request = Request(**{**vars(request), "headers": data.draw(hostile_headers())})
        response = send(service, api, request)
        accepted[kind] += response.status_code < 400
        assert response.status_code < 500 or response.status_code == 503, f"{kind}: {request} -> {response.text}"
        if data.draw(st.integers(0, 9)) == 0:
            service.work()

    ask()
    service.work()
    assert checks.damage(service.database) == []
    assert checks.broken_lists(ask_for, world.nodes, world.chain[-2:] + world.children[1::2]) == []
    assert sum(accepted.values()) > 20, "what is never accepted tests little"
