"""Words that others chose are shown as they are, and nothing of them becomes part of a page."""

from playwright.sync_api import Browser

from tests.clients.browser import checks
from tests.clients.browser.chromium import PHONE, Visit
from tests.clients.browser.conftest import Served
from tests.clients.browser.fleets import PASSWORD, SCRIPT, WORDS


def test_words_of_a_node(browser: Browser, twenty: Served) -> None:
    """Owner, description, class, instance, errors, history, extra: in a line of their own, whatever they are."""
    with Visit(browser, twenty.url, PHONE) as visit:
        for number, words in enumerate(WORDS):
            page = visit.open(f"/ui/nodes/hostile-{number}")
            shown = page.locator("main").get_by_text(words, exact=True)
            assert shown.count() >= 5, words
            # Text that runs from right to left ends where it ends.
            assert set(shown.evaluate_all("all => all.map(each => each.closest('bdi') !== null)")) == {True}, words
            assert page.locator("main img, main script").count() == 0
            assert checks.structure(page) + checks.width(page) == []
            assert PASSWORD not in page.content()


def test_words_of_a_request(browser: Browser, twenty: Served) -> None:
    """Values in the address are shown, and stay in the form."""
    with Visit(browser, twenty.url) as visit:
        page = visit.open("/ui/nodes")
        page.get_by_text("Filter", exact=True).first.click()
        page.get_by_label("Resource class").fill(SCRIPT)
        page.get_by_label("Resource class").press("Enter")
        page.wait_for_url("**/nodes?*")
        assert page.get_by_label("Resource class").input_value() == SCRIPT
        assert page.get_by_role("link", name="hostile-0").count() == 1
        assert checks.structure(page) == []
