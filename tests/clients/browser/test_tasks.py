"""Questions that people come with, and what they come to do: each in at most three steps from the first page.
A step is a link that is followed, or a form that is filled in and sent."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.clients.browser.chromium import Visit
from tests.clients.browser.conftest import Served, in_thread
from tests.functional.compute import world
from tests.functional.compute.test_servers import add_flavor, add_image
from tests.functional.ui.test_servers import change
from tests.numbered import number_all
from tests.service import Service

MAC = "52:54:00:12:34:56"
MOST = 3


@pytest.fixture(scope="module")
def site(browser: Browser, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A small site in which there is something to find out."""
    path = tmp_path_factory.mktemp("tasks") / "site.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    path.chmod(0o600)
    with Service(f"sqlite:///{path}", api={"auth_strategy": "none"}) as service, in_thread(service) as served:
        service.add_conductor("c1")
        service.add_conductor("c2", "rack-b")
        for number in range(4):
            service.add_node(f"b-gold-{number}", conductor_group="rack-b")
        service.set_columns(service.add_node("lonely", power=False), conductor_group="rack-c")
        x = service.add_node("node-x", resource_class="silver")
        service.baremetal("POST", "/ports", {"node_uuid": x, "address": MAC}, status=201)
        sick = service.add_node("sick")
        error = f"Failed to clean node {sick}: the disk is full."
        service.set_columns(sick, provision_state="clean failed", last_error=error)
        for name, reason in (("old-1", "no fan"), ("old-2", "no disk")):
            uuid = service.add_node(name)
            service.baremetal("PUT", f"/nodes/{uuid}/maintenance", {"reason": reason}, status=202)
        add_flavor(service, "bm.gold", trait__CUSTOM_TPM="required")
        add_image(service, "debian")
        uuid = world.boot(service, name="of-ann", flavor={**world.flavor(), "extra_specs": {
            "resources:CUSTOM_SILVER": "1", **world.ZEROS}})["uuid"]  # fmt: skip
        broken = world.boot(service, name="broken", flavor={**world.flavor(), "extra_specs": {
            "resources:CUSTOM_NONE": "1", **world.ZEROS}})["uuid"]  # fmt: skip
        change(service, uuid, user_id="ann")
        change(service, broken, fault={"code": 500, "message": "No valid host was found."})
        number_all(service)
        yield served


@dataclass
class Walk:
    """A visitor, and the steps so far."""

    page: Page
    steps: int = 0

    def follow(self, name: str, within: str = "body") -> None:
        """Follow the first link that is called so, or begins so."""
        self.steps += 1
        self.page.locator(within).get_by_role("link", name=name).first.click()
        self.page.wait_for_load_state()

    def unfold(self, name: str) -> None:
        """Open a menu of the header."""
        self.steps += 1
        self.page.locator("header summary", has_text=name).click()

    def search(self, words: str) -> None:
        self.steps += 1
        self.page.get_by_role("searchbox").fill(words)
        self.page.get_by_role("searchbox").press("Enter")
        self.page.wait_for_url(lambda address: not address.endswith("/ui/"))

    def sees(self, *texts: str) -> None:
        for text in texts:
            expect(self.page.locator("main")).to_contain_text(text)


def failed_today_and_why(walk: Walk) -> None:
    walk.sees("sick", "clean failed", "Failed to clean: the disk is full.")


def which_failed_since_yesterday_and_why(walk: Walk) -> None:
    walk.follow("since yesterday")
    walk.sees("sick", "Failed to clean: the disk is full.")


def who_has_this_machine_since_when(walk: Walk) -> None:
    walk.search("node-x")
    walk.sees("Used by of-ann", "server of project", "user ", "since ", "UTC")


def free_gold_machines_in_rack_b(walk: Walk) -> None:
    walk.follow("Capacity", "nav")
    row = walk.page.locator("tbody tr", has_text="rack-b").filter(has_text="gold").first
    expect(row).to_contain_text("4")


def who_has_node_x(walk: Walk) -> None:
    walk.search("node-x")
    walk.sees("Node node-x", "of-ann")


def where_is_this_mac(walk: Walk) -> None:
    walk.search(MAC)
    walk.sees("Node node-x", MAC)


def why_a_flavor_and_an_image_find_nothing(walk: Walk) -> None:
    walk.unfold("More")
    walk.follow("Flavors", "nav")
    walk.follow("Find machines for the flavor bm.gold")
    walk.sees("CUSTOM_TPM", "No machine fits")


def which_group_has_no_conductor(walk: Walk) -> None:
    walk.sees("rack-c", "no live conductor")


def what_can_be_done_with_a_node(walk: Walk) -> None:
    walk.search("b-gold-1")
    walk.sees("Possible now", "openstack baremetal node deploy")


def longest_in_maintenance(walk: Walk) -> None:
    walk.page.get_by_role("region", name="Nodes by provision state").get_by_role("link", name="2").first.click()
    walk.steps += 1
    walk.follow("In state for")
    walk.sees("old-1", "no fan", "old-2", "no disk")


def servers_in_error_and_why(walk: Walk) -> None:
    walk.follow("Servers", "nav")
    walk.follow("ERROR")
    walk.sees("broken", "No valid host was found.")


def unavailable_in_class_gold_by_reason(walk: Walk) -> None:
    row = walk.page.get_by_role("region", name="Nodes by resource class").locator("tr", has_text="gold").first
    expect(row).to_contain_text("maintenance: 2")
    expect(row).to_contain_text("clean failed: 1")


def what_happened_in_the_last_hour(walk: Walk) -> None:
    walk.follow("Events", "nav")
    walk.sees("node.create.end", "node-x")
    assert walk.steps == 1


TASKS: tuple[Callable[[Walk], None], ...] = (
    failed_today_and_why,
    which_failed_since_yesterday_and_why,
    who_has_this_machine_since_when,
    free_gold_machines_in_rack_b,
    who_has_node_x,
    where_is_this_mac,
    why_a_flavor_and_an_image_find_nothing,
    which_group_has_no_conductor,
    what_can_be_done_with_a_node,
    longest_in_maintenance,
    servers_in_error_and_why,
    unavailable_in_class_gold_by_reason,
    what_happened_in_the_last_hour,
)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_task(browser: Browser, site: Served, task: Callable[[Walk], None]) -> None:
    with Visit(browser, site.url) as visit:
        walk = Walk(visit.open("/ui/"))
        task(walk)
        assert walk.steps <= MOST
        print(f"{task.__name__.replace('_', ' ')}: {walk.steps} steps")


# -- tasks that change something ---------------------------------------------------------------------------------------


@pytest.fixture
def busy(browser: Browser, sqlite_template: Path, tmp_path: Path) -> Iterator[Served]:
    """A site in which there is something to do."""
    path = tmp_path / "busy.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    path.chmod(0o600)
    with Service(f"sqlite:///{path}", api={"auth_strategy": "none"}) as service, in_thread(service) as served:
        service.add_conductor("c1")
        for name in ("a-1", "c-1", "c-2", "c-3"):
            uuid = service.add_node(name)
            if name.startswith("c-"):
                service.set_columns(uuid, conductor_group="rack-c")
        for node, kind in (("a-1", "window"), ("a-1", "hardware_failure"), ("c-2", "operator_hold")):
            body = {"type": kind, "reason": f"of {kind}"}
            service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status=201)
        claim = {"query": "resources=CUSTOM_SILVER:1", "wait": 3600, "even_if_impossible": True}
        service.http.post_json("/scheduling/v1/claims", claim, status=202)
        yield served


def holds(served: Served, node: str) -> list[tuple[str, str | None, bool]]:
    found = served.service.http.get(f"/scheduling/v1/nodes/{node}/holds").json["maintenance"]
    return [(each["type"], each["ends_at"], each["drain"]) for each in found]


def confirm(walk: Walk, name: str) -> None:
    """Send the form of the page."""
    walk.steps += 1
    walk.page.get_by_role("button", name=name).click()
    walk.page.wait_for_load_state()


def hold_this_machine_until_tuesday(walk: Walk, served: Served) -> None:
    walk.search("c-1")
    walk.follow("Hold …")
    walk.page.get_by_label("Until (UTC)").fill("2050-12-06T08:00")
    walk.page.get_by_label("Reason").fill("firmware")
    confirm(walk, "Hold")
    walk.sees("Node c-1", "operator_hold (firmware)")
    expect(walk.page.get_by_role("status").filter(has_text="held")).to_contain_text("c-1: It is held.")
    assert holds(served, "c-1") == [("operator_hold", "2050-12-06T08:00:00.000000+00:00", False)]


def release_my_hold_and_leave_the_other(walk: Walk, served: Served) -> None:
    walk.search("a-1")
    walk.follow("Release window …")
    walk.sees("Other holds of the machine stay", "a-1, window (of window)")
    confirm(walk, "Release the hold")
    assert [kind for kind, _, _ in holds(served, "a-1")] == ["hardware_failure"]


def drain_rack_c_except_for_the_nodes_that_refuse(walk: Walk, served: Served) -> None:
    walk.steps += 1
    walk.page.locator("tr", has_text="rack-c").get_by_role("link", name="3").first.click()
    walk.page.get_by_role("button", name="Tick all").click()
    walk.page.get_by_label("With the ticked rows").select_option("Hold")
    confirm(walk, "Continue")
    walk.page.get_by_label("Drain: ").check()
    walk.page.get_by_label("Reason").fill("of operator_hold")
    confirm(walk, "Hold: 3 machines")
    walk.sees("Hold: 2 of 3 machines done", "by you for the same reason")
    assert [holds(served, name)[-1] for name in ("c-1", "c-3")] == [("operator_hold", None, True)] * 2
    assert holds(served, "c-2") == [("operator_hold", None, False)]


def cancel_my_waiting_request(walk: Walk, served: Served) -> None:
    walk.follow("Waiting", "nav")
    walk.follow("Cancel …")
    confirm(walk, "Cancel the request")
    walk.sees("No request waits for a machine.")


DEEDS: tuple[Callable[[Walk, Served], None], ...] = (
    hold_this_machine_until_tuesday,
    release_my_hold_and_leave_the_other,
    drain_rack_c_except_for_the_nodes_that_refuse,
    cancel_my_waiting_request,
)


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_deed(browser: Browser, busy: Served, deed: Callable[[Walk, Served], None], scripts: bool) -> None:
    """Without scripts, too, except the button that ticks all rows."""
    if not scripts and deed is drain_rack_c_except_for_the_nodes_that_refuse:
        pytest.skip("each row is ticked by itself")
    with Visit(browser, busy.url, java_script_enabled=scripts) as visit:
        walk = Walk(visit.open("/ui/"))
        deed(walk, busy)
        assert walk.steps <= MOST
