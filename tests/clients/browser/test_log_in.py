"""People log in to the pages with the file of users: cookies, sessions that end, and forms of other sites."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, expect

from tests.clients.browser.chromium import Visit, log_out
from tests.clients.browser.conftest import Served, in_thread
from tests.clients.browser.test_pages import judge
from tests.functional.ui.logging_in import BEHIND, file_settings, go_by, rows
from tests.service import Service

COOKIE = "baremetal_sched_session"
#: How often an open page is asked for again, in milliseconds.
EVERY = 15_000


@pytest.fixture
def site(sqlite_template: Path, tmp_path: Path) -> Iterator[Served]:
    path = tmp_path / "site.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    path.chmod(0o600)
    settings = file_settings(tmp_path)
    with Service(f"sqlite:///{path}", **settings) as service, in_thread(service) as served:
        yield served


def test_logging_in_and_out(browser: Browser, site: Served) -> None:
    """The person is back on the page, and knows who is logged in."""
    with Visit(browser, site.url) as visit:
        assert visit.is_led_to_log_in("/ui/nodes?sort_key=name")
        page = visit.log_in("ann", "wrong", 401)
        expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
        page = visit.log_in("ann", "ann" + BEHIND)
        page.wait_for_url(f"{site.url}/ui/nodes?sort_key=name")
        expect(page.locator(".person summary")).to_have_attribute("title", "ann for p1")
        log_out(page)
        page.wait_for_url(f"{site.url}/ui/login")
        assert visit.cookie(COOKIE) is None
        assert visit.is_led_to_log_in("/ui/nodes")


def test_the_header_is_one_row_at_a_desk(browser: Browser, site: Served) -> None:
    """Whoever is logged in; and the first field of the log-in has the focus."""
    with Visit(browser, site.url) as visit:
        page = visit.open("/ui/login")
        assert page.evaluate("document.activeElement.id") == "user"
        assert page.locator("main a, nav a").count() == 0
        visit.log_in("root", "root" + BEHIND).wait_for_url(f"{site.url}/ui/")
        tops = "all => all.map(each => each.getBoundingClientRect()).map(box => box.top + box.height / 2)"
        middles = page.locator("header nav > ul > li, header .person, header form.search").evaluate_all(tops)
        assert max(middles) - min(middles) < 10


def test_the_cookie(browser: Browser, site: Served) -> None:
    with Visit(browser, site.url) as visit:
        visit.log_in("ann", "ann" + BEHIND)
        cookie = visit.cookie(COOKIE)
        assert cookie is not None
        flags = {name: cookie[name] for name in ("httpOnly", "sameSite", "path", "secure", "expires")}
        assert flags == {"httpOnly": True, "sameSite": "Lax", "path": "/ui", "secure": False, "expires": -1}
        assert visit.page.evaluate("document.cookie") == ""
        cookies = {COOKIE: cookie["value"]}
    for path in ("/baremetal/v1/nodes", "/placement/traits", "/compute/v2.1/flavors", "/scheduling/v1/capacity"):
        assert requests.get(site.url + path, cookies=cookies, timeout=60).status_code == 401
    assert requests.get(f"{site.url}/ui/nodes", cookies=cookies, timeout=60).status_code == 200


def test_a_session_that_is_over(browser: Browser, site: Served) -> None:
    """The open page says so; it is not refreshed, and asks for no password."""
    with Visit(browser, site.url) as visit:
        visit.log_in("ann", "ann" + BEHIND)
        visit.page.clock.install()
        page = visit.open("/ui/nodes")
        used = rows(site.service)[0].used_at
        with page.expect_response("**/ui/nodes") as answered:
            page.clock.run_for(EVERY)
        assert answered.value.status == 304
        assert rows(site.service)[0].used_at == used
        go_by(site.service, 3601)
        page.clock.run_for(EVERY)
        expect(page.locator("#as-of")).to_contain_text("the session has ended: load the page again")
        visit.complaints.clear()  # the refresh that was refused
        assert visit.is_led_to_log_in("/ui/nodes")
        visit.log_in("ann", "ann" + BEHIND).wait_for_url(f"{site.url}/ui/nodes")


def test_logging_out_everywhere(browser: Browser, site: Served) -> None:
    with Visit(browser, site.url) as one, Visit(browser, site.url) as other, Visit(browser, site.url) as root:
        for visit, user in ((one, "ann"), (other, "ann"), (root, "root")):
            visit.log_in(user, user + BEHIND).wait_for_url(f"{site.url}/ui/")
        page = one.open("/ui/session")
        page.get_by_role("button", name="Log out everywhere").click()
        page.wait_for_url(f"{site.url}/ui/login")
        assert other.is_led_to_log_in("/ui/nodes")
        assert not root.is_led_to_log_in("/ui/nodes")


def test_the_pages_of_the_log_in(browser: Browser, site: Served) -> None:
    """Structure, contrast in light and dark, width at a desk and on a phone."""
    with Visit(browser, site.url) as visit:
        visit.open("/ui/login")
        assert judge(visit) == []
        visit.log_in("ann", "ann" + BEHIND).wait_for_url(f"{site.url}/ui/")
        for path in ("/ui/session", "/ui/nodes"):
            visit.open(path)
            assert judge(visit) == []


def test_without_scripts(browser: Browser, site: Served) -> None:
    with Visit(browser, site.url, java_script_enabled=False) as visit:
        page = visit.log_in("ann", "ann" + BEHIND)
        page.wait_for_url(f"{site.url}/ui/")
        log_out(page)
        page.wait_for_url(f"{site.url}/ui/login")


def test_no_form_works_without_its_token(browser: Browser, site: Served) -> None:
    """Nor with that of another person."""
    with Visit(browser, site.url) as ann, Visit(browser, site.url) as root:
        for visit, user in ((ann, "ann"), (root, "root")):
            visit.log_in(user, user + BEHIND).wait_for_url(f"{site.url}/ui/")
        other = root.page.locator("[name=csrf_token]").first.get_attribute("value")
        for token in ("", other):
            page = ann.open("/ui/nodes")
            page.evaluate("token => document.querySelector('[name=csrf_token]').value = token", token)
            ann.expect_status(403)
            log_out(page)
            expect(page.get_by_role("heading", level=1)).to_have_text("403 Forbidden")
        assert not ann.is_led_to_log_in("/ui/nodes")


def test_a_form_of_another_origin(browser: Browser, site: Served) -> None:
    """Another site on this machine, which has got hold of the token; browsers send the cookie to it, too."""
    with Visit(browser, site.url) as visit:
        visit.log_in("ann", "ann" + BEHIND).wait_for_url(f"{site.url}/ui/")
        token = visit.page.locator("[name=csrf_token]").first.get_attribute("value")
        field = f"<input name=csrf_token value='{token}'>"
        form = f"<form method=post action='{site.url}/ui/logout'>{field}<button>Go</button></form>"
        visit.answer_elsewhere("http://127.0.0.1:9/", form)
        visit.page.goto("http://127.0.0.1:9/")
        visit.expect_status(403)
        visit.page.get_by_role("button", name="Go").click()
        expect(visit.page.get_by_role("heading", level=1)).to_have_text("403 Forbidden")
        visit.complaints.clear()
        assert not visit.is_led_to_log_in("/ui/nodes")
