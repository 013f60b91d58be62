"""Twelve users of a password file, by role and by what they are to a tenant, ask every route about what it has, and
write to all of it: they see and change what the table in the guide for tenants says, and nothing else.
"""

import base64
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Conductor
from baremetal_sched.web.authentication import password_file
from tests.functional.fuzz.requests import Request, requests
from tests.functional.fuzz.test_every_route import DESCRIBED, VERSIONS, send
from tests.functional.fuzz.words import Words
from tests.functional.tenants import estate, rows
from tests.functional.tenants.estate import Estate
from tests.functional.tenants.people import BLUE, RED, SYSTEM, headers
from tests.functional.tenants.test_isolation import _plain, _words
from tests.service import Service

#: Made-up requests to each route, for each caller.
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "1"))

#: Who is in the file, with their roles. The tenant is blue; it leases a node of violet, and green leases one of it.
ROLES = {
    "root": "{roles: [admin], system_scope: all}",
    "nova": "{roles: [service], project_id: services}",
    **{
        f"{project}-{role}": f"{{roles: [{role}], project_id: {project}}}"
        for project in (RED, BLUE)
        for role in ("admin", "manager", "member", "reader")
    },
    "owner": "{roles: [member], project_id: violet}",
    "lessee": "{roles: [manager], project_id: green}",
    "none": "{roles: []}",
}

APIS = ("baremetal", "placement", "compute", "image", "scheduling")
TENANTS = (*(f"{RED}-{role}" for role in ("manager", "member", "reader")), "owner", "lessee", "none")

#: What callers neither see nor change, by API; the rest is theirs by the guide for tenants.
NOTHING_SEEN = {
    **dict.fromkeys(TENANTS, APIS),
    # The role in any project is everything to compute, image and placement, and sees everything of scheduling.
    f"{RED}-admin": ("baremetal",),
    "nova": ("baremetal", "compute", "image"),
}
NOTHING_CHANGED = {
    **NOTHING_SEEN,
    f"{RED}-admin": ("baremetal", "scheduling"),
}


#: Of the others made-up requests are in ``test_isolation.py``.
MADE_UP = (f"{RED}-admin", "nova", "owner", "lessee")


def _password(name: str) -> str:
    return f"swordfish-{name[::-1]}-77"


def _authorization(name: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{_password(name)}".encode()).decode()}


@dataclass
class Place:
    """The service, and what the tenant has."""

    service: Service
    blue: Estate


def _add_more(service: Service, blue: Estate) -> None:
    """A claim that waits, a hold, and nodes that are shared with others: those have none of its words."""
    for name, fields in {
        "violets": {"owner": "violet", "lessee": BLUE},
        "greens": {"owner": BLUE, "lessee": "green"},
    }.items():
        service.add_node(name, resource_class=name, **fields)
    claim = {"query": "resources=CUSTOM_NONE:1", "wait": 3600, "even_if_impossible": True}
    made = service.http.post_json("/scheduling/v1/claims", claim, headers=dict(headers(BLUE, "member")), status=202)
    node, hold = blue.things["nodes"][0], {"type": "operator_hold", "reason": blue.words[0]}
    held = service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", hold, headers=dict(SYSTEM), status=201)
    blue.things.update(claims=[made.json["uuid"]], holds=[held.json["uuid"]])


@pytest.fixture(scope="module")
def built(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Estate]:
    """A SQLite file with the tenant in it."""
    path = tmp_path_factory.mktemp("place") / "place.sqlite"
    path.touch(mode=0o600)
    path.write_bytes(sqlite_template.read_bytes())
    with Service(f"sqlite:///{path}", api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        blue = estate.build(service, BLUE, 1)
        _add_more(service, blue)
        # The conductor does not die meanwhile.
        service.database.write(lambda session: session.execute(update(Conductor).values(heartbeat_at=epoch() + 86400)))
        with service.database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return path, blue


@pytest.fixture
def place(built: tuple[Path, Estate], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(password_file, "COST", 4)
    users, roles, path = tmp_path / "users", tmp_path / "roles", tmp_path / "place.sqlite"
    users.write_text("".join(f"{name}:{password_file.hash_password(_password(name))}\n" for name in ROLES))
    roles.write_text("".join(f"{name}: {each}\n" for name, each in ROLES.items()))
    path.touch(mode=0o600)
    path.write_bytes(built[0].read_bytes())
    files = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(roles)}
    with Service(f"sqlite:///{path}", api={"auth_strategy": "http_basic"}, DEFAULT=files) as service:
        yield Place(service, built[1])


@pytest.mark.shows_secrets
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("caller", [name for name in ROLES if not name.startswith(BLUE)])
def test_callers_see_and_change_what_the_guide_says(place: Place, caller: str, api: str) -> None:
    words = _words(place.blue)
    routes = [(route, section) for each, route, section in DESCRIBED if each == api]
    if caller == "nova":  # services have the runbooks of all
        routes = [(route, section) for route, section in routes if not route.path.startswith("/v1/runbooks")]
    for route, _ in routes:
        _ask(place, caller, api, _plain(route, words, VERSIONS[api][1]))
    if caller in MADE_UP:
        _ask_at_random(place, caller, api, routes, words)


def _ask_at_random(place: Place, caller: str, api: str, routes: list[Any], words: Words) -> None:
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
        _ask(place, caller, api, data.draw(requests(api, route, [VERSIONS[api][1]], words)))

    ask()


def _ask(place: Place, caller: str, api: str, request: Request) -> None:
    """Send it as the caller."""
    service, secrets = place.service, place.blue.secrets()
    guarded = request.method != "GET" and api in NOTHING_CHANGED.get(caller, ())
    before: Mapping[Any, Any] = rows.snapshot(service.database) if guarded else {}
    answer = send(service, api, request, _authorization(caller))
    said = f"{caller}: {request} -> {answer.status}"
    assert answer.status_code < 500 or answer.status_code in (501, 503), f"{said} {answer.text}"
    if api in NOTHING_SEEN.get(caller, ()):
        text, asked = f"{answer.text} {dict(answer.headers)}", f"{request.path} {request.query} {request.body!r}"
        told = {secret for secret in secrets if secret in text and secret not in asked}
        assert not told, f"{said}: {told} is in {text}"
    if guarded and answer.status_code < 400:
        keys = rows.of_tenant(before, secrets)
        broken = rows.changed(before, rows.snapshot(service.database), keys)
        assert not broken, f"{said}: {broken}"


def test_each_caller_may_do_what_is_its_own(place: Place) -> None:
    """So requests above are refused because the resource belongs to another project."""
    seen = {
        "root": 2 + 3, "nova": 0, f"{RED}-reader": 0, f"{BLUE}-reader": 3 + 2, "owner": 1, "lessee": 1,
    }  # fmt: skip
    for caller, number in seen.items():
        headers = {"X-OpenStack-Ironic-API-Version": "1.115", **_authorization(caller)}
        nodes = place.service.http.get("/baremetal/v1/nodes", headers=headers).json["nodes"]
        assert len(nodes) == number, caller
    assert place.service.http.get("/baremetal/v1/nodes", headers=_authorization("none"), status=403)
    assert place.service.http.get("/baremetal/v1/nodes", status=401)
    claims = place.service.http.get("/scheduling/v1/claims", headers=_authorization(f"{BLUE}-reader")).json["claims"]
    assert [each["uuid"] for each in claims] == place.blue.things["claims"]
