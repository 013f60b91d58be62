"""/v1/bookings: what clients see of bookings, and who sees which."""

import uuid as uuid_module
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select
from webtest import TestResponse

from baremetal_sched.db.clock import exactly, utcnow
from baremetal_sched.db.models import BookedMachine, Booking, Node
from baremetal_sched.placement.ends import End
from tests.database_clock import settable
from tests.functional.scheduling import ended, test_claims
from tests.functional.scheduling.test_claims import ADMIN, ANNA, BERT, CLAIMS, message
from tests.service import Service

BOOKINGS = "/scheduling/v1/bookings"
#: A moment in 2035, at which the clock stands.
NOW = 2_051_222_400.0
DAY = 86_400.0

#: A service that looks at who asks.
secured = test_claims.secured


def row(service: Service, *nodes: str, project: str = "a", starts_at: float, ends_at: float, **columns: Any) -> Booking:
    """Enter a booking with these machines (UUIDs) as rows."""
    times = {"starts_at": starts_at, "ends_at": ends_at, "made_at": NOW}
    values = {
        "project": project,
        "user": "anna",
        "resource_class": "CUSTOM_GOLD",
        "count": len(nodes) or 1,
        "request": {"several": {"count": len(nodes) or 1}},
        "body_digest": "",
        "due_at": starts_at,
        "name": None,
    }

    def enter(session: Any) -> Booking:
        booking = Booking(uuid=str(uuid_module.uuid4()), created_at=utcnow(), **{**values, **times, **columns})
        session.add(booking)
        session.flush()
        ids = session.scalars(select(Node.id).where(Node.uuid.in_(nodes)))
        session.add_all([BookedMachine(node_id=each, booking_id=booking.id, turnaround=0.0, **times) for each in ids])
        session.flush()
        session.expunge(booking)
        return booking

    return service.database.write(enter)


def listed(service: Service, query: str = "", **options: Any) -> list[str]:
    return [each["uuid"] for each in service.http.get(f"{BOOKINGS}?{query}", **options).json["bookings"]]


def show(service: Service, uuid: str, **options: Any) -> TestResponse:
    return service.http.get(f"{BOOKINGS}/{uuid}", **options)


def test_a_booking_says_what_it_has(service: Service) -> None:
    nodes = [service.add_node(name, resource_class="gold") for name in ("n1", "n2")]
    several = {"several": {"count": 3, "spread": {"by": "rack", "at_most": 2}}}
    with settable(service.database) as clock:
        clock.stopped_at = NOW
        made = row(service, *nodes, starts_at=NOW - 1, ends_at=NOW + DAY, count=3, name="training", request=several)
        end = End(at=NOW + DAY, booking=made.id)
        consumer = ended.claim(service, nodes[1], end=end)
        shown = show(service, made.uuid).json
    machines = {each["node"]: (each["consumer"], each["claim"]) for each in shown["machines"]}
    assert machines == {nodes[0]: (None, None), nodes[1]: (consumer, consumer)}
    expected = {
        "name": "training",
        "state": "running",
        "count": 3,
        "short_by": 1,
        "project_id": "a",
        "user_id": "anna",
        "starts_at": exactly(NOW - 1),
        "ends_at": exactly(NOW + DAY),
        "resource_class": "CUSTOM_GOLD",
        "spread": {"by": "rack", "at_most": 2},
        "pack": None,
        "request": several,
    }
    assert {name: shown[name] for name in expected} == expected
    assert shown["links"][0]["href"].endswith(f"{BOOKINGS}/{made.uuid}")


def test_the_claim_of_a_machine_is_that_of_several(served: Service) -> None:
    served.add_node("n1", resource_class="gold")
    claim = served.http.post_json(CLAIMS, {"query": "resources=CUSTOM_GOLD:1", "count": 1, "for": 60}).json
    node, consumer = claim["machines"][0]["node"], claim["machines"][0]["consumer"]
    made = row(served, node, starts_at=NOW, ends_at=NOW + 1)
    served.database.write(lambda session: session.execute(ended.under(consumer, made.id)) and None)
    assert show(served, made.uuid).json["machines"] == [
        {"node": node, "consumer": consumer, "claim": claim["uuid"]},
    ]


def test_lists_have_what_is_not_over(service: Service, subtests: pytest.Subtests) -> None:
    """By the clock, also before a conductor has noticed."""
    with settable(service.database) as clock:
        clock.stopped_at = NOW
        over = row(service, starts_at=NOW - 2, ends_at=NOW).uuid
        early = row(service, starts_at=NOW - 2, ends_at=NOW + 1, is_over=True, project="b").uuid
        running = row(service, starts_at=NOW, ends_at=NOW + 1, name="x", project="b").uuid
        planned = row(service, starts_at=NOW + 1, ends_at=NOW + 2, resource_class="CUSTOM_SILVER").uuid
        rows: dict[str, Sequence[str]] = {
            "": (running, planned),
            "all=true": (over, early, running, planned),
            "all=false": (running, planned),
            "state=over": (over, early),
            "state=running": (running,),
            "state=planned": (planned,),
            "project_id=b": (running,),
            "project_id=b&all=true": (early, running),
            "project_id=B&all=true": (),
            "resource_class=CUSTOM_SILVER": (planned,),
            "name=x": (running,),
            f"limit=1&marker={running}": (planned,),
            "limit=1": (running,),
        }
        for query, expected in rows.items():
            with subtests.test(query):
                assert listed(service, query) == [*expected]
        page = service.http.get(f"{BOOKINGS}?limit=1&all=true").json
        (link,) = page["bookings_links"]
        assert [each["uuid"] for each in service.http.get(link["href"]).json["bookings"]] == [early]
        states = {each["uuid"]: each["state"] for each in service.http.get(f"{BOOKINGS}?all=1").json["bookings"]}
        assert states == {over: "over", early: "over", running: "running", planned: "planned"}
        assert all(
            each["short_by"] == (each["state"] != "over") for each in (show(service, uuid).json for uuid in states)
        )


def test_queries_that_are_refused(service: Service, subtests: pytest.Subtests) -> None:
    rows = {
        "state=x": "Expected one of planned, running, over for state: x",
        "all=x": "all",
        "limit=0": "limit",
        "marker=x": "There is no booking x, which marker names.",
        "x=1": "Unexpected arguments: x",
    }
    for query, words in rows.items():
        with subtests.test(query):
            assert words in message(service.http.get(f"{BOOKINGS}?{query}", status=400))
    for path in (str(uuid_module.uuid4()), "x"):
        assert message(show(service, path, status=404)) == f"There is no booking {path}."


def test_a_project_sees_its_own_bookings(secured: Service) -> None:
    """Those of others are as if they were not there, also as markers."""
    node = secured.add_node("n1")
    made = row(secured, node, starts_at=NOW, ends_at=NOW + DAY)
    assert listed(secured, headers=ANNA) == listed(secured, headers=ADMIN) == [made.uuid]
    assert listed(secured, headers=BERT) == listed(secured, "project_id=a", headers=BERT) == []
    assert message(show(secured, made.uuid, headers=BERT, status=404)) == f"There is no booking {made.uuid}."
    marked = secured.http.get(f"{BOOKINGS}?marker={made.uuid}", headers=BERT, status=400)
    assert message(marked) == f"There is no booking {made.uuid}, which marker names."
    assert show(secured, made.uuid, headers=ANNA).json["machines"][0]["node"] == node
