"""A walk over every route of every API: a tenant asks for what another one has, and writes to it.

The other's words, ids and names are in no answer, unless the request had them; the other's rows stay as they are.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor
from baremetal_sched.web.route import Route
from tests.functional.fuzz.requests import Request, requests
from tests.functional.fuzz.test_every_route import DESCRIBED, RESOURCES, VERSIONS, resource_of, send
from tests.functional.fuzz.words import Words
from tests.functional.tenants import estate, rows
from tests.functional.tenants.estate import Estate
from tests.functional.tenants.people import BLUE, RED, headers, roles
from tests.reference import Method
from tests.service import Service

#: Requests to each route, for each role.
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))


@dataclass
class Town:
    """The service, and what its two tenants have."""

    service: Service
    red: Estate
    blue: Estate


@pytest.fixture(scope="module")
def built(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Estate, Estate]:
    """A SQLite file with two tenants in it."""
    path = tmp_path_factory.mktemp("town") / "town.sqlite"
    path.touch(mode=0o600)
    path.write_bytes(sqlite_template.read_bytes())
    with _serving(path) as service:
        service.add_conductor("c1")
        estates = [estate.build(service, project, number) for number, project in enumerate((RED, BLUE))]
        # The conductor does not die meanwhile.
        service.database.write(lambda session: session.execute(update(Conductor).values(heartbeat_at=epoch() + 86400)))
        with service.database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return path, *estates


@pytest.fixture
def town(built: tuple[Path, Estate, Estate], tmp_path: Path) -> Iterator[Town]:
    """Two tenants, each with a little of everything."""
    template, red, blue = built
    path = tmp_path / "town.sqlite"
    path.touch(mode=0o600)
    path.write_bytes(template.read_bytes())
    with _serving(path) as service:
        yield Town(service, red, blue)


def _serving(path: Path) -> Service:
    return Service(f"sqlite:///{path}", api={"auth_strategy": "noauth2"})


@pytest.mark.slow
@pytest.mark.parametrize(("api", "resource"), RESOURCES, ids=["-".join(each) for each in RESOURCES])
def test_tenants_do_not_meet(town: Town, api: str, resource: str) -> None:
    routes = [
        (route, section) for each, route, section in DESCRIBED if (each, resource_of(each, route)) == (api, resource)
    ]
    words = _words(town.blue)
    for role in roles(api):
        for route, _ in routes:
            _ask(town, api, role, _plain(route, words, VERSIONS[api][1]))
        _ask_at_random(town, api, role, routes, words)


def _words(other: Estate) -> Words:
    things, project = other.things, other.project
    same = (
        (things["nodes"], ("node", "node_uuid", "candidate_nodes", "parent_node", "uuid", "in_tree")),
        ([*things["nodes"], *things["allocations"]], ("resource_providers", "allocations", "consumers")),
        ([*things["nodes"], *things["servers"], *things["images"]], ("marker",)),
        ([project], ("owner", "lessee", "project", "project_id", "member", "members", "tenant_id")),
        ([f"{project}-flavor"], ("flavors", "flavorRef")),
        (things["events"], ("history",)),
        (things["images"], ("imageRef",)),
        ([other.words[0]], ("os-keypairs",)),
        ([f"{project}-class"], ("resource_class",)),
        ([f"CUSTOM_{project.upper()}_CLASS:1"], ("resources",)),
        (["fake-hardware"], ("driver",)),
        (["HW_CPU_X86_VMX"], ("traits",)),
        (["10"], ("limit",)),
    )
    known = {**things, **{name: list(names) for names, places in same for name in places}}
    return Words(known)


def _plain(route: Route, words: Words, latest: int) -> Request:
    """Return the request to ``route`` that names the first that there is of everything, with no more than that."""
    parts = route.path.split("/")
    for index, part in enumerate(parts):
        if part.startswith("<"):
            parts[index] = words.known.get(parts[index - 1], ["x"])[0]
    version = latest if route.until is None else route.until
    return Request(route.method, "/".join(parts), "", version, None if route.method in ("GET", "DELETE") else b"{}")


def _ask_at_random(town: Town, api: str, role: str, routes: list[tuple[Route, Method]], words: Words) -> None:
    @settings(
        max_examples=EXAMPLES * len(routes),
        deadline=None,
        derandomize="FUZZ_EXAMPLES" not in os.environ,
        database=None,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        route, _ = data.draw(st.sampled_from(routes))
        _ask(town, api, role, data.draw(requests(api, route, [VERSIONS[api][1]], words)))

    ask()


def _ask(town: Town, api: str, role: str, request: Request) -> None:
    """Send it as the first tenant; nothing of the second one may be in the answer, or be changed."""
    writes = request.method != "GET"
    before = rows.snapshot(town.service.database) if writes else {}
    answer = send(town.service, api, request, headers(RED, role))
    said = f"{answer.text} {dict(answer.headers)}"
    asked = f"{request.path} {request.query} {request.body!r}"
    told = {secret for secret in town.blue.secrets() if secret in said and secret not in asked}
    assert not told, f"{role}: {request} -> {answer.status}: {told} is in {said}"
    if writes and answer.status_code < 400:
        keys = rows.of_tenant(before, town.blue.secrets() | {town.blue.project})
        broken = rows.changed(before, rows.snapshot(town.service.database), keys)
        assert not broken, f"{role}: {request} -> {answer.status}: {broken}"


def test_the_walk_would_notice(town: Town) -> None:
    """The answers to the second tenant contain everything that is planted, so the walk would see it; and it changes its
    own rows."""
    node = town.blue.things["nodes"][0]
    for path in (f"/nodes/{node}", "/nodes/detail", "/ports/detail", f"/nodes/{node}/history", "/runbooks?detail=true"):
        answer = town.service.baremetal("GET", path, headers=dict(headers(BLUE, "reader")))
        assert town.blue.words[0] in answer.text, path
    before = rows.snapshot(town.service.database)
    keys = rows.of_tenant(before, town.blue.secrets() | {town.blue.project})
    patch = [{"op": "add", "path": "/extra/a", "value": 1}]
    town.service.baremetal("PATCH", f"/nodes/{node}", patch, headers=dict(headers(BLUE, "member")))
    assert rows.changed(before, rows.snapshot(town.service.database), keys)
    assert not any(key in rows.of_tenant(before, town.red.secrets()) for key in keys)
