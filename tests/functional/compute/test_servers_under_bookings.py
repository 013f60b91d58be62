"""Servers under bookings: the scheduler hint ``booking``."""

import uuid as uuid_module
from typing import Any

import pytest

from tests.functional.compute.test_ends_of_servers import HOUR, Site, at, site
from tests.functional.compute.test_servers import show
from tests.functional.scheduling.booked import enter
from tests.functional.scheduling.test_ends import row_of
from tests.unchanged import unchanged

__all__ = ["site"]

HOST = "OS-EXT-SRV-ATTR:hypervisor_hostname"


def book(site: Site, *names: str, starts: float = -1, ends: float = 2 * HOUR, project: str | None = None) -> str:
    """A booking of the project of servers, which runs for two hours from now on."""
    project = site.service.app.settings.compute.project_id if project is None else project
    return enter(site.service, *names, starts=starts, ends=ends, project=project)[0]


def claim_of(site: Site, uuid: str) -> Any:
    """The server as a claim."""
    return site.service.http.get(f"/scheduling/v1/claims/{uuid}").json


def test_the_hint_gives_it_a_machine_of_the_booking(site: Site) -> None:
    service, node = site.service, site.service.add_node("n1")
    service.add_node("n2")
    booking = book(site, "n1")
    uuid = site.boot(hints={"booking": booking})
    shown = claim_of(site, uuid)
    assert (show(service, uuid)[HOST], shown["booking"], shown["kind"]) == (node, booking, "server")
    assert show(service, uuid)["scheduler_hints"] == {"booking": booking}
    service.work()
    assert show(service, uuid)["status"] == "ACTIVE"
    second = site.boot(hints={"booking": booking})
    assert show(service, second)["status"] == "ERROR"
    site.delete(second)
    site.delete(uuid)
    assert site.boot(hints={"booking": booking}) is not None
    others = [site.boot(), site.boot()]
    assert [show(service, each)["status"] for each in others] == ["BUILD", "ERROR"]


def test_several_servers_end_with_the_booking_or_earlier(site: Site) -> None:
    for name in ("n1", "n2", "n3"):
        site.service.add_node(name)
    booking = book(site, "n1", "n2", "n3")
    site.boot(hints={"booking": booking}, min_count=2, max_count=2)
    last = {row.ends_at for row in (row_of(site.service, uuid) for uuid in servers(site)) if row is not None}
    assert len(last) == 1
    text, moment = at(HOUR)
    assert site.ends_at(site.boot(hints={"booking": [booking], "until": text})) == moment


def servers(site: Site) -> list[str]:
    """All servers."""
    return [each["id"] for each in site.service.compute("GET", "/servers").json["servers"]]


def test_it_waits_for_the_booking(site: Site) -> None:
    service, node = site.service, site.service.add_node("n1")
    service.add_node("n2")
    booking = book(site, "n1")
    first = site.boot(hints={"booking": booking})
    service.work()
    second = site.boot(hints={"booking": booking, "wait": "600"})
    (row,) = site.waiting()
    assert (row.uuid, row.machine_class, claim_of(site, second)["booking"]) == (second, "CUSTOM_GOLD", booking)
    site.sweep()
    assert [each.uuid for each in site.waiting()] == [second]
    site.delete(first)
    assert (show(service, second)[HOST], site.waiting()) == (node, [])


def test_the_next_machine_of_a_server_is_one_of_the_booking(site: Site, broken: set[str]) -> None:
    service, first = site.service, site.service.add_node("n1")
    second, _ = service.add_node("n2"), service.add_node("n3")
    booking = book(site, "n1", "n2")
    service.set_columns(second, maintenance=True)
    broken.add(first)
    uuid = site.boot(hints={"booking": booking, "wait": "600"})
    moment = site.ends_at(uuid)
    service.work()
    (row,) = site.waiting()
    assert (row.uuid, row.ends_at, claim_of(site, uuid)["booking"]) == (uuid, moment, booking)
    service.baremetal("DELETE", f"/nodes/{second}/maintenance")
    service.work()
    shown = show(service, uuid)
    assert (shown["status"], shown[HOST]) == ("ACTIVE", second)
    assert (site.ends_at(uuid), claim_of(site, uuid)["booking"]) == (moment, booking)


@pytest.mark.parametrize("wait", [None, "600"])
def test_who_cannot_use_it(site: Site, wait: str | None) -> None:
    site.service.add_node("n1")
    others, over = book(site, "n1", project="b"), book(site, "n1", starts=-HOUR, ends=-1)
    later = book(site, "n1", starts=HOUR)
    rows: list[tuple[Any, int, str]] = [
        (str(uuid_module.uuid4()), 404, "There is no booking"),
        (others, 404, "There is no booking"),
        (over, 409, "is over"),
        ("n1", 400, "booking must be the UUID of a booking"),
        ([others, over], 400, "The scheduler hint booking must have one value, and not 2."),
        *([(later, 409, "It begins at")] if wait is None else ()),
    ]
    for booking, status, words in rows:
        with unchanged(site.service):
            hints = {"booking": booking, **({} if wait is None else {"wait": wait})}
            assert words in site.boot(hints=hints, status=status)
