# tier: first
"""Which tabs people are offered: those that they can use, and for the others who can."""

from pathlib import Path

import pytest

from baremetal_sched.ui.tabs import NAVIGATION
from tests.functional.ui.logging_in import file_settings, get, line_of, log_in
from tests.functional.ui.pages import read
from tests.service import Service

pytestmark = pytest.mark.sqlite_only

ROLES = {
    "preader": "{roles: [reader], project_id: p1}",
    "pmember": "{roles: [member], project_id: p1}",
    "pmanager": "{roles: [manager], project_id: p1}",
    "padmin": "{roles: [admin], project_id: p1}",
    "sreader": "{roles: [reader], system_scope: all}",
    "sadmin": "{roles: [admin], system_scope: all}",
    "nobody": "{roles: [], project_id: p1}",
}


def test_tabs_lead_to_pages_and_others_say_who_can_use_them(
    database_url: str, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    settings = file_settings(tmp_path)
    (tmp_path / "users").write_text("".join(map(line_of, ROLES)))
    (tmp_path / "roles").write_text("".join(f"{name}: {line}\n" for name, line in ROLES.items()))
    with Service(database_url, **settings) as service:
        service.add_conductor("c1")
        for name in ROLES:
            with subtests.test(name):
                service.http.reset()
                log_in(service, name)
                page = read(get(service, "/session"))
                tabs = [each["href"] or "" for each in page.all("a") if each["href"] not in ("#content", "/ui/session")]
                for address in tabs:
                    get(service, address.removeprefix("/ui"), 200)
                refused = page.text.count("This page is for people who act for a project. You act for the system.")
                refused += page.text.count("Policy does not show this page to your roles in the project p1.")
                assert refused + len(tabs) == len(NAVIGATION)
                assert (refused == 0) == (name in ("preader", "pmember", "pmanager", "padmin", "sadmin"))
                if name == "sreader":
                    shown = read(get(service, "/servers", 403)).text
                    assert "This page is for people who act for a project. You act for the system." in shown
                    assert "os_compute_api:servers:index" in shown
