"""Everything can be done without a mouse, and it can be seen where one is."""

from typing import Any

import pytest
from playwright.sync_api import Browser

from baremetal_sched.ui.tabs import IN_MENU, NAVIGATION
from tests.clients.browser import checks
from tests.clients.browser.chromium import PHONE, Visit
from tests.clients.browser.conftest import Served

LABELS = [*(label for path, label in NAVIGATION if path not in IN_MENU), "More"]
_MOST = 200


def tab(visit: Visit) -> dict[str, Any] | None:
    """Go on by one, and return where that is."""
    visit.page.keyboard.press("Tab")
    return checks.focused(visit.page)


def tab_to(visit: Visit, name: str) -> None:
    """Go on until the element with this name (or whose name begins so) has the focus; each on the way can be seen."""
    passed = []
    for _ in range(_MOST):
        found = tab(visit)
        assert found is not None, (name, passed)
        assert found["seen"], found
        passed.append(found["name"])
        if found["name"].startswith(name):
            return
    raise AssertionError(f"{name} is not among {passed}")


@pytest.mark.parametrize("size", [None, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_stop_can_be_seen(browser: Browser, twenty: Served, size: tuple[int, int] | None, scheme: str) -> None:
    """The first stops are the link past the navigation, and the pages."""
    sized = {"size": size} if size else {}
    with Visit(browser, twenty.url, color_scheme=scheme, **sized) as visit:
        visit.open("/ui/")
        stops = []
        while (found := tab(visit)) is not None and len(stops) < _MOST:
            stops.append(found)
        assert [one for one in stops if not one["seen"]] == []
        assert [one["name"] for one in stops[: len(LABELS) + 3]] == [
            *("Skip to content", *LABELS, "Search nodes", "Search"),
        ]
        assert len(stops) < _MOST


def test_past_the_navigation(browser: Browser, twenty: Served) -> None:
    with Visit(browser, twenty.url) as visit:
        page = visit.open("/ui/")
        tab_to(visit, "Skip")
        page.keyboard.press("Enter")
        tab(visit)
        assert page.evaluate("document.activeElement.closest('main') !== null")


def test_from_the_fleet_to_a_node(browser: Browser, twenty: Served) -> None:
    """By the navigation, the filters, and the link in the table."""
    with Visit(browser, twenty.url) as visit:
        page = visit.open("/ui/")
        tab_to(visit, "Nodes")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/nodes")
        tab_to(visit, "Filter")
        page.keyboard.press("Enter")
        tab_to(visit, "Has all traits")
        page.keyboard.type("CUSTOM_NVME, CUSTOM_GPU")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/nodes?*")
        tab_to(visit, "claimed")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/nodes/*")
        assert page.get_by_role("heading", level=1).text_content() == "Node claimed"


def test_from_nothing_to_a_machine(browser: Browser, twenty: Served) -> None:
    """A request that finds nothing, the change that helps, and a machine that fits then."""
    with Visit(browser, twenty.url) as visit:
        page = visit.open("/ui/find")
        tab_to(visit, "Resource class")
        page.keyboard.type("silver")
        tab_to(visit, "Has all traits")
        page.keyboard.type("CUSTOM_NVME, CUSTOM_GPU")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/find?*")
        assert page.get_by_role("heading", name="No machine fits").count() == 1
        tab_to(visit, "Leave out")
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "CUSTOM_GPU" not in url)
        assert page.get_by_role("heading", name="1 machine fits").count() == 1
        tab_to(visit, "waiting")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/nodes/*")
        assert page.get_by_role("heading", level=1).text_content() == "Node waiting"
