"""Common rules of all pages: where they are served, to whom, with which headers, and how they refuse."""

import base64
from pathlib import Path
from uuid import uuid4

import bcrypt
import pytest
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Node, table_of
from baremetal_sched.ui.routes import PAGES
from baremetal_sched.ui.tabs import NAVIGATION
from tests.functional.ui.pages import look, read
from tests.functional.ui.test_fleet import ADMIN
from tests.service import Service

#: Where the search box in the header leads, which every page has.
SEARCH = "/search"
ADDRESSES = [page.path for page in PAGES if "<" not in page.path and page.path != SEARCH]


def test_all_addresses_of_the_navigation_are_pages_and_no_other_is_left_out() -> None:
    assert [path for path, _ in NAVIGATION] == ADDRESSES


@pytest.mark.sqlite_only
def test_nothing_but_what_the_service_sends_is_loaded(service: Service, subtests: pytest.Subtests) -> None:
    for path in ["/ui", *(f"/ui{path}" for path in ADDRESSES), "/ui/nothing", "/ui/static/ui.css"]:
        with subtests.test(path=path):
            answer = service.http.get(path, expect_errors=True)
            policy = answer.headers["Content-Security-Policy"].split("; ")
            assert policy[0] == "default-src 'none'"
            assert {"script-src 'self'", "connect-src 'self'"} < set(policy)
            assert {"base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'", "style-src 'self'"} < set(policy)
            assert "unsafe" not in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "same-origin"
            assert answer.headers["Cache-Control"] == ("no-cache" if "static" in path else "no-store")
            assert answer.headers["X-OpenStack-Request-Id"].startswith("req-")


@pytest.mark.sqlite_only
def test_every_page_is_in_the_navigation_and_links_to_this_service_only(
    service: Service, subtests: pytest.Subtests
) -> None:
    for path in ADDRESSES:
        with subtests.test(path=path):
            document = look(service, path)
            assert all(link.startswith(("/ui/", "#")) for link in document.links())
            assert all((each["href"] or "").startswith("/ui/static/") for each in document.all("link"))
            current = [each["href"] for each in document.all("a") if each.get("aria-current") == "page"]
            assert current == [f"/ui{path}"]
            assert document.links()[0] == "#content"
            assert [each.get("action") for _, each in document.elements if each.get("role") == "search"] == [
                "/ui/search"
            ]
            assert document.all("main")[0]["id"] == "content"


@pytest.mark.sqlite_only
def test_head_is_get_without_a_body(service: Service, subtests: pytest.Subtests) -> None:
    for path in ["", *ADDRESSES, "/static/ui.css"]:
        with subtests.test(path=path):
            asked, told = service.http.get(f"/ui{path}"), service.http.head(f"/ui{path}")
            assert told.body == b""
            assert told.headers["Content-Type"] == asked.headers["Content-Type"]
            assert asked.body


@pytest.mark.sqlite_only
def test_pages_are_for_reading(service: Service, subtests: pytest.Subtests) -> None:
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]:
        with subtests.test(method=method):
            answer = service.http.request("/ui/", method=method, expect_errors=True)
            assert answer.status_int == 405
            assert answer.headers["Allow"] == "GET, HEAD"
            assert "<h1>405 Method Not Allowed</h1>" in answer.text


@pytest.mark.sqlite_only
def test_what_is_refused_is_a_page(service: Service, subtests: pytest.Subtests) -> None:
    for path, status, said in [
        ("/nothing", 404, "could not be found"),
        ("/static/../app.py", 404, "could not be found"),
        ("/static/api.py", 404, "could not be found"),
        ("/%00", 400, "NUL"),
        ("/%FF", 404, "could not be found"),
        ("/?colour=red", 400, "Unexpected arguments: colour"),
        ("/?%3Cscript%3Ealert(1)%3C%2Fscript%3E=1", 400, "<script>alert(1)</script>"),
        ("/?a=%FF", 400, "UTF-8"),
        ("/?" + "a" * 5000, 400, "Unexpected arguments"),
    ]:
        with subtests.test(path=path):
            document = look(service, path, status)
            assert said in document.text
            assert document.all("title")
            assert document.texts[0][1].startswith(f"{status} ")


@pytest.mark.sqlite_only
def test_accept_does_not_matter(service: Service) -> None:
    for accept in ("application/json", "text/html", "x", "*/*;q=0"):
        look(service, Accept=accept)


@pytest.mark.sqlite_only
def test_the_style_sheet_is_asked_for_once(service: Service) -> None:
    first = service.http.get("/ui/static/ui.css")
    assert first.content_type == "text/css"
    again = service.http.get("/ui/static/ui.css", headers={"If-None-Match": first.headers["ETag"]}, status=304)
    assert again.body == b""
    assert "<svg" in service.http.get("/ui/static/icon.svg").text
    assert "url(" not in first.text
    assert "@import" not in first.text


@pytest.mark.sqlite_only
def test_a_page_that_has_not_changed_is_not_sent_again(service: Service) -> None:
    first = service.http.get("/ui/nodes")
    (as_of,) = [each for each in read(first).all("time") if "data-tag" in each]
    assert as_of["data-tag"] == first.headers["ETag"]
    known = {"If-None-Match": first.headers["ETag"]}
    again = service.http.get("/ui/nodes", headers=known, status=304)
    assert again.body == b""
    assert "Date" not in again.headers  # the server adds it
    service.add_node("n1")
    assert service.http.get("/ui/nodes", headers=known).headers["ETag"] != first.headers["ETag"]
    assert "ETag" not in service.http.get("/ui/nothing", status=404).headers


@pytest.mark.sqlite_only
def test_the_scripts_are_small_and_know_no_other_place(service: Service) -> None:
    for file in ("live.js", "copy.js"):
        script = service.http.get(f"/ui/static/{file}")
        assert script.content_type == "text/javascript"
        assert len(script.body) < 15_000
        assert "http" not in script.text
        for name in ("innerHTML", "eval(", "document.write"):
            assert name not in script.text
    # What takes long or depends on a form is not asked for again and again.
    live = "/ui/static/live.js"
    refreshed = {path for path in ADDRESSES if live in [each["src"] for each in look(service, path).all("script")]}
    assert refreshed == set(ADDRESSES) - {"/find"}
    assert live not in [each["src"] for each in look(service, "/search?q=x").all("script")]


@pytest.mark.sqlite_only
def test_a_prefix_of_a_proxy_is_in_every_link(database_url: str) -> None:
    trusted = {"enable_proxy_headers_parsing": True}
    with Service(database_url, oslo_middleware=trusted, api={"auth_strategy": "noauth2"}) as service:
        document = look(service, **{"X-Forwarded-Prefix": "/metal"}, **ADMIN)
        assert "/metal/ui/nodes" in document.links()
        assert all(link.startswith(("/metal/ui/", "#")) for link in document.links())


def status(service: Service, listener: str, host: str, path: str = "/ui/") -> int:
    """The answer to a request that arrives at this listener, for this host."""
    place = {"SERVER_NAME": listener, "SERVER_PORT": "6385"}
    return service.http.get(path, headers={"Host": host}, extra_environ=place, expect_errors=True).status_int


@pytest.mark.sqlite_only
def test_without_authentication_pages_are_for_this_machine(database_url: str, subtests: pytest.Subtests) -> None:
    for strategy in ["none", "noauth"]:
        for insecure in [False, True]:
            api = {"auth_strategy": strategy, "insecure": insecure}
            with subtests.test(api=api), Service(database_url, api=api) as service:
                for host in ("127.0.0.1:6385", "localhost", "[::1]:6385"):
                    assert status(service, "127.0.0.1", host) == 200
                assert status(service, "::1", "[::1]") == 200
                assert status(service, "192.0.2.1", "192.0.2.1:6385") == 403
                assert status(service, "0.0.0.0", "localhost") == 403
                # A proxy on this machine, or a foreign name that leads here.
                assert status(service, "127.0.0.1", "api.example.org") == 403
                assert status(service, "127.0.0.1", "api.example.org", "/ui/static/ui.css") == 403
                for header in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Via"):
                    look(service, status=403, **{header: "127.0.0.1"})
                if insecure:
                    assert status(service, "192.0.2.1", "192.0.2.1", "/scheduling/v1/capacity") == 200
                    place = {"SERVER_NAME": "192.0.2.1"}
                    document = read(service.http.get("/ui/", extra_environ=place, status=403))
                    assert "http_basic" in document.text


@pytest.mark.sqlite_only
def test_where_there_are_no_pages_a_plain_text_says_why(database_url: str) -> None:
    with Service(database_url, ui={"enabled": False}) as service:
        for path in ("/ui", "/ui/", "/ui/nothing", "/ui/static/ui.css", "/ui/login"):
            answer = service.http.get(path, status=404)
            assert answer.content_type == "text/plain"
            assert "[ui] enabled = false" in answer.text
        assert "ui" not in service.http.get("/").json["links"]


def copy(session: Session) -> None:
    """Add 299 nodes that are like the only one."""
    row = session.execute(select(table_of(Node))).mappings().one()
    new = [{"uuid": str(uuid4()), "name": f"copy-{number}", "id": row["id"] + 1 + number} for number in range(299)]
    session.execute(insert(table_of(Node)), [{**row, **each} for each in new])


def test_every_page_but_find_takes_few_statements_however_large_the_fleet_is(service: Service) -> None:
    """Two more are those of the session of who has logged in."""
    found = [each.path.replace("<ident>", "first").replace("<path:name>", "(default)") for each in PAGES]
    paths = [f"{path}?q=copy" if path == SEARCH else path for path in found if path != "/find"]
    for copies in (0, 299):
        if copies:
            service.add_node("first", traits=("CUSTOM_A",))
            service.database.write(copy)
        for path in paths:
            with service.statements() as statements:
                service.http.get(f"/ui{path}", status="*")
            assert len(statements) <= 14, path


@pytest.mark.sqlite_only
def test_the_root_names_the_pages(service: Service) -> None:
    assert service.http.get("/").json["links"]["ui"] == {"href": "http://localhost/ui"}


ROLES = "root: {roles: [admin, reader], system_scope: all}\nann: {roles: [reader], project_id: p1}\n"


@pytest.mark.sqlite_only
def test_programs_send_a_name_and_a_password(database_url: str, tmp_path: Path) -> None:
    users, roles = tmp_path / "users", tmp_path / "roles"
    lines = [f"{name}:{bcrypt.hashpw(name[::-1].encode(), bcrypt.gensalt(4)).decode()}" for name in ("root", "ann")]
    users.write_text("\n".join(lines))
    roles.write_text(ROLES)
    files = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(roles)}
    with Service(database_url, DEFAULT=files, api={"auth_strategy": "http_basic"}) as service:
        place = {"SERVER_NAME": "192.0.2.1"}
        refused = service.http.get("/ui/", extra_environ=place, status=401)
        assert refused.headers["WWW-Authenticate"].startswith("Basic ")
        assert "Log in" in read(refused).text
        assert service.http.get("/ui/static/ui.css", extra_environ=place).status_int == 200
        for name in ("root", "ann"):
            token = base64.b64encode(f"{name}:{name[::-1]}".encode()).decode()
            document = look(service, Authorization=f"Basic {token}")
            assert f"Logged in as {name}" in document.text
            assert ("your project" in document.text) == (name == "ann")
        wrong = base64.b64encode(b"root:wrong").decode()
        look(service, status=401, Authorization=f"Basic {wrong}")
