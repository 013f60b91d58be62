"""People log in to the pages with a real Keystone: projects, what they see there, and tokens that are revoked."""

from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from baremetal_sched.db.keyring import generate_key
from tests.clients.browser.chromium import Visit, log_out
from tests.clients.keystone.cloud import Keystone, keystone_in
from tests.clients.keystone.people import PEOPLE
from tests.processes import serve

BOTH, PASSWORD = "red-and-blue", "password-of-red-and-blue"
SECRET = "secret-of-an-application"


@pytest.fixture(scope="module")
def keystone(
    browser: Browser, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Keystone]:
    """A Keystone with a user of two projects and of the system. Nothing is installed where there is no browser."""
    with keystone_in(pytestconfig, tmp_path_factory.mktemp("identity") / "keystone") as running:
        ask, roles = running.ask, running.ask.ids("roles")
        user = {"name": BOTH, "password": PASSWORD, "domain_id": "default"}
        made = ask("POST", "/users", {"user": user})["user"]["id"]
        for project, role in (("red", "admin"), ("blue", "member")):
            ask("PUT", f"/projects/{running.project_ids[project]}/users/{made}/roles/{roles[role]}")
        ask("PUT", f"/system/users/{made}/roles/{roles['admin']}")
        yield running


@pytest.fixture(scope="module")
def url(keystone: Keystone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    keys = folder / "keys"
    keys.write_text(generate_key())
    keys.chmod(0o600)
    settings = {**keystone.settings(token_cache_time=-1), "database": {"secrets_key_file": str(keys)}}
    with serve(folder, settings=settings) as (_, address):
        headers = {"X-Auth-Token": keystone.token("system-admin"), "X-OpenStack-Ironic-API-Version": "1.115"}
        for name, project in (("red-1", "red"), ("blue-1", "blue")):
            node = {"driver": "fake-hardware", "name": name, "owner": keystone.project_ids[project]}
            requests.post(f"{address}/baremetal/v1/nodes", json=node, headers=headers, timeout=60).raise_for_status()
        yield address


def names(page: Page) -> list[str]:
    return page.locator("tbody th a").all_text_contents()


def test_a_person_sees_what_is_of_the_chosen_project(browser: Browser, url: str) -> None:
    with Visit(browser, url) as visit:
        assert visit.is_led_to_log_in("/ui/nodes")
        page = visit.log_in(BOTH, "wrong", 401)
        expect(page.get_by_role("alert")).to_contain_text("Keystone refuses this log-in")
        page = visit.log_in(BOTH, PASSWORD)
        page.wait_for_url(f"{url}/ui/session?next=%2Fui%2Fnodes")
        for project, seen in (("red", ["red-1"]), ("blue", ["blue-1"]), ("the system", ["blue-1", "red-1"])):
            before = visit.cookie("baremetal_sched_session")
            page = visit.open("/ui/session?next=%2Fui%2Fnodes%3Fsort_key%3Dname")
            page.get_by_label("Project", exact=True).select_option(label=project)
            page.get_by_role("button", name="Act for this project").click()
            page.wait_for_url(f"{url}/ui/nodes?sort_key=name")
            expect(page.locator(".person summary")).to_have_attribute("title", f"{BOTH} for {project}")
            assert names(page) == seen
            assert visit.cookie("baremetal_sched_session") != before


@pytest.mark.parametrize(("name", "seen"), [("red-member", ["red-1"]), ("blue-reader", ["blue-1"])])
def test_a_member_sees_what_is_theirs_and_no_more(browser: Browser, url: str, name: str, seen: list[str]) -> None:
    with Visit(browser, url) as visit:
        visit.log_in(name, PEOPLE[name].password).wait_for_url(f"{url}/ui/")
        assert names(visit.open("/ui/nodes")) == seen
        for node in ("red-1", "blue-1"):
            visit.open(f"/ui/nodes/{node}", 200 if node in seen else 404)


def test_logging_out_revokes_the_token(browser: Browser, url: str, keystone: Keystone) -> None:
    with Visit(browser, url) as one, Visit(browser, url) as other:
        for visit in (one, other):
            visit.log_in("red-manager", PEOPLE["red-manager"].password).wait_for_url(f"{url}/ui/")
        log_out(one.page)
        one.page.wait_for_url(f"{url}/ui/login")
        assert not other.is_led_to_log_in("/ui/nodes")
        other.open("/ui/session").get_by_role("button", name="Log out everywhere").click()
        other.page.wait_for_url(f"{url}/ui/login")
        assert other.is_led_to_log_in("/ui/nodes")


def test_who_is_disabled_is_out_at_once(browser: Browser, url: str, keystone: Keystone) -> None:
    user = {"name": "leaver", "password": PASSWORD, "domain_id": "default"}
    made = keystone.ask("POST", "/users", {"user": user})["user"]["id"]
    role = keystone.ask.ids("roles")["member"]
    keystone.ask("PUT", f"/projects/{keystone.project_ids['red']}/users/{made}/roles/{role}")
    with Visit(browser, url) as visit:
        visit.log_in("leaver", PASSWORD).wait_for_url(f"{url}/ui/")
        assert not visit.is_led_to_log_in("/ui/nodes")
        keystone.ask("PATCH", f"/users/{made}", {"user": {"enabled": False}})
        assert visit.is_led_to_log_in("/ui/nodes")
        expect(visit.log_in("leaver", PASSWORD, 401).get_by_role("alert")).to_contain_text("Keystone refuses")


def test_an_application_credential(browser: Browser, url: str, keystone: Keystone) -> None:
    user, headers = keystone.user_ids["blue-member"], {"X-Auth-Token": keystone.token("blue-member")}
    body = {"application_credential": {"name": "pages", "secret": SECRET}}
    address = f"{keystone.url}/v3/users/{user}/application_credentials"
    ident = requests.post(address, json=body, headers=headers, timeout=60).json()["application_credential"]["id"]
    with Visit(browser, url) as visit:
        page = visit.open("/ui/login")
        page.get_by_text("With an application credential").click()
        page.get_by_label("ID", exact=True).fill(ident)
        page.get_by_label("Secret").fill(SECRET)
        page.get_by_role("button", name="Log in with the credential").click()
        page.wait_for_url(f"{url}/ui/")
        assert names(visit.open("/ui/nodes")) == ["blue-1"]
        assert visit.open("/ui/session").get_by_label("Project", exact=True).count() == 0
