"""Rows of Holds, Waiting and Claims: one line at a desk, and cards on a phone, in light and in dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.clients.browser import checks
from tests.clients.browser.chromium import DESK, HANDSET, Visit
from tests.clients.browser.conftest import Served, in_thread
from tests.clients.browser.fleets import LONG
from tests.functional.scheduling.test_claims import UUID, post
from tests.functional.scheduling.test_several import claim, fill
from tests.functional.ui.test_waiting import wait
from tests.service import Service

REASON = f"The power supplies of the left shelf are recalled, ticket 4711. {LONG} Ask before anything is released."
#: In pixels.
HIGHEST = 60
#: The height of each row of a table's body.
_HEIGHTS = "all => all.map(each => each.getBoundingClientRect().height)"
#: The cells that can be seen and say nothing.
_EMPTY = """all => all.filter(each => each.checkVisibility() && !each.innerText.trim() && !each.querySelector("input"))
                   .map(each => each.outerHTML)"""


@pytest.fixture(scope="module")
def site(browser: Browser, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Holds, claims, and requests that wait, with long words and without any."""
    path = tmp_path_factory.mktemp("rows") / "site.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    path.chmod(0o600)
    with Service(f"sqlite:///{path}", api={"auth_strategy": "none"}) as service, in_thread(service) as served:
        service.add_conductor("c1")
        fill(service, a=3, b=3)
        long = service.add_node("rack-7-" + "n" * 100)
        for node, reason in ((long, REASON), ("a-0", None), ("a-1", "fan 3")):
            body = {"type": "hardware_failure"} | ({"reason": reason} if reason else {})
            service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status=201)
        later = {"type": "window", "starts_at": "2050-01-01T00:00:00Z", "ends_at": "2050-01-02T00:00:00Z"}
        service.http.post_json("/scheduling/v1/nodes/a-0/holds", later, status=201)
        claim(service, 2)
        post(service, {"resource_class": "gold", "until": "2050-01-02T00:00:00Z"}, status=201)
        wait(service, UUID, query="resources=CUSTOM_SILVER:1", project=LONG)
        yield served


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/ui/holds", "/ui/waiting", "/ui/claims"])
def test_rows(browser: Browser, site: Served, path: str, scheme: str) -> None:
    with Visit(browser, site.url, DESK, color_scheme=scheme) as visit:
        page = visit.open(path)
        heights = page.locator("main tbody tr").evaluate_all(_HEIGHTS)
        assert heights
        assert max(heights) <= HIGHEST
        # The menu of a row has the whole text, and lies over the rows below.
        page.locator("main .row-menu summary").first.click()
        assert page.locator("main tbody tr").evaluate_all(_HEIGHTS) == heights
        sheet = page.locator("main .row-menu .sheet").first
        assert sheet.is_visible()
        for size in (DESK, HANDSET):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            assert checks.width(page) + checks.contrast(page) + checks.structure(page) == []
        assert page.locator("main tbody").locator("th, td").evaluate_all(_EMPTY) == []


def test_the_whole_reason_is_in_the_menu(browser: Browser, site: Served) -> None:
    with Visit(browser, site.url) as visit:
        page = visit.open("/ui/holds")
        row = page.locator("tr", has_text="rack-7-")
        assert row.locator("td.cut").get_attribute("title") == REASON
        row.locator("summary").press("Enter")
        assert REASON in row.locator(".sheet").inner_text()
        assert row.locator(".sheet .command").is_visible()


def test_a_claim_of_several_unfolds(browser: Browser, site: Served) -> None:
    with Visit(browser, site.url) as visit:
        page = visit.open("/ui/claims")
        row = page.locator("tr", has_text="2 machines")
        machines = row.locator("th a[href^='/ui/nodes/']")
        assert machines.count() == 2
        assert not machines.first.is_visible()
        row.get_by_text("2 machines").click()
        assert machines.first.is_visible()
