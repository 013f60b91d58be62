"""How many steps the work of a day takes, from a fresh first page.

A step is a click, a key that acts, or a field that is filled.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.clients.browser.chromium import Visit
from tests.clients.browser.conftest import Served, in_thread
from tests.functional.scheduling.test_claims import listed
from tests.functional.scheduling.test_several import claim, fill
from tests.service import Service


@dataclass
class Steps:
    """A visitor who counts the steps."""

    page: Page
    number: int = 0

    def click(self, what: Locator) -> None:
        self.number += 1
        what.click()
        self.page.wait_for_load_state()

    def press(self, key: str, what: Locator) -> None:
        self.number += 1
        what.press(key)
        self.page.wait_for_load_state()

    def fill(self, label: str, text: str) -> None:
        self.number += 1
        self.page.get_by_label(label).fill(text)

    def choose(self, label: str, value: str) -> None:
        self.number += 1
        self.page.get_by_label(label).select_option(value)

    def link(self, name: str) -> Locator:
        return self.page.get_by_role("link", name=name).first

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name).first


@pytest.fixture
def site(browser: Browser, sqlite_template: Path, tmp_path: Path) -> Iterator[Served]:
    """Three racks, one of 50 machines, and a claim of three machines."""
    path = tmp_path / "site.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    path.chmod(0o600)
    with Service(f"sqlite:///{path}", api={"auth_strategy": "none"}) as service, in_thread(service) as served:
        service.add_conductor("c1")
        fill(service, b=4, c=4, a=50)
        claim(service, 3)
        yield served


def give_back_a_claim(steps: Steps, served: Served) -> None:
    steps.click(steps.page.locator("nav").get_by_role("link", name="Claims"))
    steps.click(steps.link("Give back …"))
    steps.click(steps.button("Give back"))
    expect(steps.page.locator("main")).to_contain_text("No claim has a machine.")
    assert listed(served.service) == []


def give_a_claim_an_end(steps: Steps, served: Served) -> None:
    steps.click(steps.page.locator("nav").get_by_role("link", name="Claims"))
    steps.click(steps.page.locator("main .row-menu summary").first)
    steps.click(steps.link("Set an end …"))
    steps.fill("Give back at (UTC)", "2050-12-02T16:00")
    steps.click(steps.button("Set the end"))
    expect(steps.page.locator("main")).to_contain_text("2050-12-02 16:00 UTC")
    assert served.service.http.get("/scheduling/v1/claims").json["claims"][0]["end"] == "set"


def hold_a_rack_with_a_reason(steps: Steps, served: Served) -> None:
    steps.click(steps.page.locator("nav").get_by_role("link", name="Domains"))
    steps.click(steps.link("Hold a …"))
    steps.fill("Reason", "New power supplies")
    steps.click(steps.button("Hold"))
    held = served.service.http.get("/scheduling/v1/holds?domain=rack:a&reason=New+power+supplies").json["maintenance"]
    assert len(held) == 50


def see_three_machines_apart_by_rack(steps: Steps, _: Served) -> None:
    steps.click(steps.page.locator("nav").get_by_role("link", name="Find"))
    steps.fill("Resource class", "gold")
    steps.fill("How many machines", "3")
    steps.choose("Spread over domains", "rack")
    steps.press("Enter", steps.page.get_by_label("How many machines"))
    for rack in "abc":
        expect(steps.page.get_by_role("table").get_by_role("link", name=rack, exact=True).first).to_be_visible()


def see_what_happened_in_the_last_hour(steps: Steps, _: Served) -> None:
    steps.click(steps.page.locator("nav").get_by_role("link", name="Events"))
    expect(steps.page.locator("main")).to_contain_text("scheduling.machine.claimed")


#: What is to be done, and the most steps that it may take.
WORK: dict[Callable[[Steps, Served], None], int] = {
    give_back_a_claim: 3,
    give_a_claim_an_end: 5,
    hold_a_rack_with_a_reason: 6,
    see_three_machines_apart_by_rack: 5,
    see_what_happened_in_the_last_hour: 1,
}


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_steps(browser: Browser, site: Served, work: Callable[[Steps, Served], None]) -> None:
    with Visit(browser, site.url) as visit:
        steps = Steps(visit.open("/ui/"))
        work(steps, site)
        assert steps.number <= WORK[work]
        print(f"{work.__name__.replace('_', ' ')}: {steps.number} steps")
