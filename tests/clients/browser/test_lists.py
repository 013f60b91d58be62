"""Lists as people use them all day: lines on the screen, sorting, filters, search, and the way back."""

from collections.abc import Callable

from playwright.sync_api import Browser, Page

from tests.clients.browser import fleets
from tests.clients.browser.chromium import DESK, Visit
from tests.clients.browser.conftest import Served

_IN_SIGHT = """[...document.querySelectorAll("tbody tr")]
  .filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"""


def column(page: Page, place: int) -> list[str]:
    """Return the texts of a column of the list; the first is 1."""
    return [text.strip() for text in page.locator(f"tbody tr > :nth-child({place})").all_text_contents()]


def test_25_nodes_are_in_sight(browser: Browser, served: Callable[[int], Served]) -> None:
    large = served(fleets.SIZE)
    with Visit(browser, large.url, DESK) as visit:
        for query in ("", "?maintenance=true&sort_key=owner", "?offer=free&conductor_group=rack-7"):
            page = visit.open(f"/ui/nodes{query}")
            assert page.evaluate(_IN_SIGHT) >= 25, query
            heights = page.locator("tbody tr").evaluate_all("all => all.map(each => each.offsetHeight)")
            assert max(heights) < 2 * min(heights)


def test_sorting_and_the_way_back(browser: Browser, twenty: Served) -> None:
    with Visit(browser, twenty.url) as visit:
        page = visit.open("/ui/nodes?resource_class=gold")
        first = column(page, 1)
        assert first == sorted(first)
        page.get_by_role("link", name="Name", exact=True).click()
        assert page.get_by_role("columnheader", name="Name").get_attribute("aria-sort") == "ascending"
        page.get_by_role("columnheader", name="Name").get_by_role("link").click()
        assert column(page, 1) == sorted(first, reverse=True)
        page.go_back()
        page.go_back()
        assert column(page, 1) == first


def test_ticks_are_there_again_for_who_cancels(browser: Browser, twenty: Served) -> None:
    with Visit(browser, twenty.url) as visit:
        page = visit.open("/ui/nodes")
        boxes = page.locator("tbody input[type=checkbox]")
        for place in (1, 3):
            boxes.nth(place).check()
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("link", name="Cancel").click()
        page.wait_for_url("**/ui/nodes")
        assert [boxes.nth(place).is_checked() for place in range(5)] == [False, True, False, True, False]
        visit.open("/ui/holds")
        page = visit.open("/ui/nodes")
        assert page.locator("tbody input:checked").count() == 0


def test_at_most_100_are_ticked_at_once(browser: Browser, served: Callable[[int], Served]) -> None:
    with Visit(browser, served(300).url) as visit:
        page = visit.open("/ui/nodes?limit=200")
        page.get_by_role("button", name="Tick the first 100").click()
        assert page.locator("tbody input:checked").count() == 100


def test_filters_are_proposed_and_removed(browser: Browser, twenty: Served) -> None:
    with Visit(browser, twenty.url) as visit:
        page = visit.open("/ui/nodes")
        page.get_by_text("Filter", exact=True).first.click()
        proposed = page.locator("#traits-list option").evaluate_all("all => all.map(each => each.value)")
        assert {"CUSTOM_GPU", "CUSTOM_NVME"} <= set(proposed)
        page.get_by_label("Has all traits").fill("CUSTOM_GPU")
        page.get_by_label("Has all traits").press("Enter")
        page.wait_for_url("**/nodes?*")
        assert column(page, 1) == ["claimed"]
        page.reload()
        assert column(page, 1) == ["claimed"]
        page.get_by_role("link", name="Remove").click()
        page.wait_for_url(lambda address: "CUSTOM_GPU" not in address)
        assert len(column(page, 1)) > 1


def test_the_search_box(browser: Browser, twenty: Served) -> None:
    """One node is shown at once; several are a list, from which one is a click away."""
    with Visit(browser, twenty.url) as visit:
        for start in ("/ui/", "/ui/find", "/ui/nodes/claimed"):
            page = visit.open(start)
            page.get_by_role("searchbox").fill("failed")
            page.get_by_role("searchbox").press("Enter")
            page.wait_for_url("**/ui/nodes/*-*")
            assert page.get_by_role("heading", level=1).text_content() == "Node failed"
        page.get_by_role("searchbox").fill("gold")
        page.get_by_role("searchbox").press("Enter")
        page.wait_for_url("**/ui/search?*")
        assert column(page, 1) == ["gold-1", "gold-2", "gold-3", "gold-4"]
        assert page.get_by_role("searchbox").input_value() == "gold"
