# tier: first
"""People log in with the file of users: sessions, their ends, cookies, and forms that are not of this site."""

import base64
import io
import os
import re
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.ui import known_browsers
from tests.functional.test_audit import audited
from tests.functional.ui.logging_in import (
    BEHIND,
    BROWSER,
    ROLES,
    file_settings,
    get,
    go_by,
    line_of,
    log_in,
    rows,
    submit,
)
from tests.functional.ui.pages import read
from tests.functional.ui.test_fleet import ADMIN
from tests.service import Service
from tests.unchanged import unchanged

COOKIE = "baremetal_sched_session"
LIVE = {**BROWSER, "X-Refresh": "1"}


@pytest.fixture
def people(database_url: str, tmp_path: Path) -> Iterator[Service]:
    with Service(database_url, **file_settings(tmp_path)) as service:
        yield service


def is_out(service: Service) -> bool:
    """Return whether a browser is led to the log-in."""
    answer = service.http.get("/ui/nodes", headers=BROWSER, expect_errors=True)
    return answer.status_int == 303 and answer.location.endswith("/ui/login?next=%2Fui%2Fnodes")


def test_a_person_logs_in_and_is_back_on_the_page(people: Service) -> None:
    asked = get(people, "/nodes?sort_key=name", 303)
    assert asked.location == "/ui/login?next=%2Fui%2Fnodes%3Fsort_key%3Dname"
    page = get(people, asked.location.removeprefix("/ui"))
    read(page)
    back = submit(page, "/ui/login", user="ann", password="ann" + BEHIND)
    assert back.location == "/ui/nodes?sort_key=name"
    shown = get(people, "/nodes?sort_key=name")
    assert "Logged in as ann for p1" in read(shown).text
    assert "ann" + BEHIND not in shown.text
    assert get(people, "/login", 303).location == "/ui/"


def test_the_answer_is_the_same_for_unknown_users(people: Service) -> None:
    pages = [log_in(people, user, "wrong-password", status=401) for user in ("ann", "nobody")]
    texts = [re.sub(r"ann|nobody|as-of.*?</p>", "", page.text, flags=re.DOTALL) for page in pages]
    assert texts[0] == texts[1]
    assert "The name or the password is wrong." in read(pages[0]).text
    assert "WWW-Authenticate" not in pages[0].headers
    assert not rows(people)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("baremetal_sched.web.authentication.password_checks.FAILURES", 0)
        for attempt in range(20):
            if log_in(people, "ann", f"wrong-password-{attempt}", status="*").status_int == 429:
                break
        else:
            pytest.fail("guessing has no end")


def guess(service: Service, number: int, user: str = "ann", address: str = "192.0.2.1") -> int:
    """Log in with a wrong password from an address, and return the status."""
    token = get(service, "/login").forms[0]["csrf_token"].value
    fields = {"user": user, "password": f"guess-{number}", "csrf_token": token}
    environ = {"REMOTE_ADDR": address}
    answer = service.http.post("/ui/login", fields, headers=BROWSER, extra_environ=environ, expect_errors=True)
    assert answer.status_int != 429 or "with this name" in read(answer).text
    return answer.status_int


def test_guessing_a_name_is_limited_at_the_form_only(people: Service) -> None:
    statuses = [guess(people, each, "ann" + each % 2 * " ", f"198.51.100.{each}") for each in range(12)]
    assert (statuses[:10], statuses[10:]) == ([401] * 10, [429] * 2)
    log_in(people, "ann", status=429)
    # Neither other names nor programs are concerned.
    assert guess(people, 0, "root", "203.0.113.1") == 401
    password = base64.b64encode(f"ann:ann{BEHIND}".encode()).decode()
    people.http.get("/baremetal/v1/nodes", headers={"Authorization": f"Basic {password}"}, status=200)


def test_a_browser_that_is_known_is_not_locked_out(people: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    log_in(people, "ann")
    known = people.http.cookies[known_browsers.COOKIE]
    now = time.time()

    def log_in_from(value: str, *, status: int, user: str = "ann") -> None:
        people.http.reset()
        people.http.set_cookie(known_browsers.COOKIE, value)
        log_in(people, user, status=status)

    people.http.reset()
    for user in ("ann", "root"):
        for each in range(11):
            guess(people, each, user, f"198.51.100.{each}")
    log_in_from(known, status=303)
    # Of another person, of another time, of nobody.
    log_in_from(known, user="root", status=429)
    until, _, digest = known.partition(".")
    for value in (f"{int(until) + 1}.{digest}", until, f"{until}.{digest[:-1]}", "", ".", "\xff.\xff"):
        log_in_from(value, status=429)
    monkeypatch.setattr("baremetal_sched.ui.known_browsers.time.time", lambda: now + known_browsers.SECONDS + 60)
    log_in_from(known, status=429)


def test_forms_of_the_log_in_are_small(people: Service) -> None:
    """They are refused before they are read: anyone may send the first of them."""
    log_in(people, "ann")
    with unchanged(people):
        for path in ("login", "session", "logout"):
            for body, status in ((b"a=" + b"x" * 16_384, 413), (b"a=b&" * 20, 400)):
                answer = people.http.post(f"/ui/{path}", body, headers=BROWSER, status=status)
                assert ("more than 20 fields" in answer.text) == (status == 400)


def test_cookies(people: Service) -> None:
    (form,) = get(people, "/login").headers.getall("Set-Cookie")
    answer = log_in(people, "ann")
    sent, known = answer.headers.getall("Set-Cookie")
    assert known.endswith("; Max-Age=31536000; HttpOnly; Path=/ui; SameSite=Lax")
    assert "ann" not in known
    value, _, flags = sent.removeprefix(f"{COOKIE}=").partition("; ")
    assert len(base64.urlsafe_b64decode(value + "=")) == 32
    assert flags == form.partition("; ")[2] == "HttpOnly; Path=/ui; SameSite=Lax"
    (row,) = rows(people)
    assert row.digest == sha256(value.encode()).hexdigest()
    assert value not in str(row)
    people.http.reset()
    secure = {"wsgi.url_scheme": "https", "HTTP_HOST": "metal.example.org", "SERVER_NAME": "192.0.2.1"}
    page = people.http.get("/ui/login", headers=BROWSER, extra_environ=secure)
    assert "Secure" in page.headers["Set-Cookie"]


def test_a_new_log_in_has_a_new_value_and_ends_the_old_session(people: Service) -> None:
    log_in(people, "ann")
    first = people.http.cookies[COOKIE]
    people.http.cookies.pop("baremetal_sched_form", None)
    page = people.http.get("/ui/login", headers={**BROWSER, "Cookie": ""})
    token = page.forms[0]["csrf_token"].value
    form = page.headers["Set-Cookie"].partition(";")[0]
    fields = {"user": "root", "password": "root" + BEHIND, "csrf_token": token}
    people.http.post("/ui/login", fields, headers={**BROWSER, "Cookie": f"{form}; {COOKIE}={first}"}, status=303)
    (row,) = rows(people)
    assert row.person == "root"


def test_where_nobody_logs_in_over_plain_http(people: Service, subtests: pytest.Subtests) -> None:
    page = get(people, "/login")
    token = page.forms[0]["csrf_token"].value
    fields = {"user": "ann", "password": "ann" + BEHIND, "csrf_token": token}
    for environ in (
        {"SERVER_NAME": "192.0.2.1", "SERVER_PORT": "6385"},
        {"HTTP_HOST": "metal.example.org"},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.1"},
    ):
        with subtests.test(environ=environ):
            refused = people.http.get("/ui/login", headers=BROWSER, extra_environ=environ)
            assert "plain HTTP" in read(refused).text
            assert len(refused.forms) == 0
            people.http.post("/ui/login", fields, headers=BROWSER, extra_environ=environ, status=403)
    assert not rows(people)


def test_only_a_page_below_ui_is_gone_back_to(people: Service, subtests: pytest.Subtests) -> None:
    log_in(people, "ann")
    for path in ("/ui/nodes", "/ui/nodes?a=%2F&b=//x", "/ui/nodes/a%20b", "/ui/"):
        with subtests.test(path=path):
            answer = people.http.get("/ui/login", {"next": path}, headers=BROWSER, status=303)
            assert answer.location == path
    for path in (
        *("//evil.example", "https://evil.example/ui/", "//evil.example/ui/", "/ui\\..\\x", "/ui/../baremetal", "/"),
        *(
            "/ui/%2e%2e/baremetal",
            "/ui/%2E./baremetal",
            "/ui/..%2fbaremetal",
            "/ui/%5c..%5cx",
            "/uix",
            "/\\evil.example",
        ),
        *(
            "/ui/a\nSet-Cookie: x=y",
            "/ui/\tx",
            "/ui/ü",
            "javascript:alert(1)",
            "/ui/login",
            "/ui/logout",
            "ui/nodes",
            "",
        ),
    ):
        with subtests.test(path=path):
            answer = people.http.get("/ui/login", {"next": path}, headers=BROWSER, status=303)
            assert answer.location == "/ui/"


def test_other_clients_are_answered_as_before(people: Service) -> None:
    answer = people.http.get("/ui/nodes", status=401)
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    basic = {"Authorization": "Basic " + base64.b64encode(f"ann:ann{BEHIND}".encode()).decode()}
    assert "Logged in as ann" in read(people.http.get("/ui/nodes", headers=basic)).text
    assert not rows(people)
    live = people.http.get("/ui/nodes", headers=LIVE, status=401)
    assert "WWW-Authenticate" not in live.headers
    for path in ("/ui/logout", "/ui/nodes"):
        people.http.post(path, {"csrf_token": ""}, headers=basic, status=401)


def test_a_session_ends_after_an_hour_in_which_nothing_was_asked_for(people: Service) -> None:
    log_in(people, "ann")
    for _ in range(3):
        go_by(people, 3500)
        get(people, "/nodes")
    for _ in range(3):
        go_by(people, 1300)
        people.http.get("/ui/nodes", headers=LIVE, status="*")
    assert is_out(people)


def test_the_last_request_is_written_at_most_once_a_minute(people: Service) -> None:
    log_in(people, "ann")
    used = rows(people)[0].used_at
    with people.statements() as seen:
        get(people, "/nodes")
    assert len([each for each in seen if "page_sessions" in each]) == 1
    assert rows(people)[0].used_at == used
    go_by(people, 61)
    with people.statements() as seen:
        get(people, "/nodes")
    assert len([each for each in seen if "page_sessions" in each]) == 2
    assert rows(people)[0].used_at >= used


def test_a_session_ends_after_a_day(people: Service) -> None:
    log_in(people, "ann")
    for _ in range(25):
        go_by(people, 3400)
        get(people, "/nodes")
    go_by(people, 3400)
    assert is_out(people)


def test_a_session_ends_when_the_files_change(people: Service, tmp_path: Path, subtests: pytest.Subtests) -> None:
    users, roles = tmp_path / "users", tmp_path / "roles"
    before = users.read_text()
    for file, text in [
        (users, line_of("root")),
        (users, line_of("root") + line_of("ann")),
        (roles, ROLES.replace("member", "reader")),
    ]:
        with subtests.test(text=text):
            kept = file.read_text()
            log_in(people, "ann")
            get(people, "/nodes")
            file.write_text(text)
            os.utime(file)
            assert is_out(people)
            file.write_text(kept)
            assert is_out(people), "it has begun again"
            assert not rows(people)
    assert users.read_text() == before


def test_logging_out(people: Service) -> None:
    log_in(people, "ann")
    cookie = people.http.cookies[COOKIE]
    answer = submit(get(people, "/nodes"), "/ui/logout")
    assert answer.location == "/ui/login"
    assert COOKIE not in people.http.cookies
    assert not rows(people)
    people.http.set_cookie(COOKIE, cookie)
    assert is_out(people)


def test_logging_out_everywhere(people: Service) -> None:
    cookies = []
    for user in ("ann", "ann", "root"):
        people.http.reset()
        log_in(people, user)
        cookies.append(people.http.cookies[COOKIE])
    people.http.reset()
    people.http.set_cookie(COOKIE, cookies[0])
    page = get(people, "/session")
    assert "ann" in read(page).terms["User"]
    submit(page, "/ui/logout", nth=1)
    assert [row.person for row in rows(people)] == ["root"]
    people.http.set_cookie(COOKIE, cookies[1])
    assert is_out(people)


def test_there_are_at_most_20_sessions_of_a_user(people: Service) -> None:
    log_in(people, "root")
    for _ in range(22):
        people.http.reset()
        log_in(people, "ann")
    found = rows(people)
    assert [row.person for row in found] == ["root"] + ["ann"] * 20
    assert sorted(row.place for row in found[1:]) == list(range(20))
    assert [row.id for row in found] == sorted(row.id for row in found)
    assert found[1].id > found[0].id + 2


def test_sessions_that_are_over_are_swept(people: Service) -> None:
    conductor = people.add_conductor("c9")
    (task,) = [task for task in PERIODIC_TASKS if task.name == "sessions"]
    log_in(people, "ann")
    go_by(people, 3601)
    people.http.reset()
    log_in(people, "root")
    assert len(rows(people)) == 2
    conductor.run_periodic_task(task)
    assert [row.person for row in rows(people)] == ["root"]


def test_no_form_works_without_its_token_or_from_elsewhere(people: Service, subtests: pytest.Subtests) -> None:
    log_in(people, "root")
    foreign = get(people, "/session").forms[1]["csrf_token"].value
    people.http.reset()
    log_in(people, "ann")
    own = get(people, "/session").forms[1]["csrf_token"].value
    for token, headers in [
        ("", {}),
        (foreign, {}),
        (own[:-1], {}),
        (own + "ü", {}),
        (own, {"Origin": "https://evil.example"}),
        (own, {"Origin": "null"}),
        (own, {"Sec-Fetch-Site": "same-site"}),
        (own, {"Sec-Fetch-Site": "cross-site"}),
    ]:
        for path in ("/ui/logout", "/ui/session"):
            with subtests.test(path=path, token=token, headers=headers):
                fields = {"csrf_token": token, "project": "x"}
                people.http.post(path, fields, headers={**BROWSER, **headers}, status=403)
    assert len(rows(people)) == 2
    people.http.post("/ui/logout", {"csrf_token": own}, headers={"Origin": "http://localhost"}, status=303)


def test_nobody_is_logged_in_by_another_site(people: Service) -> None:
    """Its form has no token, or that of another browser, or does not come from here."""
    token = get(people, "/login").forms[0]["csrf_token"].value
    fields = {"user": "root", "password": "root" + BEHIND}
    people.http.post("/ui/login", {**fields, "csrf_token": token}, headers={"Origin": "http://evil"}, status=403)
    people.http.reset()
    people.http.post("/ui/login", {**fields, "csrf_token": token}, headers=BROWSER, status=403)
    get(people, "/login")
    people.http.post("/ui/login", {**fields, "csrf_token": token}, headers=BROWSER, status=403)
    people.http.post("/ui/login", fields, headers=BROWSER, status=403)
    assert not rows(people)


def test_origins_that_cors_allows_may_not_use_the_pages(database_url: str, tmp_path: Path) -> None:
    settings = {**file_settings(tmp_path), "cors": {"allowed_origin": ["https://friend.example", "*"]}}
    with Service(database_url, **settings) as service:
        log_in(service, "ann")
        token = get(service, "/session").forms[1]["csrf_token"].value
        headers = {**BROWSER, "Origin": "https://friend.example"}
        service.http.post("/ui/logout", {"csrf_token": token}, headers=headers, status=403)
        read_by = "Access-Control-Allow-Origin"
        assert read_by not in service.http.get("/ui/session", headers=headers).headers
        assert read_by in service.http.get("/", headers={"Origin": "https://friend.example"}).headers


def test_a_form_without_a_session_leads_to_the_log_in_and_back(people: Service) -> None:
    log_in(people, "ann")
    page = get(people, "/nodes")
    go_by(people, 3601)
    token = page.forms[1]["csrf_token"].value
    for referrer, after in [
        ("http://localhost/ui/nodes?a=b", "%2Fui%2Fnodes%3Fa%3Db"),
        *[(each, "") for each in ("", "http://[", "\xff")],
    ]:
        headers = {**BROWSER, "Referer": referrer}
        answer = people.http.post("/ui/session", {"csrf_token": token}, headers=headers, status=303)
        assert answer.location == f"/ui/login?next={after}"


def test_no_api_takes_the_cookie(people: Service, subtests: pytest.Subtests) -> None:
    log_in(people, "root")
    cookie = {"Cookie": f"{COOKIE}={people.http.cookies[COOKIE]}"}
    for path in (
        *("/baremetal/v1/nodes", "/placement/resource_providers", "/compute/v2.1/flavors", "/image/v2/images"),
        *("/scheduling/v1/capacity", "/metrics"),
    ):
        with subtests.test(path=path):
            environ = {"REMOTE_ADDR": "192.0.2.1"}
            people.http.get(path, headers=cookie, extra_environ=environ, status=401)


def test_log_ins_and_log_outs_are_audited(lines: io.StringIO, database_url: str, tmp_path: Path) -> None:
    with Service(database_url, **file_settings(tmp_path)) as service:
        log_in(service, "ann", "wrong-password", status=401)
        log_in(service, "ann", next="/ui/nodes?name=n1")
        submit(get(service, "/nodes"), "/ui/logout")
        found = [(line["route"], line["status"], line["user_id"], line["location"]) for line in audited(lines)]
    assert found == [
        ("/login", 401, None, None),
        ("/login", 303, "ann", "/ui/nodes"),
        ("/logout", 303, "ann", "/ui/login"),
    ]


@pytest.mark.sqlite_only
def test_without_authentication_nobody_logs_in(service: Service) -> None:
    token = get(service, "/confirm?action=release&item=x").forms[1]["csrf_token"].value
    for path in ("login", "session"):
        get(service, f"/{path}", 404)
    for path in ("login", "session", "logout"):
        service.http.post(f"/ui/{path}", {"csrf_token": token}, headers=BROWSER, status=404)
    first = service.http.cookies["baremetal_sched_form"]
    get(service, "/nodes")
    assert service.http.cookies["baremetal_sched_form"] == first


@pytest.mark.sqlite_only
def test_with_noauth2_pages_are_for_reading(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1")
        for path in ("/ui/login", "/ui/session"):
            service.http.get(path, headers={**BROWSER, **ADMIN}, status=404)
        assert "/ui/login" not in get(service, "/nodes", 401).text
        for path in ("/ui/nodes", "/ui/nodes/n1", "/ui/holds"):
            page = service.http.get(path, headers={**BROWSER, **ADMIN})
            assert "/ui/confirm" not in page.text
            assert 'type="checkbox" name="item"' not in page.text
        form = {"action": "maintenance on", "item": uuid}
        assert "/ui/login" not in service.http.post("/ui/act", form, headers={**BROWSER, **ADMIN}, status=401).text


def test_behind_a_proxy_with_a_prefix(database_url: str, tmp_path: Path) -> None:
    proxy = {"oslo_middleware": {"enable_proxy_headers_parsing": True}}
    with Service(database_url, **file_settings(tmp_path), **proxy) as service:
        headers = {**BROWSER, "X-Forwarded-Prefix": "/metal", "X-Forwarded-Proto": "https"}
        led = service.http.get("/ui/nodes", headers=headers, status=303)
        assert led.location == "/metal/ui/login?next=%2Fmetal%2Fui%2Fnodes"
        page = service.http.get("/ui/login", {"next": "/metal/ui/nodes"}, headers=headers)
        sent = [page.headers["Set-Cookie"]]
        form = {"csrf_token": page.forms[0]["csrf_token"].value, "next": "/metal/ui/nodes"}
        form |= {"user": "root", "password": "root" + BEHIND}
        headers["Cookie"] = sent[0].partition(";")[0]
        answer = service.http.post("/ui/login", form, headers=headers, status=303)
        assert answer.location == "/metal/ui/nodes"
        sent += answer.headers.getall("Set-Cookie")
        assert all("Path=/metal/ui;" in each and "Secure" in each for each in sent)
        service.add_conductor("c1")
        uuid = service.add_node("n1")
        headers["Cookie"] = sent[1].partition(";")[0]
        page = service.http.get("/ui/confirm", {"action": "maintenance on", "item": uuid}, headers=headers)
        order = {"action": "maintenance on", "item": uuid, "csrf_token": page.forms[1]["csrf_token"].value}
        assert service.http.post("/ui/act", order, headers=headers, status=303).location == "/metal/ui/"


@pytest.mark.sqlite_only
def test_browsers_that_ask_for_the_root_are_led_to_the_pages(service: Service, database_url: str) -> None:
    assert service.http.get("/", headers=BROWSER, status=303).location == "/ui/"
    for accept in (None, "*/*", "application/json", "application/json, text/html;q=0.9"):
        service.http.get("/", headers={"Accept": accept} if accept else {}, status=200).json["links"]
    with Service(database_url, ui={"enabled": False}) as other:
        other.http.get("/", headers=BROWSER, status=200)
