"""The pages of bookings, and what can be done with them: each is a request of the API."""

import pytest

from tests.database_clock import settable
from tests.functional.scheduling.booked import DAY, HOUR, enter
from tests.functional.ui.pages import look, read
from tests.functional.ui.test_actions import confirmed, form_of
from tests.service import Service

pytestmark = pytest.mark.sqlite_only

#: Wednesday, 18 May 2033, 03:33:20 UTC.
NOW = 2_000_000_000.0
BOOKINGS, MACHINES = "Bookings", "Machines of the booking"
CLAIM = "/ui/confirm?action=claim&item=class%3Dgold"


def test_the_list(service: Service) -> None:
    with settable(service.database) as clock:
        clock.stopped_at = NOW
        assert "No booking is planned or running." in look(service, "/bookings").text
        service.add_conductor("c1")
        for name in ("n1", "n2", "n3"):
            service.add_node(name)
        enter(service, "n1", starts=-DAY, ends=HOUR, name="running")
        short, _ = enter(service, "n2", starts=DAY, ends=2 * DAY, name="short", count=3)
        enter(service, "n3", starts=-DAY, ends=-HOUR, name="over", project="b")
        with service.statements() as statements:
            found = look(service, "/bookings")
        assert len(statements) <= 12
        assert [row[:3] for row in found.rows(BOOKINGS)] == [
            ["short", "planned", "3 2 short"],
            ["running", "running", "1"],
        ]
        assert f"/ui/bookings/{short}" in found.links()
        for query, names in (
            ("state=over", ["over"]),
            ("all=true&project=b", ["over"]),
            ("name=short", ["short"]),
            ("resource_class=CUSTOM_GOLD&limit=1", ["short"]),
        ):
            assert [row[0] for row in look(service, f"/bookings?{query}").rows(BOOKINGS)] == names, query
        (link,) = [each for each in look(service, "/bookings?limit=1").links() if "marker=" in each]
        assert [row[0] for row in look(service, link.removeprefix("/ui")).rows(BOOKINGS)] == ["running"]
        exported = service.http.get("/ui/bookings?format=json").json
        assert [each["name"] for each in exported["bookings"]] == ["short", "running"]
        look(service, "/bookings?state=soon", 400)


def test_one_booking(service: Service) -> None:
    with settable(service.database) as clock:
        clock.stopped_at = NOW
        service.add_conductor("c1")
        service.add_node("n1")
        uuid, _ = enter(service, "n1", starts=DAY, ends=2 * DAY, name="training")
        found = look(service, f"/bookings/{uuid}")
        assert "planned from 2033-05-19 03:33:20 UTC until 2033-05-20 03:33:20 UTC" in found.text
        assert found.rows(MACHINES) == [["n1", "no"]]
        assert "Change …" in found.text
        look(service, "/bookings/00000000-0000-4000-8000-000000000009", 404)
        clock.step(3 * DAY)
        assert "Change …" not in look(service, f"/bookings/{uuid}").text


def test_machines_are_booked_from_the_form(service: Service) -> None:
    service.add_conductor("c1")
    service.add_node("n1")
    form = form_of(service.http.get("/ui/find?class=gold").click("Book a machine …"))
    form["until"] = "2001-01-01T00:00"
    refused = form_of(form.submit(status=400))
    assert refused["until"].value == "2001-01-01T00:00"
    refused["until"], refused["hours"], refused["name"] = "", "48", "training"
    done = refused.submit(status=303)
    shown = read(done.follow())
    assert "1 machine of the class CUSTOM_GOLD: Booked." in shown.text
    assert shown.rows(MACHINES) == [["n1", "not yet"]]
    (booking,) = service.http.get("/scheduling/v1/bookings").json["bookings"]
    assert done.headers["Location"] == f"/ui/bookings/{booking['uuid']}"
    assert booking["name"] == "training"
    refused = confirmed(service, "book", "class=gold", hours="1")
    assert refused.status_int == 409
    assert "booked" in read(refused).text


def test_a_claim_under_a_booking(service: Service) -> None:
    """The form proposes those that run, of the project of the claim; without one it asks nothing."""
    service.add_conductor("c1")
    service.add_node("n1")
    service.add_node("n2")
    project = service.app.settings.placement.incomplete_consumer_project_id
    enter(service, "n1", starts=DAY, ends=2 * DAY, name="later", project=project)
    enter(service, "n1", starts=-DAY, ends=HOUR, name="of others")
    assert "booking" not in form_of(service.http.get(CLAIM)).fields
    uuid, _ = enter(service, "n2", starts=-DAY, ends=HOUR, name="running", project=project)
    form = form_of(service.http.get(CLAIM))
    assert [each[0] for each in form["booking"].options] == ["", uuid]
    form["booking"] = uuid
    shown = read(form.submit(status=303).follow())
    assert [row[0] for row in shown.rows("Claims")] == ["n2"]
    assert f"/ui/bookings/{uuid}" in shown.links()
    found = look(service, f"/bookings/{uuid}")
    ((machine, claim),) = found.rows(MACHINES)
    assert (machine, f"/ui/claims?uuid={claim}" in found.links()) == ("n2", True)
    assert "Cancel, and end its claims …" in found.text


def test_a_booking_is_changed_and_cancelled(service: Service) -> None:
    service.add_conductor("c1")
    service.add_node("n1")
    service.add_node("n2")
    done = confirmed(service, "book", "class=gold", name="training", hours="48")
    place = done.headers["Location"]
    page = service.http.get(place).click("Change …")
    form = form_of(page)
    form["count"] = "5"
    refused = form.submit(status=409)
    assert form_of(refused)["count"].value == "5"
    form = form_of(refused)
    form["count"], form["name"] = "2", "course"
    shown = read(form.submit(status=303).follow())
    assert "It is changed." in shown.text
    assert "Booking course" in shown.text
    assert [row[0] for row in shown.rows(MACHINES)] == ["n1", "n2"]
    uuid = place.rpartition("/")[2]
    form = form_of(service.http.get(CLAIM))
    form["booking"] = uuid
    form.submit(status=303)
    refused = confirmed(service, "cancel booking", uuid)
    assert refused.status_int == 409
    done = form_of(service.http.get(place).click("Cancel, and end its claims …")).submit(status=303)
    assert "its machines are given back" in read(done.follow()).text
    look(service, f"/bookings/{uuid}", 404)
