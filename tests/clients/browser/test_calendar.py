"""The calendar: at a desk, on a handset and on a phone, by the keyboard, and booking from the form."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.clients.browser.chromium import DESK, HANDSET, PHONE, Visit
from tests.clients.browser.conftest import Served, in_thread
from tests.clients.browser.test_keyboard import tab_to
from tests.functional.scheduling.booked import DAY, enter
from tests.service import Service

CALENDAR = "/ui/calendar?resource_class=gold&days=28"
DAYS = "Machines by days"


@pytest.fixture(scope="module")
def site(browser: Browser, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Machines that are booked, held and free."""
    path = tmp_path_factory.mktemp("calendar") / "site.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    path.chmod(0o600)
    with Service(f"sqlite:///{path}", api={"auth_strategy": "none"}) as service, in_thread(service) as served:
        service.add_conductor("c1")
        for name in ("gold-1", "gold-2", "gold-3"):
            service.add_node(name)
        for day in range(1, 28, 3):
            enter(service, "gold-2", "gold-3", starts=day * DAY, ends=(day + 1) * DAY, name=f"course {day}")
        yield served


def left_of(page: Page, selector: str) -> float:
    """Where an element begins, in pixels of the window."""
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["x"]


@pytest.mark.parametrize("size", [DESK, HANDSET, PHONE], ids=["desk", "handset", "phone"])
def test_days_scroll_by_the_keyboard_and_machines_stay(browser: Browser, site: Served, size: tuple[int, int]) -> None:
    with Visit(browser, site.url, size) as visit:
        page = visit.open(CALENDAR)
        region = page.get_by_role("region", name=DAYS)
        assert region.evaluate("each => each.scrollWidth > each.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        machine, day = ".calendar tbody th", ".calendar thead th:last-child"
        before = left_of(page, machine), left_of(page, day)
        tab_to(visit, DAYS)
        page.keyboard.press("End")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.activeElement.scrollLeft > 0")
        assert abs(left_of(page, machine) - before[0]) < 1  # half a border
        assert left_of(page, day) < before[1]


def test_what_a_screen_reader_says(browser: Browser, site: Served) -> None:
    """A row begins with the machine, and each day has a word; the periods are a table of their own."""
    with Visit(browser, site.url) as visit:
        page = visit.open("/ui/calendar?resource_class=gold&days=7")
        row = page.get_by_role("table", name=DAYS).get_by_role("row", name="gold-1")
        assert row.get_by_role("rowheader").inner_text() == "gold-1"
        assert row.get_by_role("cell").all_inner_texts() == ["free"] * 7
        assert (
            page.get_by_role("table", name="What keeps the machines in these days").get_by_role("row").count()
            == 1 + 2 * 2
        )


def test_booking_by_the_keyboard(browser: Browser, site: Served) -> None:
    with Visit(browser, site.url) as visit:
        page = visit.open("/ui/find?class=gold")
        tab_to(visit, "Book a machine")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/confirm?**")
        tab_to(visit, "Name")
        page.keyboard.type("by hand")
        page.get_by_label("Or for (hours)").focus()  # controls of times have stops of their own
        page.keyboard.type("2")
        page.keyboard.press("Enter")
        page.wait_for_url("**/ui/bookings/**")
        assert page.locator("h1").inner_text() == "Booking by hand"
        (link,) = page.get_by_role("table", name="Machines of the booking").get_by_role("link").all_inner_texts()
        assert link.startswith("gold-")
        uuid = page.url.rsplit("/", 1)[1]
        assert site.service.http.get(f"/scheduling/v1/bookings/{uuid}").json["name"] == "by hand"
