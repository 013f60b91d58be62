"""Who sees what in a browser, where callers log in: a served process, with users and their projects."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest
from playwright.sync_api import Browser, expect

from baremetal_sched.cli.user_files import line_of
from tests.clients.browser.chromium import Visit
from tests.leaks import WATCH
from tests.processes import serve
from tests.service import Service

PASSWORD = "browser-password-1"
ROLES = """
operator: {roles: [admin], system_scope: all}
anna: {roles: [reader], project_id: blue}
bert: {roles: [reader], project_id: green}
"""
NODES = {"blue-1": "blue", "green-1": "green", "ours": None}


@pytest.fixture(scope="module")
def url(browser: Browser, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("users")
    path = folder / "fleet.sqlite"
    copy(sqlite_template, path)
    path.chmod(0o600)
    with Service(f"sqlite:///{path}") as service:
        service.add_conductor("c1")
        for name, owner in NODES.items():
            service.add_node(name, owner=owner)
    users, roles = folder / "users", folder / "roles.yaml"
    users.write_text("".join(f"{line_of(name, PASSWORD).strip()}\n" for name in ("operator", "anna", "bert")))
    roles.write_text(ROLES)
    for file in (users, roles):
        file.chmod(0o600)
    settings = {"DEFAULT": {"http_basic_auth_user_file": users, "http_basic_auth_roles_file": roles}}
    options = ("--without-conductor", "--auth-strategy", "http_basic", "--database", f"sqlite:///{path}")
    with serve(folder, *options, settings=settings) as (_, address):
        yield address


def test_without_a_password(browser: Browser, url: str) -> None:
    """The browser shows where to log in; a wrong password is of no use."""
    with Visit(browser, url) as stranger:
        for path in ("/ui/", "/ui/nodes", "/ui/nodes/ours"):
            assert stranger.is_led_to_log_in(path)
        page = stranger.log_in("anna", "wrong", 401)
        expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
        assert "blue-1" not in page.content()


@pytest.mark.parametrize(("user", "seen"), [("operator", list(NODES)), ("anna", ["blue-1"]), ("bert", ["green-1"])])
def test_nodes_of_a_project(browser: Browser, url: str, user: str, seen: list[str]) -> None:
    """Others are not in the list, not counted, and not there."""
    with Visit(browser, url) as one:
        one.log_in(user, PASSWORD)
        page = one.open("/ui/nodes")
        assert page.locator("tbody th a").all_text_contents() == seen
        assert PASSWORD not in page.content()
        for name in NODES:
            one.open(f"/ui/nodes/{name}", 200 if name in seen else 404)
        page = one.open("/ui/")
        assert page.locator(".figures dd").first.text_content() == str(len(seen))
        assert page.get_by_text(f"Logged in as {user}").count() == 1
        WATCH.assert_silent("page", page.content())
