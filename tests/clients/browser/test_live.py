"""Pages that stay open: they follow changes, and disturb no one who reads or types."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.clients.browser.chromium import Visit
from tests.clients.browser.conftest import Served, in_thread
from tests.service import Service

#: How often an open page is asked for again, in milliseconds.
EVERY = 15_000


@pytest.fixture
def three(sqlite_template: Path, tmp_path: Path) -> Iterator[Served]:
    """A service with three nodes."""
    path = tmp_path / "three.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    with Service(f"sqlite:///{path}") as service, in_thread(service) as served:
        service.add_conductor("c1")
        for name in ("n1", "n2", "n3"):
            service.add_node(name)
        yield served


def open_page(visit: Visit, path: str) -> Page:
    """Open a page whose clock stands still until it is moved."""
    visit.page.clock.install()
    return visit.open(path)


def row(page: Page, name: str) -> str:
    return page.locator("tbody tr", has=page.get_by_role("link", name=name)).inner_text()


def test_what_changes_is_followed(browser: Browser, three: Served) -> None:
    """Without a new page: what is unfolded, what is typed and the focus stay."""
    with Visit(browser, three.url) as visit:
        page = open_page(visit, "/ui/nodes?sort_key=name")
        page.get_by_text("Filter", exact=True).first.click()
        page.get_by_label("Owner").last.fill("half a wor")
        page.get_by_role("link", name="n3").focus()
        page.evaluate("document.querySelector('main').dataset.mark = 'the same'")
        three.service.set_columns(three.service.node("n2")["uuid"], provision_state="clean failed")
        three.service.add_node("a-new-one")
        page.clock.run_for(EVERY)
        expect(page.locator("tbody tr")).to_have_count(4)
        assert "clean failed" in row(page, "n2")
        assert page.locator("tbody th").all_text_contents() == ["a-new-one", "n1", "n2", "n3"]
        assert page.evaluate("document.activeElement.textContent") == "n3"
        assert page.get_by_label("Owner").last.input_value() == "half a wor"
        assert page.locator("details.filters").get_attribute("open") is not None
        assert page.evaluate("document.querySelector('main').dataset.mark") in ("the same", None)
        assert page.title().startswith("Nodes")


def test_a_tick_stays_with_its_hold(browser: Browser, three: Served) -> None:
    """Two holds of a node have the same first link. A box whose hold is gone is gone, and no other one is ticked."""
    holds = "/scheduling/v1/nodes/n1/holds"

    def hold(kind: str) -> str:
        uuid: str = three.service.http.post_json(holds, {"type": kind}, status=201).json["uuid"]
        return uuid

    hold("operator_hold")
    released = hold("lockout")
    with Visit(browser, three.url) as visit:
        page = open_page(visit, "/ui/holds")
        page.get_by_label("Tick lockout of n1").check()
        three.service.http.delete(f"{holds}/{released}", status=204)
        page.clock.run_for(EVERY)
        expect(page.locator("tbody input")).to_have_count(1)
        expect(page.locator("tbody input:checked")).to_have_count(0)
        page.get_by_label("Tick operator_hold of n1").check()
        hold("lockout")
        page.clock.run_for(EVERY)
        expect(page.locator("tbody input")).to_have_count(2)
        expect(page.locator("tbody input:checked")).to_have_count(1)
        expect(page.get_by_label("Tick operator_hold of n1")).to_be_checked()


def test_nothing_new_costs_nothing(browser: Browser, three: Served) -> None:
    with Visit(browser, three.url) as visit:
        page = open_page(visit, "/ui/nodes")
        with page.expect_response("**/ui/nodes") as answered:
            page.clock.run_for(EVERY)
        assert answered.value.status == 304
        assert len(answered.value.all_headers()["date"]) == len("Fri, 27 Nov 2026 21:09:40 GMT")
        expect(page.locator("#as-of")).not_to_contain_text("Not refreshed")


def test_a_pause(browser: Browser, three: Served) -> None:
    with Visit(browser, three.url) as visit:
        page = open_page(visit, "/ui/nodes")
        page.get_by_role("button", name="Pause").click()
        three.service.add_node("n4")
        page.clock.run_for(4 * EVERY)
        expect(page.locator("tbody tr")).to_have_count(3)
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("tbody tr")).to_have_count(4)


def test_a_text_that_is_being_copied_stays(browser: Browser, three: Served) -> None:
    with Visit(browser, three.url) as visit:
        page = open_page(visit, "/ui/nodes/n1")
        page.get_by_text("Commands", exact=True).click()
        page.locator("#possible ~ details code").first.select_text()
        marked = page.evaluate("getSelection().toString()")
        three.service.set_columns(three.service.node("n1")["uuid"], provision_state="clean failed")
        page.clock.run_for(EVERY)
        expect(page.get_by_role("status").last).to_have_text("Not refreshed: a text is selected.")
        assert page.evaluate("getSelection().toString()") == marked != ""
        page.evaluate("getSelection().removeAllRanges()")
        page.clock.run_for(2 * EVERY)
        expect(page.locator("p.state")).to_contain_text("clean failed")


def test_a_service_that_is_gone_is_asked_less_often(browser: Browser, three: Served) -> None:
    with Visit(browser, three.url) as visit:
        page = open_page(visit, "/ui/nodes")
        asked: list[str] = []

        def lose(route: Route) -> None:
            asked.append(route.request.url)
            if len(asked) == 1:
                route.abort()
            else:
                route.fallback()

        page.route("**/ui/nodes", lose)
        page.clock.run_for(EVERY)
        expect(page.locator("#as-of")).to_contain_text("Not refreshed: the service does not answer.")
        page.clock.run_for(EVERY)
        assert len(asked) == 1
        page.clock.run_for(EVERY + 2_000)
        expect(page.locator("#as-of")).not_to_contain_text("Not refreshed")
        assert len(asked) == 2
        visit.complaints.clear()  # the request that this test has cut off


def test_everything_works_without_scripts(browser: Browser, three: Served) -> None:
    with Visit(browser, three.url, java_script_enabled=False) as visit:
        page = visit.open("/ui/nodes")
        expect(page.locator("#as-of")).to_contain_text("As of")
        assert page.get_by_role("button", name="Pause").count() == 0
        page.get_by_role("link", name="Name", exact=True).click()
        page.get_by_role("link", name="n2").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Node n2")
