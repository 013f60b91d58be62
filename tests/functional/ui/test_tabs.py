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
#: What tabs say that are no links, and a word for it.
HINTS = {
    "This page is for people who act for a project. You act for the system.": "projects",
    "This page is for administrators of a project, or of the system.": "administrators",
    "Policy does not show this page to your roles for p1.": "roles",
}
#: How many tabs say so, by person.
REFUSED: dict[str, dict[str, int]] = {
    "preader": {"administrators": 1, "roles": 1},  # bookings
    **{name: {"administrators": 1} for name in ("pmember", "pmanager")},
    **{name: {} for name in ("padmin", "sadmin")},
    "sreader": {"projects": 2, "administrators": 1},  # servers and images
    "nobody": {"administrators": 1, "roles": len(NAVIGATION) - 2},  # all but flavors
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
                said = {hint: page.text.count(hint) for hint in HINTS}
                assert sum(said.values()) + len(tabs) == len(NAVIGATION)
                assert {HINTS[hint]: number for hint, number in said.items() if number} == REFUSED[name]
                if name == "sreader":
                    shown = read(get(service, "/servers", 403)).text
                    assert "This page is for people who act for a project. You act for the system." in shown
                    assert "os_compute_api:servers:index" in shown
