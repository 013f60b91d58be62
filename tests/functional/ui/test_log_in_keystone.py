"""People log in with Keystone: their projects, their tokens, and a Keystone that is in trouble. It is a small one of
our own; ``tests/clients/browser`` has the real one."""

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from baremetal_sched.db.keyring import generate_key
from baremetal_sched.ui import known_browsers, sessions
from baremetal_sched.ui.log_ins import KeystoneLogIns
from tests.fake_keystone import FakeKeystone, failing, fake_keystone
from tests.functional.secrets_at_rest.test_command import run
from tests.functional.ui.logging_in import BEHIND, BROWSER, get, go_by, log_in, rows, submit
from tests.functional.ui.pages import read
from tests.service import Service

CREDENTIAL = {"application_credential_id": "abc", "application_credential_secret": "secret-of-abc"}


@pytest.fixture
def keystone() -> Iterator[FakeKeystone]:
    with fake_keystone() as running:
        running.add_user(
            "alice", "alice" + BEHIND, {"red": ("member", "reader"), "blue": ("reader",), None: ("admin", "reader")}
        )
        running.add_user("bob", "bob" + BEHIND, {"blue": ("member", "reader")})
        running.add_user("carol", "carol" + BEHIND, {})
        running.add_credential("abc", "secret-of-abc", "alice", "red")
        running.add_credential("ruled", "secret-of-ruled", "alice", "red", access_rules=[])
        yield running


def settings_of(keystone: FakeKeystone, folder: Path, **api: Any) -> dict[str, dict[str, Any]]:
    keys = folder / "keys"
    keys.write_text(generate_key())
    keys.chmod(0o600)
    settings = {**keystone.settings(token_cache_time=-1), "database": {"secrets_key_file": str(keys)}}
    settings["api"] |= {"authentication_timeout": 60, **api}
    return settings


@pytest.fixture
def service(database_url: str, keystone: FakeKeystone, tmp_path: Path) -> Iterator[Service]:
    with Service(database_url, **settings_of(keystone, tmp_path)) as running:
        yield running


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long failed log-ins would have waited, as they do not."""
    found: list[float] = []
    monkeypatch.setattr(KeystoneLogIns, "pause", staticmethod(found.append))
    return found


def test_a_person_chooses_a_project_and_later_another(service: Service, keystone: FakeKeystone) -> None:
    assert log_in(service, "alice", next="/ui/nodes?sort_key=name").location == "/ui/nodes?sort_key=name"
    asked = get(service, "/nodes?sort_key=name", 303)
    assert asked.location == "/ui/session?next=%2Fui%2Fnodes%3Fsort_key%3Dname"
    service.http.get("/ui/nodes", status=403)
    page = get(service, asked.location.removeprefix("/ui"))
    assert [each[0] for each in page.forms[2]["project"].options] == ["", "blue-id", "red-id"]
    cookies = [dict(service.http.cookies)]
    assert submit(page, "/ui/session", project="red-id").location == "/ui/nodes?sort_key=name"
    cookies.append(dict(service.http.cookies))
    assert "Logged in as alice for red" in read(get(service, "/nodes")).text
    submit(get(service, "/session"), "/ui/session", project="")
    cookies.append(dict(service.http.cookies))
    shown = read(get(service, "/nodes"))
    assert "Logged in as alice for the system" in shown.text
    assert "You act for the system. Choose a project" in shown.text  # instead of servers and images
    values = [each["baremetal_sched_session"] for each in cookies]
    assert len(set(values)) == 3
    for old in values[:2]:
        service.http.reset()
        service.http.set_cookie("baremetal_sched_session", old)
        get(service, "/nodes", 303)
    assert len(rows(service)) == 1


def test_who_has_one_project_need_not_choose(service: Service) -> None:
    log_in(service, "bob")
    assert "Logged in as bob for blue" in read(get(service, "/nodes")).text


def test_an_application_credential_has_its_project(service: Service, subtests: pytest.Subtests) -> None:
    page = get(service, "/login")
    submit(page, "/ui/login", 303, nth=1, **CREDENTIAL)
    assert "Logged in as alice for red" in read(get(service, "/nodes")).text
    session = get(service, "/session")
    assert [form.action for form in session.forms.values()].count("/ui/session") == 0
    token = session.forms[1]["csrf_token"].value
    service.http.post("/ui/session", {"csrf_token": token, "project": "blue-id"}, headers=BROWSER, status=404)
    for ident, secret, said in [("abc", "wrong-secret", "refuses"), ("ruled", "secret-of-ruled", "access rules")]:
        with subtests.test(ident=ident):
            service.http.reset()
            given = {"application_credential_id": ident, "application_credential_secret": secret}
            assert said in submit(get(service, "/login"), "/ui/login", 401, nth=1, **given).text


def test_tokens_are_sealed_and_passwords_are_nowhere(service: Service, keystone: FakeKeystone, tmp_path: Path) -> None:
    log_in(service, "bob")
    get(service, "/nodes")
    (row,) = rows(service)
    assert row.tokens.startswith("~")
    for secret in (*keystone.asked, "bob" + BEHIND):
        assert secret not in str(row)


def test_keys_change_while_people_are_logged_in(
    service: Service, database_url: str, keystone: FakeKeystone, tmp_path: Path
) -> None:
    """Their tokens are encrypted again with the new key; without encryption there are none."""
    log_in(service, "bob")
    keys = tmp_path / "keys"
    new = generate_key()
    keys.write_text(f"{new}\n{keys.read_text()}")
    assert run("rotate", database_url, keys).stdout == "1 values encrypted with the first key\n"
    keys.write_text(new)
    assert "page_sessions.tokens: 1 first key" in run("check", database_url, keys).stdout
    get(service, "/nodes")
    assert run("decrypt", database_url, keys).stdout == "0 values decrypted\n"
    assert not rows(service)
    assert log_in(service, "bob").location == "/ui/"


def test_failed_log_ins_are_the_same_and_take_whole_seconds(service: Service, pauses: list[float]) -> None:
    pages = [log_in(service, user, "wrong-password", status=401) for user in ("alice", "nobody")]
    said = [read(page).text.partition("Log in ")[2] for page in pages]
    assert said[0].partition("UTC")[2] == said[1].partition("UTC")[2]
    assert "Keystone refuses this log-in" in said[0]
    assert len(pauses) == 2
    assert all(0 <= each <= 1 for each in pauses)
    assert "no role" in log_in(service, "carol", status=401).text
    assert not rows(service)


def test_guessing_is_limited_by_address_and_by_name(service: Service) -> None:
    def guess(number: int, user: str, address: str) -> int:
        page = get(service, "/login")
        token = page.forms[1]["csrf_token"].value
        fields = {"user": user, "password": f"guess-{number}", "csrf_token": token, "domain": "Default"}
        environ = {"REMOTE_ADDR": address}
        answer = service.http.post("/ui/login", fields, headers=BROWSER, extra_environ=environ, expect_errors=True)
        assert answer.status_int != 429 or int(answer.headers["Retry-After"]) > 0
        return answer.status_int

    assert [guess(each, f"user-{each}", "192.0.2.1") for each in range(12)][10:] != [401, 401]
    assert [guess(each, "alice" + each * " ", f"198.51.100.{each}") for each in range(12)][10:] != [401, 401]
    assert guess(0, "bob", "203.0.113.1") == 401


def test_a_browser_that_is_known_is_not_locked_out(service: Service, tmp_path: Path) -> None:
    log_in(service, "bob")
    known = service.http.cookies[known_browsers.COOKIE]
    keys = tmp_path / "keys"
    keys.write_text(f"{generate_key()}\n{keys.read_text()}")
    service.http.reset()
    for _ in range(10):
        log_in(service, "bob", "wrong-password", status=401)
    service.http.extra_environ["REMOTE_ADDR"] = "198.51.100.7"
    log_in(service, "bob", status=429)
    service.http.set_cookie(known_browsers.COOKIE, known)
    log_in(service, "bob", status=303)


def test_who_is_disabled_is_out_at_once(service: Service, keystone: FakeKeystone) -> None:
    log_in(service, "bob")
    get(service, "/nodes")
    keystone.disable("bob")
    assert get(service, "/nodes", 303).location == "/ui/login?next=%2Fui%2Fnodes"


def test_a_log_in_that_is_revoked_ends_the_session(service: Service, keystone: FakeKeystone) -> None:
    """The token in use may be valid still, or be in a cache: the pages do not lead to each other for ever."""
    log_in(service, "alice")
    submit(get(service, "/session"), "/ui/session", project="red-id")
    keystone.revoke(keystone.asked[0])
    get(service, "/nodes")
    assert get(service, "/session", 303).location == "/ui/login?next=%2Fui%2Fsession"
    get(service, "/login")
    assert not rows(service)


def test_a_session_ends_with_its_token(service: Service) -> None:
    log_in(service, "bob")
    (row,) = rows(service)
    assert 3500 < row.expires_at - row.created_at <= 3600
    go_by(service, row.expires_at - row.created_at - 100)
    get(service, "/nodes")
    go_by(service, 101)
    get(service, "/nodes", 303)


def test_logging_out_revokes_the_tokens(service: Service, keystone: FakeKeystone) -> None:
    log_in(service, "bob")
    get(service, "/nodes")
    first = dict(service.http.cookies)
    service.http.reset()
    log_in(service, "bob")
    submit(get(service, "/nodes"), "/ui/logout")
    assert len(keystone.revoked) == 2
    for name, value in first.items():
        service.http.set_cookie(name, value)
    submit(get(service, "/session"), "/ui/logout", nth=1)
    assert len(keystone.revoked) == len(set(keystone.revoked)) == 4
    assert not rows(service)


def test_tokens_that_a_session_leaves_are_revoked(
    service: Service, keystone: FakeKeystone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a log-in in another tab, at the last of too many log-ins, and when the person chooses another project;
    the token of the log-in stays, as the session goes on with it."""
    monkeypatch.setattr(sessions, "MOST", 1)
    page = get(service, "/login")
    log_in(service, "bob")
    submit(page, "/ui/login", user="alice", password="alice" + BEHIND)
    assert len(keystone.revoked) == 2
    submit(get(service, "/session"), "/ui/session", project="red-id")
    assert len(keystone.revoked) == 2
    submit(get(service, "/session"), "/ui/session", project="blue-id")
    assert len(keystone.revoked) == 3
    assert "Logged in as alice for blue" in read(get(service, "/nodes")).text
    get(service, "/session")
    service.http.reset()
    log_in(service, "alice")
    assert len(keystone.revoked) == len(set(keystone.revoked)) == 5
    assert len(rows(service)) == 1


def test_keystone_in_trouble(service: Service, keystone: FakeKeystone) -> None:
    log_in(service, "bob")
    page = get(service, "/nodes")
    keystone.trouble = partial(failing, 500)
    assert "Log out" in get(service, "/nodes", 503).text
    submit(page, "/ui/logout", 303)
    assert not rows(service)
    page = get(service, "/login")
    token = page.forms[1]["csrf_token"].value
    fields = {"user": "bob", "password": "bob" + BEHIND, "csrf_token": token}
    for _ in range(12):  # these are no failed log-ins
        answer = service.http.post("/ui/login", fields, headers=BROWSER, status=503)
    assert answer.headers["Retry-After"]
    keystone.trouble = None
    service.http.post("/ui/login", fields, headers=BROWSER, status=303)


def test_keystone_that_does_not_answer(database_url: str, keystone: FakeKeystone, tmp_path: Path) -> None:
    with Service(database_url, **settings_of(keystone, tmp_path, authentication_timeout=0.1)) as service:
        go_on = threading.Event()

        def hang() -> Any:
            go_on.wait()
            return failing(500)

        page = get(service, "/login")
        keystone.trouble = hang
        try:
            token = page.forms[1]["csrf_token"].value
            fields = {"user": "bob", "password": "bob" + BEHIND, "csrf_token": token}
            service.http.post("/ui/login", fields, headers=BROWSER, status=503)
        finally:
            go_on.set()


def test_a_project_without_a_role_is_refused(service: Service) -> None:
    log_in(service, "alice")
    page = get(service, "/session")
    page.forms[2]["project"].force_value("green-id")
    refused = submit(page, "/ui/session", 403)
    assert "no token for this project" in read(refused).text
    get(service, "/nodes", 303)


def test_without_keys_nobody_logs_in(database_url: str, keystone: FakeKeystone) -> None:
    with Service(database_url, **keystone.settings()) as service:
        page = get(service, "/login")
        assert "secrets_key_file" in read(page).text
        assert "baremetal-sched secrets generate-key" in read(page).text
        assert len(page.forms) == 0


def test_programs_may_send_a_token(service: Service, keystone: FakeKeystone) -> None:
    token = keystone.issue("alice", "reader", project="red")
    answer = service.http.get("/ui/nodes", headers={"X-Auth-Token": token})
    assert "Logged in as alice" in read(answer).text
    refused = service.http.post("/ui/logout", {}, headers={"X-Auth-Token": token}, status=401)
    assert "or send a token of Keystone in the header X-Auth-Token." in read(refused).text
    assert service.http.get("/ui/nodes", status=401).headers["WWW-Authenticate"].startswith("Keystone ")
