"""Strategy ``keystone``: who the callers are, and when the answer is 401 or 503. Keystone is a small one of our own;
``tests/clients/keystone`` has the real one."""

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from baremetal_sched.errors import AuthenticationUnavailable, NotAuthenticated
from baremetal_sched.settings import load
from baremetal_sched.web.authentication import Strategy, make
from baremetal_sched.web.caller import Caller
from tests.fake_keystone import FakeKeystone, failing, fake_keystone
from tests.processes import free_port
from tests.service import Service

#: A path of each API that needs a token, and what the body of a 401 has in it.
PRIVATE = {
    "/baremetal/v1/nodes": "error_message",
    "/placement/resource_providers": "title",
    "/compute/v2.1/flavors": "unauthorized",
    "/image/v2/images": "<title>401 Unauthorized</title>",
    "/scheduling/v1/nosuch": "error",
}
PUBLIC = ("/", "/healthcheck/live", "/baremetal/", "/baremetal/v1/", "/placement/", "/compute/", "/image/versions")

#: The roles that an administrator has: Keystone adds the roles that they imply.
ADMINISTRATOR = ("admin", "manager", "member", "reader")

#: Headers that clients might send to impersonate others.
FORGED = {
    **{f"X{kind}-Roles": "admin,service" for kind in ("", "-Service")},
    **{f"X{kind}-User-Id": "forged" for kind in ("", "-Service")},
    **{f"X{kind}-User-Name": "forged" for kind in ("", "-Service")},
    **{f"X{kind}-Project-Id": "forged" for kind in ("", "-Service")},
    **{f"X{kind}-Project-Name": "forged" for kind in ("", "-Service")},
    **{f"X{kind}-Domain-Id": "forged" for kind in ("", "-Service")},
    **{f"X{kind}-Identity-Status": "Confirmed" for kind in ("", "-Service")},
    "X-Role": "admin",
    "X-User": "forged",
    "X-Tenant-Id": "forged",
    "X-Is-Admin-Project": "True",
    "OpenStack-System-Scope": "all",
    "X-Service-Catalog": "[]",
}


@pytest.fixture
def keystone() -> Iterator[FakeKeystone]:
    with fake_keystone() as running:
        yield running


@pytest.fixture
def service(sqlite_template: Path, tmp_path: Path, keystone: FakeKeystone) -> Iterator[Service]:
    """The service with that Keystone. These tests come before any database."""
    path = tmp_path / "test.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    with Service(f"sqlite:///{path}", **keystone.settings()) as running:
        yield running


def strategy_for(keystone: FakeKeystone, **options: Any) -> Strategy:
    """The strategy by itself."""
    settings = keystone.settings(**options)
    settings["api"]["authentication_timeout"] = 60
    return make(load(overrides=settings))


def request(
    token: str | None, service_token: str | None = None, path: str = "/baremetal/v1/nodes", **headers: str
) -> Request:
    given = {"X-Auth-Token": token, "X-Service-Token": service_token, **headers}
    mount, _, rest = path[1:].partition("/")
    built = EnvironBuilder(f"/{rest}", headers={name: value for name, value in given.items() if value is not None})
    return Request({**built.get_environ(), "SCRIPT_NAME": f"/{mount}"})


def test_without_a_token_that_is_valid_it_is_401_in_the_shape_of_the_api(
    service: Service, keystone: FakeKeystone, subtests: pytest.Subtests
) -> None:
    for path in PRIVATE:
        for headers in [{}, {"X-Auth-Token": "unknown"}, FORGED]:
            with subtests.test(path=path, headers=headers):
                response = service.http.get(path, headers=headers, status=401)
                assert PRIVATE[path] in response.text
                assert response.headers["WWW-Authenticate"] == f'Keystone uri="{keystone.url}"'


def test_public_paths_need_no_token_and_look_at_none(
    service: Service, keystone: FakeKeystone, subtests: pytest.Subtests
) -> None:
    for path in PUBLIC:
        with subtests.test(path=path):
            service.http.get(path, status="*").mustcontain("")
            assert service.http.get(path, headers={"X-Auth-Token": "unknown"}, status="*").status_int in (200, 300)
            assert keystone.asked == []


def test_a_token_opens_every_api(service: Service, keystone: FakeKeystone) -> None:
    token = keystone.issue("root", *ADMINISTRATOR, system=True)
    assert service.http.get("/baremetal/v1/nodes", headers={"X-Auth-Token": token}).json == {"nodes": []}
    for path in PRIVATE:
        assert service.http.get(path, headers={"X-Auth-Token": token}, status="*").status_int != 401
    assert keystone.asked == [token]


def test_the_caller_is_who_the_token_says(keystone: FakeKeystone, subtests: pytest.Subtests) -> None:
    for scope, expected in [
        ({"project": "red"}, {"project_id": "red-id", "project_name": "red", "project_domain_id": "default"}),
        ({"domain": "acme"}, {"domain_id": "acme-id"}),
        ({"system": True}, {"system_scope": "all"}),
        ({}, {}),
    ]:
        with subtests.test(scope=scope):
            token = keystone.issue("alice", "member", "reader", **scope)
            user = {"user_id": "alice-id", "user_name": "alice", "user_domain_id": "default"}
            known = Caller(**{**user, **expected}, roles=("member", "reader"))  # type: ignore[arg-type]
            strategy = strategy_for(keystone)
            assert strategy.authenticate(request(token)) == known
            assert strategy.authenticate(request(token, **FORGED)) == known
            assert not known.unrestricted


def test_a_service_may_call_for_a_user(keystone: FakeKeystone) -> None:
    user = keystone.issue("alice", "member", project="red")
    nova = keystone.issue("nova", "service", "admin", project="service")
    caller = strategy_for(keystone).authenticate(request(user, nova))
    assert (caller.user_id, caller.project_id, caller.roles) == ("alice-id", "red-id", ("member",))
    assert (caller.service_user_id, caller.service_project_id) == ("nova-id", "service-id")
    assert caller.service_project_name == "service"
    assert caller.service_roles == ("service", "admin")


def test_the_scope_of_a_service_is_not_that_of_the_user(keystone: FakeKeystone) -> None:
    """The headers of keystonemiddleware have one place for both."""
    user = keystone.issue("alice", "admin", project="red")
    nova = keystone.issue("nova", "service", system=True)
    assert strategy_for(keystone).authenticate(request(user, nova)).system_scope is None
    root = keystone.issue("root", *ADMINISTRATOR, system=True)
    helper = keystone.issue("nova", "service", project="service")
    assert strategy_for(keystone).authenticate(request(root, helper)).system_scope == "all"


def test_tokens_that_are_not_good_enough(keystone: FakeKeystone, subtests: pytest.Subtests) -> None:
    for user, service in [
        ("unknown", None),
        ("alice", "unknown"),
        ("alice", "alice"),
        (None, "nova"),
        ("", "nova"),
        ("expired", None),
        ("expired", "alice"),
        ("alice", "expired nova"),
    ]:
        with subtests.test(user=user, service=service):
            tokens = {
                "alice": keystone.issue("alice", "member", project="red"),
                "expired": keystone.issue("alice", "member", project="red", seconds=-1),
                "nova": keystone.issue("nova", "service", project="service"),
                "expired nova": keystone.issue("nova", "service", project="service", seconds=-1),
                "unknown": "unknown",
                "": "",
            }
            http = request(user if user is None else tokens[user], service if service is None else tokens[service])
            with pytest.raises(NotAuthenticated):
                strategy_for(keystone).authenticate(http)


def test_a_service_may_finish_what_a_user_has_begun(keystone: FakeKeystone) -> None:
    """With its token the user's may have expired. What was learnt so is of no use without."""
    user = keystone.issue("alice", "member", project="red", seconds=-1)
    nova = keystone.issue("nova", "service", project="service")
    strategy = strategy_for(keystone)
    assert strategy.authenticate(request(user, nova)).user_id == "alice-id"
    with pytest.raises(NotAuthenticated):
        strategy.authenticate(request(user))
    assert keystone.asked == [nova, user]


def test_what_is_no_token(keystone: FakeKeystone, subtests: pytest.Subtests) -> None:
    for token in ["a b", "a\tb", "é", "\x7f", "x" * 5000, " ", "a,b"]:
        with subtests.test(token=token), pytest.raises(NotAuthenticated):
            strategy_for(keystone).authenticate(request(token))


def test_tokens_are_remembered(keystone: FakeKeystone) -> None:
    token = keystone.issue("alice", "member", project="red")
    strategy: Any = strategy_for(keystone)
    for _ in range(3):
        strategy.authenticate(request(f" {token} "))
    assert keystone.asked == [token]
    remembered = repr(strategy._checks._token_cache._entries)
    assert "alice" in remembered
    assert token not in remembered
    assert "catalog" not in remembered


def test_a_revoked_token(keystone: FakeKeystone) -> None:
    """It is refused as soon as it is not remembered any more, or at once if nothing is remembered."""
    token = keystone.issue("alice", "member", project="red")
    strategy = strategy_for(keystone, token_cache_time=-1)
    strategy.authenticate(request(token))
    keystone.revoke(token)
    with pytest.raises(NotAuthenticated):
        strategy.authenticate(request(token))


def test_what_keystone_has_is_503(service: Service, keystone: FakeKeystone, subtests: pytest.Subtests) -> None:
    """401: the service itself is not allowed to ask."""
    for status in [401, 403, 500, 503]:
        for path in PRIVATE:
            with subtests.test(status=status, path=path):
                token = keystone.issue("root", *ADMINISTRATOR, system=True)
                keystone.trouble = partial(failing, status)
                response = service.http.get(path, headers={"X-Auth-Token": token}, status=503)
                assert ("Retry-After" in response.headers) == ("/baremetal" not in path)
                assert "Your credentials cannot be checked now: Keystone " in response.text
                keystone.trouble = None
                assert service.http.get(path, headers={"X-Auth-Token": token}, status="*").status_int not in (401, 503)


def test_without_keystone_known_tokens_and_public_paths_are_served(service: Service, keystone: FakeKeystone) -> None:
    known, other = (keystone.issue("root", *ADMINISTRATOR, system=True) for _ in range(2))
    service.http.get("/baremetal/v1/nodes", headers={"X-Auth-Token": known})
    keystone.trouble = lambda: failing(500)
    service.http.get("/baremetal/v1/nodes", headers={"X-Auth-Token": known})
    service.http.get("/baremetal/v1/")
    service.http.get("/baremetal/v1/nodes", headers={"X-Auth-Token": other}, status=503)


def test_nobody_listens(keystone: FakeKeystone) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    strategy = strategy_for(keystone, auth_url=address, http_request_max_retries=0)
    with pytest.raises(AuthenticationUnavailable) as info:
        strategy.authenticate(request("token"))
    assert address not in str(info.value)
    assert str(info.value) == "Your credentials cannot be checked now: Keystone cannot be reached. Try again later."


def test_keystone_is_silent(keystone: FakeKeystone) -> None:
    """The first request waits as long as it may. From then on one at a time tries, and others are refused at once."""
    token, other = (keystone.issue(name, "member", project="red") for name in ("alice", "bob"))
    strategy = strategy_for(keystone)
    strategy.authenticate(request(other))  # so that it has a token of its own: whoever fetches that holds others up
    speak, asked = threading.Event(), threading.Event()

    def wait() -> Any:
        asked.set()
        assert speak.wait(60)
        return failing(500)

    keystone.trouble = wait
    identity: Any = strategy._checks._identity_server  # type: ignore[attr-defined]
    identity._seconds = 0.1
    with pytest.raises(AuthenticationUnavailable):
        strategy.authenticate(request(token))
    identity._seconds = 60
    asked.clear()

    def one_more() -> None:
        with pytest.raises(AuthenticationUnavailable):
            identity.verify_token(token)

    trying = threading.Thread(target=one_more)
    trying.start()
    assert asked.wait(60)
    with pytest.raises(AuthenticationUnavailable):  # at once: the other one would wait for a minute
        strategy.authenticate(request(token))
    assert trying.is_alive()
    keystone.trouble = None
    speak.set()
    trying.join()
    assert strategy.authenticate(request(token)).user_id == "alice-id"
    assert not identity._is_suspect


RULES = {"access_rules": [{"id": "r", "service": "baremetal", "method": "GET", "path": "/baremetal/v1/nodes/*"}]}


def test_rules_of_application_credentials(keystone: FakeKeystone, subtests: pytest.Subtests) -> None:
    """They are for one API, whichever of ours that is, and its paths."""
    for path, allowed in [
        ("/baremetal/v1/nodes/n1", True),
        ("/baremetal/v1/nodes", False),
        ("/compute/v1/nodes/n1", False),
        ("/placement/baremetal/v1/nodes/n1", False),
    ]:
        with subtests.test(path=path):
            token = keystone.issue("alice", "member", project="red", application_credential={"id": "c", **RULES})
            strategy = strategy_for(keystone)
            for _ in range(2):  # the second time it is remembered
                if allowed:
                    assert strategy.authenticate(request(token, path=path)).user_id == "alice-id"
                else:
                    with pytest.raises(NotAuthenticated):
                        strategy.authenticate(request(token, path=path))


def test_a_rule_for_all_paths_is_for_one_api(keystone: FakeKeystone) -> None:
    rules = [{"id": "r", "service": "baremetal", "method": "GET", "path": "/**"}]
    credential = {"id": "c", "access_rules": rules}
    token = keystone.issue("alice", "member", project="red", application_credential=credential)
    strategy = strategy_for(keystone)
    assert strategy.authenticate(request(token, path="/baremetal/v1/ports")).user_id == "alice-id"
    for path in ("/compute/v2.1/servers", "/placement/traits", "/image/v2/images", "/metrics"):
        with pytest.raises(NotAuthenticated):
            strategy.authenticate(request(token, path=path))


def test_application_credentials_without_rules_are_for_everything(keystone: FakeKeystone) -> None:
    token = keystone.issue("alice", "member", project="red", application_credential={"id": "c", "restricted": True})
    assert strategy_for(keystone).authenticate(request(token)).user_id == "alice-id"


def test_secrets_are_not_logged(
    keystone: FakeKeystone, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("DEBUG")
    token = keystone.issue("alice", "member", project="red")
    strategy = strategy_for(keystone)
    strategy.authenticate(request(token))
    with pytest.raises(NotAuthenticated):
        strategy.authenticate(request("planted-token"))
    keystone.trouble = lambda: failing(500)
    with pytest.raises(AuthenticationUnavailable):
        strategy.authenticate(request("another-planted-token"))
    assert "keystonemiddleware" in caplog.text
    for secret in (token, "planted-token", "secret-of-sched", "token-of-the-service-itself"):
        assert secret not in caplog.text
