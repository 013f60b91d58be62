"""Every page at 0, 20, 300 and 50,000 nodes: structure, contrast in light and dark, width on walls, desks, phones."""

import pytest
from playwright.sync_api import Browser

from baremetal_sched.ui.routes import PAGES
from tests.clients.browser import checks
from tests.clients.browser.chromium import DESK, HANDSET, PHONE, WALL, Visit
from tests.clients.browser.conftest import Served

#: Queries that change what a page shows.
QUERIES: dict[str, list[str]] = {
    "/find": [
        "class=gold",
        "class=gold&required=CUSTOM_NVEM,CUSTOM_NVME&forbidden=HW_CPU_X86_VMX&wanted=9",
        "class=metal-7&required=CUSTOM_QUALITY_01,CUSTOM_QUALITY_02",
    ],
    "/capacity": ["traits=CUSTOM_NVME", "level=rack"],
    "/domains": ["level=row"],
    "/nodes": [
        "traits=CUSTOM_NVME,HW_CPU_X86_VMX",
        "resource_class=nothing",
        "failed=true&sort_key=name",
        "domain=rack:",
        "maintenance=true",
    ],
    "/claims": ["late=true"],
    "/bookings": ["all=true&limit=1"],
    "/calendar": ["days=28", "level=rack&resource_class=metal-7", "level=rack&resource_class=gold"],
    "/events": ["type=scheduling.machine.*", "type=scheduling.claim.*&since=hour"],
    "/search": ["q=o", "q=nothing"],
}
#: No page needs more statements, whatever the size of the fleet.
_STATEMENTS = 14
#: So many pages of single things are looked at.
_FOLLOWED = 5


def addresses(visit: Visit, path: str) -> list[str]:
    """Return where a page is found: those of single things where the list above them leads."""
    above, is_of_one, _ = path.partition("/<")
    if not is_of_one:
        return [f"/ui{path}", *(f"/ui{path}?{query}" for query in QUERIES.get(path, ()))]
    links = visit.open(f"/ui{above}").locator(f"main a[href^='/ui{above}/']")
    found: list[str] = list(dict.fromkeys(links.evaluate_all("all => all.map(each => each.getAttribute('href'))")))
    return found[:: max(1, len(found) // _FOLLOWED)]


def judge(visit: Visit) -> list[str]:
    """Return the errors of the page that is shown, on a wall, at a desk and on phones, in light and in dark."""
    page = visit.page
    found = checks.structure(page)
    for size in (WALL, DESK, HANDSET, PHONE):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        found += [f"{size[0]} wide: {one}" for one in checks.width(page)]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found += [f"{scheme}: {one}" for one in checks.contrast(page)]
    return found


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_page(browser: Browser, fleet: Served, path: str) -> None:
    wrong = []
    with Visit(browser, fleet.url) as visit:
        has_racks = bool(fleet.service.http.get("/scheduling/v1/domains?limit=1").json["domains"])
        for address in addresses(visit, path):
            if not has_racks and ("level=" in address or "domain=" in address):
                continue  # it is refused
            with fleet.service.statements() as seen:
                visit.open(address)
            assert len(seen) <= _STATEMENTS, seen
            wrong += [f"{address}: {one}" for one in judge(visit)]
            visit.page.set_viewport_size({"width": DESK[0], "height": DESK[1]})
    assert wrong == []


@pytest.mark.parametrize(
    "path", ["/ui/nowhere", "/ui/nodes?marker=nothing", "/ui/?surprise=%3Cscript%3Ealert(1)%3C/script%3E"]
)
def test_errors(browser: Browser, twenty: Served, path: str) -> None:
    """Pages of errors are pages, too."""
    with Visit(browser, twenty.url) as visit:
        visit.open(path, 404 if "nowhere" in path else 400)
        assert judge(visit) == []


@pytest.mark.parametrize("action", ["hold", "clean", "rescue", "claim", "book"])
def test_confirmations(browser: Browser, twenty: Served, action: str) -> None:
    """Also after a refusal, and of rows that were refused one by one; with the keyboard alone."""
    node = twenty.service.node("gold-1")["uuid"]
    item = "class=nothing" if action in ("claim", "book") else node
    with Visit(browser, twenty.url) as visit:
        visit.open(f"/ui/confirm?action={action}&item={item}&back=/ui/nodes")
        assert judge(visit) == []
        if action != "hold":
            button = visit.page.locator("main form button")
            button.focus()
            visit._expected = 409 if action == "claim" else 400
            with visit.page.expect_navigation():
                visit.page.keyboard.press("Enter")
            assert visit.page.get_by_role("alert").inner_text()
            assert judge(visit) == []
            return
        visit.open(f"/ui/confirm?action=release&item={node}/x&item={node}/y&back=/ui/nodes")
        visit._expected = 409
        visit.page.locator("main form button").click()
        visit.page.get_by_role("region", name="What has become of each").wait_for()
        assert judge(visit) == []
