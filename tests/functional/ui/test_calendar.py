"""The calendar: what keeps machines, day by day."""

from typing import Any

import pytest

from tests.database_clock import settable
from tests.functional.scheduling.booked import DAY, HOUR, enter
from tests.functional.ui.pages import look
from tests.functional.ui.test_fleet import ADMIN
from tests.service import Service

#: Wednesday, 18 May 2033, 03:33:20 UTC.
NOW = 2_000_000_000.0
DAYS, USES = "Machines by days", "What keeps the machines in these days"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"


def test_days_of_machines(service: Service) -> None:
    with settable(service.database) as clock:
        clock.stopped_at = NOW
        assert "There are no machines yet." in look(service, "/calendar").text
        service.add_conductor("c1")
        for name in ("booked", "free", "held", "used"):
            service.add_node(name)
        enter(service, "booked", starts=DAY, ends=2 * DAY + HOUR, name="training")
        enter(service, "booked", starts=2 * DAY + 2 * HOUR, ends=3 * DAY)
        hold = {"type": "window", "starts_at": "2033-05-20T00:00:00Z", "ends_at": "2033-05-21T00:00:00Z"}
        service.http.post_json("/scheduling/v1/nodes/held/holds", hold, status=201)
        service.claim(CONSUMER, service.node("used")["uuid"])
        found = look(service, "/calendar?days=7")
        assert found.tables[DAYS][0][:3] == ["Machine", "Wed 18 May", "Thu 19 May"]
        assert [row[:5] for row in found.rows(DAYS)] == [
            ["booked", "free", "training", "training +1 and booked", "booked"],
            ["free", "free", "free", "free", "free"],
            ["held", "free", "free", "held", "free"],
            ["used", "in use", "in use", "in use", "in use"],
        ]
        first, *_, last = found.rows(USES)
        assert first == ["booked", "booked: training", "2033-05-19 03:33 UTC", "2033-05-20 04:33 UTC"]
        assert last == ["used", "in use", "2033-05-18 03:33 UTC", "not known"]
        # The days before today are not shown.
        assert found.rows(DAYS) == look(service, "/calendar?days=7&from=1999-12-31").rows(DAYS)
        later = look(service, "/calendar?days=7&from=2033-05-20&resource_class=gold")
        assert later.rows(DAYS)[0][1] == "training +1 and booked"
        assert "/ui/calendar?days=7&resource_class=gold&from=2033-05-27" in later.links()


def test_domains_are_counted(service: Service) -> None:
    with settable(service.database) as clock:
        clock.stopped_at = NOW
        service.add_conductor("c1")
        for name, rack in (("n1", "a"), ("n2", "a"), ("n3", "b"), ("n4", "")):
            service.add_node(name, properties={"rack": rack} if rack else {})
        service.http.post_json("/scheduling/v1/domains/from_property", {"level": "rack", "property": "rack"})
        enter(service, "n1", "n3", starts=DAY, ends=2 * DAY)
        found = look(service, "/calendar?level=rack&days=7")
        (caption,) = [each for each in found.tables if each.startswith("Machines by rack")]
        assert [row[:3] for row in found.rows(caption)] == [
            ["in no rack", "1 / 1", "1 / 1"],
            ["a", "2 / 2", "1 / 2, 1 booked"],
            ["b", "1 / 1", "0 / 1, 1 booked"],
        ]
        assert len(look(service, "/calendar?domain=rack:a").rows(DAYS)) == 2


@pytest.mark.sqlite_only
def test_names_are_for_those_who_may_see_the_bookings(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="b")
        service.add_node("n2", owner="c")
        enter(service, "n1", starts=DAY, ends=2 * DAY, name="secret")
        enter(service, "n1", starts=3 * DAY, ends=4 * DAY, name="ours", project="b")

        def words(**headers: str) -> list[str]:
            found = look(service, "/calendar", **headers)
            assert "anna" not in found.text
            assert {row[0] for row in found.rows(USES)} == {"n1"}
            return [row[1] for row in found.rows(USES)]

        bert: dict[str, Any] = {"X-Auth-Token": "bert:b", "X-Roles": "member,reader"}
        assert words(**bert) == ["booked", "booked: ours"]
        assert "use-own" in {each.get("class") for each in look(service, "/calendar", **bert).all("td")}
        assert words(**{"X-Auth-Token": "bert:b", "X-Roles": "reader"}) == ["booked", "booked"]
        assert words(**ADMIN) == ["booked: secret", "booked: ours"]


@pytest.mark.sqlite_only
def test_what_no_calendar_shows(service: Service) -> None:
    service.add_node("n1")
    for query, said in (
        ("days=8", "A calendar has 7, 14 or 28 days, not '8'."),
        ("from=soon", "'soon' is no day"),
        ("from=9999-12-31", "'9999-12-31' is no day"),
        ("level=shelf", "shelf"),
        ("colour=red", "colour"),
    ):
        assert said in look(service, f"/calendar?{query}", 400).text, query
    assert "No machine matches these filters." in look(service, "/calendar?resource_class=none").text
