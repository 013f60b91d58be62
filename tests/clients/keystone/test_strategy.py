"""Strategy ``keystone`` with tokens of a real Keystone: who is calling, and what is no token (any more)."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
from flask import Request
from werkzeug.test import EnvironBuilder

from baremetal_sched.errors import AuthenticationUnavailable, NotAuthenticated
from baremetal_sched.settings import load
from baremetal_sched.web.authentication import Strategy, make
from tests.clients.keystone.cloud import Keystone
from tests.clients.keystone.people import PEOPLE

#: The roles of a person of ``people.ROLES``, implied ones included.
IMPLIED = {
    "admin": {"admin", "manager", "member", "reader"},
    "manager": {"manager", "member", "reader"},
    "member": {"member", "reader"},
    "reader": {"reader"},
    "service": {"service"},
}


def strategy_for(keystone: Keystone, timeout: float = 120, **options: Any) -> Strategy:
    settings = {group: dict(values) for group, values in keystone.settings(**options).items()}
    settings["api"]["authentication_timeout"] = timeout
    return make(load(overrides=settings))


def request(token: str, service_token: str | None = None, path: str = "/v1/nodes", method: str = "GET") -> Request:
    headers = {"X-Auth-Token": token} | ({} if service_token is None else {"X-Service-Token": service_token})
    built = EnvironBuilder(path, method=method, headers=headers)
    return Request({**built.get_environ(), "SCRIPT_NAME": "/baremetal"})


@pytest.fixture
def strategy(keystone: Keystone) -> Strategy:
    """One that remembers nothing."""
    return strategy_for(keystone, token_cache_time=-1)


@pytest.mark.parametrize("name", PEOPLE)
def test_who_is_calling(keystone: Keystone, strategy: Strategy, name: str) -> None:
    person, caller = PEOPLE[name], strategy.authenticate(request(keystone.token(name)))
    assert (caller.user_id, caller.user_name) == (keystone.user_ids[name], name)
    assert set(caller.roles) == IMPLIED[person.role]
    is_project = person.scope not in ("system", "domain")
    assert caller.project_id == (keystone.project_ids[person.scope] if is_project else None)
    assert caller.project_name == (person.scope if is_project else None)
    assert caller.domain_id == ("default" if person.scope == "domain" else None)
    assert caller.system_scope == ("all" if person.scope == "system" else None)
    assert not caller.unrestricted


def test_a_token_without_a_scope(keystone: Keystone, strategy: Strategy) -> None:
    caller = strategy.authenticate(request(keystone.new_token("red-member", scoped=False)))
    assert (caller.user_name, caller.roles, caller.project_id) == ("red-member", (), None)


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "x" * 255,
        "x" * 4096,
        "gAAAAABo",
        "gAAAAABo" + "x" * 200,
        "a.b.c",
        '"',
        "../../../etc/passwd",
        "%00",
        "?a=b",
    ],
)
def test_what_is_no_token(strategy: Strategy, token: str) -> None:
    """Whatever Keystone thinks of it."""
    with pytest.raises(NotAuthenticated):
        strategy.authenticate(request(token))


def test_a_revoked_token(keystone: Keystone, strategy: Strategy) -> None:
    token = keystone.new_token("red-member")
    remembering = strategy_for(keystone)
    for each in (strategy, remembering):
        assert each.authenticate(request(token)).user_name == "red-member"
    keystone.revoke(token)
    with pytest.raises(NotAuthenticated):
        strategy.authenticate(request(token))
    assert (
        remembering.authenticate(request(token)).user_name == "red-member"
    )  # for [keystone_authtoken] token_cache_time


def test_an_expired_token(keystone: Keystone, strategy: Strategy) -> None:
    """It is good for one thing: a service may finish what was begun with it."""
    token = keystone.expired_token("red-member")
    service = keystone.token("service")
    with pytest.raises(NotAuthenticated):
        strategy.authenticate(request(token))
    caller = strategy.authenticate(request(token, service))
    assert (caller.user_name, caller.project_name, caller.service_roles) == ("red-member", "red", ("service",))
    with pytest.raises(NotAuthenticated):
        strategy.authenticate(request(token, keystone.token("system-admin")))


def test_a_service_calls_for_a_user(keystone: Keystone, strategy: Strategy) -> None:
    caller = strategy.authenticate(request(keystone.token("blue-reader"), keystone.token("service")))
    assert (caller.user_name, caller.roles) == ("blue-reader", ("reader",))
    assert caller.service_user_id == keystone.user_ids["service"]
    assert caller.service_project_id == keystone.project_ids["service"]
    assert (caller.service_project_name, caller.service_roles) == ("service", ("service",))
    with pytest.raises(NotAuthenticated):
        strategy.authenticate(request(keystone.token("blue-reader"), keystone.token("red-admin")))


@pytest.fixture
def credential(keystone: Keystone, url: str) -> Iterator[str]:
    """A token of an application credential of red-member, which may only list and show nodes."""
    owner = keystone.user_ids["red-member"]
    own = {"X-Auth-Token": keystone.new_token("red-member")}
    rules = [
        {"service": "baremetal", "method": "GET", "path": path}
        for path in ("/baremetal/v1/nodes", "/baremetal/v1/nodes/*")
    ]
    asked = {"application_credential": {"name": "lists-nodes", "access_rules": rules}}
    made = keystone.ask("POST", f"/users/{owner}/application_credentials", asked, **own)["application_credential"]
    method = {"application_credential": {"id": made["id"], "secret": made["secret"]}}
    identity = {"methods": ["application_credential"], **method}
    response = requests.post(f"{keystone.url}/v3/auth/tokens", json={"auth": {"identity": identity}}, timeout=60)
    yield response.headers["X-Subject-Token"]
    keystone.ask("DELETE", f"/users/{owner}/application_credentials/{made['id']}", **own)


def test_access_rules_of_application_credentials(keystone: Keystone, credential: str) -> None:
    strategy = strategy_for(keystone)
    for path in ("/v1/nodes", "/v1/nodes/n1"):
        assert strategy.authenticate(request(credential, path=path)).user_name == "red-member"
    for path, method in (("/v1/nodes", "POST"), ("/v1/nodes/n1", "DELETE"), ("/v1/ports", "GET")):
        with pytest.raises(NotAuthenticated):
            strategy.authenticate(request(credential, path=path, method=method))
    without = strategy_for(keystone, include_service_catalog=False)
    with pytest.raises(NotAuthenticated):
        without.authenticate(request(credential))
    assert without.authenticate(request(keystone.token("red-member"))).user_name == "red-member"


def test_the_service_itself_is_not_let_in(keystone: Keystone) -> None:
    """That is no reason to tell callers that their tokens are wrong."""
    strategy = strategy_for(keystone, password="wrong")
    with pytest.raises(AuthenticationUnavailable):
        strategy.authenticate(request(keystone.token("red-member")))
    nobody = strategy_for(keystone, username="red-reader", password=PEOPLE["red-reader"].password, project_name="red")
    with pytest.raises(AuthenticationUnavailable):
        nobody.authenticate(request(keystone.token("red-member")))


def test_keystone_hangs(keystone: Keystone) -> None:
    """Tokens that are known are served on; when it answers again, so are all others."""
    strategy = strategy_for(keystone, timeout=0.5)
    known, other = keystone.token("red-member"), keystone.token("blue-member")
    strategy_for(keystone).authenticate(request(other))
    keystone.suspend()
    try:
        for _ in range(2):
            with pytest.raises(AuthenticationUnavailable):
                strategy.authenticate(request(other))
    finally:
        keystone.resume()
    patient: Any = strategy
    patient._checks._identity_server._seconds = 120
    assert strategy.authenticate(request(known)).user_name == "red-member"
    keystone.suspend()
    try:
        assert strategy.authenticate(request(known)).user_name == "red-member"
    finally:
        keystone.resume()
    assert strategy.authenticate(request(other)).user_name == "blue-member"
