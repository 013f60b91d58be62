"""/v1/bookings: what clients see of bookings, and who sees which."""

import uuid as uuid_module
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from webtest import TestResponse

from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db.clock import exactly, seconds_of, utcnow
from baremetal_sched.db.models import BookedMachine, Booking, Node
from baremetal_sched.errors import CommitUnknown
from baremetal_sched.placement.ends import End
from baremetal_sched.scheduling.bookings import alternatives, booking
from baremetal_sched.scheduling.bookings.booking import NewBooking
from baremetal_sched.scheduling.events.masks import Mask
from baremetal_sched.scheduling.events.reading import Event
from tests.database_clock import settable
from tests.functional.scheduling import ended, test_claims
from tests.functional.scheduling.test_claims import ADMIN, ANNA, BERT, CLAIMS, OTHER, message
from tests.functional.scheduling.test_events import Reader
from tests.service import Service
from tests.unchanged import unchanged

BOOKINGS = "/scheduling/v1/bookings"
#: A moment in 2035, at which the clock stands. (With a fraction, as whole seconds of SQLite come back as integers.)
NOW = 2_051_222_400.5
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


# -- booking -----------------------------------------------------------------------------------------------------------

UUID = test_claims.UUID
START, END = "2035-01-05T09:00:00+01:00", "2035-01-07T09:00:00+01:00"
BODY = {"query": "resources=CUSTOM_GOLD:1", "starts_at": START, "ends_at": END, "uuid": UUID}


@pytest.fixture
def standing(secured: Service) -> Iterator[Service]:
    """The service at NOW, with two machines."""
    for name in ("n1", "n2"):
        secured.add_node(name, resource_class="gold")
    with settable(secured.database) as clock:
        clock.stopped_at = NOW
        secured.conductors["r1"].beat()
        yield secured


def post(service: Service, body: Any = None, *, status: int = 201, by: Any = ADMIN, **more: Any) -> TestResponse:
    return service.http.post_json(BOOKINGS, {**(BODY if body is None else body), **more}, headers=by, status=status)


def test_machines_are_booked(standing: Service) -> None:
    answer = post(standing, name="training", by=ANNA)
    assert answer.headers["Location"].endswith(f"{BOOKINGS}/{UUID}")
    made = answer.json
    assert (made["uuid"], made["state"], made["count"], made["short_by"]) == (UUID, "planned", 1, 0)
    assert (made["project_id"], made["user_id"], made["name"]) == ("a", "anna", "training")
    assert (made["starts_at"], made["ends_at"]) == (
        "2035-01-05T08:00:00.000000+00:00",
        "2035-01-07T08:00:00.000000+00:00",
    )
    assert [each["consumer"] for each in made["machines"]] == [None]
    assert show(standing, UUID, headers=ANNA).json == made


def test_each_form_of_a_request_books(standing: Service, subtests: pytest.Subtests) -> None:
    rows = {
        "query": {"query": "resources=CUSTOM_GOLD:1", "count": 2},
        "flavor": test_claims.FLAVOR,
        "like an allocation": {"resource_class": "gold", "traits": [], "name": "a name for people"},
    }
    for day, (name, body) in enumerate(rows.items(), 5):
        with subtests.test(name):
            made = post(standing, {**body, "starts_at": f"2035-01-0{day}T09:00:00+01:00", "for": 3600}).json
            assert (made["resource_class"], made["name"]) == ("CUSTOM_GOLD", body.get("name"))
            assert made["ends_at"] == f"2035-01-0{day}T09:00:00.000000+00:00"
            assert len(made["machines"]) == made["count"] == body.get("count", 1)


def test_a_request_can_be_sent_again(standing: Service) -> None:
    """The booking is made once; another body is refused, and so is another project."""
    made = post(standing, by=ANNA).json
    with unchanged(standing):
        assert post(standing, by=ANNA).json == made
        for by, more in ((ANNA, {"count": 2}), (BERT, {})):
            refused = post(standing, by=by, **more, status=409)
            assert message(refused).startswith(f"Booking {UUID} exists already")


def test_a_commit_that_may_have_failed_is_found(standing: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    write, tries = standing.database.write, list[int]()

    def fail_once(work: Any, **options: Any) -> Any:
        made = write(work, **options)
        tries.append(1)
        if len(tries) == 1:
            raise CommitUnknown
        return made

    monkeypatch.setattr(standing.database, "write", fail_once)
    made = post(standing, {**BODY, "uuid": OTHER}).json
    assert len(tries) == 2
    assert listed(standing, headers=ADMIN) == [made["uuid"]]


def test_what_cannot_be_read_is_refused(standing: Service, subtests: pytest.Subtests) -> None:
    """And books nothing."""
    either = "Give either ends_at or for"
    rows: list[tuple[dict[str, Any], str]] = [
        ({"ends_at": None}, "ends_at"),
        ({"for": 60}, either),
        ({"starts_at": "tomorrow"}, "starts_at must be a time with a zone"),
        ({"ends_at": "2035-01-07"}, "ends_at must be a time with a zone"),
        ({"ends_at": START}, "must end after it starts"),
        ({"starts_at": "2001-01-01T00:00:00Z"}, "is over"),
        ({"uuid": "x"}, "uuid"),
        ({"name": ""}, "name"),
        ({"count": 0}, "count"),
        ({"count": 101}, "count"),
        ({"group": "g"}, "group"),
        ({"until": END}, "until"),
        ({"wait": 5}, "wait"),
        ({"booking": UUID}, "booking"),
        ({"consumer": {}}, "consumer"),
        ({"spread": {"by": "nosuch"}}, "nosuch"),
        ({"query": "x=1"}, "no parameter"),
        ({"project_id": ""}, "project_id"),
    ]
    for more, words in rows:
        with subtests.test(str(more)), unchanged(standing):
            assert words in message(post(standing, status=400, **more))
    endless = {"query": BODY["query"], "starts_at": "9998-12-31T00:00:00Z", "for": 1e9}
    for body in ([], "x", {"starts_at": START}, {"query": BODY["query"]}, endless):
        with subtests.test(str(body)), unchanged(standing):
            standing.http.post_json(BOOKINGS, body, headers=ADMIN, status=400)


def test_what_is_booked_is_not_booked_again(standing: Service) -> None:
    """The answer has what could be booked instead, for programs."""
    post(standing, count=2)
    with unchanged(standing):
        refused = post(standing, uuid=OTHER, starts_at="2035-01-02T08:00:00Z", status=409).json["error"]
    assert refused["code"] == "scheduling.not_bookable"
    assert refused["message"].startswith("It cannot be booked.")
    turnaround = standing.app.settings.scheduling.turnaround
    assert refused["earliest"] == exactly((seconds_of("", END) or 0.0) + turnaround)
    assert refused["longest"] == 3 * DAY - turnaround


def test_nobody_waits_for_what_is_proposed_instead(standing: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is looked for, others book machines of the class."""
    made = post(standing, count=2).json
    find, others = alternatives.longest_length, list[int]()

    def find_while_others_book(*arguments: Any) -> float | None:
        others.append(standing.database.write(lambda session: booked_machines.count_up(session, "CUSTOM_GOLD", "b")))
        return find(*arguments)

    monkeypatch.setattr(alternatives, "longest_length", find_while_others_book)
    post(standing, uuid=OTHER, status=409)
    assert len(others) == 1
    standing.http.patch_json(f"{BOOKINGS}/{made['uuid']}", {"count": 3}, headers=ADMIN, status=409)


def test_a_booking_that_was_made_meanwhile_is_the_answer(standing: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same body is sent twice at once, and the last machines are booked for one of them."""
    look = booking.existing

    def look_before_it_is_made(session: Session, new: NewBooking) -> Booking | None:
        monkeypatch.setattr(booking, "existing", look)
        found = look(session, new)
        session.rollback()
        post(standing, count=2)
        return found

    monkeypatch.setattr(booking, "existing", look_before_it_is_made)
    assert post(standing, count=2).json == show(standing, UUID, headers=ADMIN).json


def test_who_books_for_whom(standing: Service, subtests: pytest.Subtests) -> None:
    """Members book for their own project, within the limits; operators for any, beyond them."""
    soon = exactly(NOW + 3600)
    reader = {**ANNA, "X-Roles": "reader"}
    for by, more, status in (
        (reader, {}, 403),
        (ANNA, {"project_id": "b"}, 403),
        (ANNA, {"starts_at": soon}, 409),
        (ADMIN, {"starts_at": soon, "project_id": "b", "user_id": "bert"}, 201),
    ):
        with subtests.test(f"{by} {more}"):
            post(standing, by=by, status=status, **more)
    made = show(standing, UUID, headers=BERT).json
    assert (made["project_id"], made["user_id"]) == ("b", "bert")


def test_a_booking_is_told_to_its_project(standing: Service) -> None:
    """With who has booked, which only those hear who may see whose claims there are."""
    everything, annas, berts = (Reader(standing, by, "&type=scheduling.booking.*") for by in (ADMIN, ANNA, BERT))
    made = post(standing, name="training", by=ANNA).json
    (told,), (of_anna,) = everything.next(), annas.next()
    assert told == of_anna
    assert berts.next() == []
    assert (told["type"], told["subject"]) == ("scheduling.booking.created", UUID)
    expected = {name: made[name] for name in ("uuid", "name", "project_id", "user_id", "count", "short_by")}
    data = told["data"]["booking"]
    assert {name: data[name] for name in expected} == expected
    assert (data["starts_at"], data["ends_at"]) == ("2035-01-05T08:00:00Z", "2035-01-07T08:00:00Z")
    assert (data["came"], data["went"]) == ([each["node"] for each in made["machines"]], [])
    event = Event(1, "e", told["type"], UUID, None, NOW, {"booking": data}, project="a")
    assert Mask(sees_workers=False).apply(event).data["booking"] == {**data, "user_id": None}
    assert Mask(project="a", sees_workers=False).apply(event).data["booking"] == data


# -- changing and cancelling -------------------------------------------------------------------------------------------


def patch(service: Service, body: Any, *, status: int = 200, by: Any = ADMIN) -> TestResponse:
    return service.http.patch_json(f"{BOOKINGS}/{UUID}", body, headers=by, status=status)


def test_a_booking_is_changed(standing: Service) -> None:
    made = post(standing, count=2, name="training", by=ADMIN).json
    reader = Reader(standing, ADMIN, "&type=scheduling.booking.changed")
    later = exactly(NOW + 10 * DAY)
    changed = patch(standing, {"name": None, "ends_at": later, "starts_at": exactly(NOW + 5 * DAY), "count": 1.0}).json
    expected = {"name": None, "ends_at": later, "starts_at": exactly(NOW + 5 * DAY), "count": 1}
    assert {name: changed[name] for name in expected} == expected
    assert show(standing, UUID, headers=ADMIN).json == changed
    (event,) = reader.next()
    kept = {each["node"] for each in changed["machines"]}
    assert (len(kept), {*event["data"]["booking"]["went"]}) == (1, {each["node"] for each in made["machines"]} - kept)


def test_changes_that_are_refused_change_nothing(standing: Service, subtests: pytest.Subtests) -> None:
    post(standing, by=ANNA)
    rows: list[tuple[Any, str, int]] = [
        ({}, "Invalid input", 400),
        ([], "Invalid input", 400),
        ({"uuid": OTHER}, "uuid", 400),
        ({"for": 60}, "for", 400),
        ({"count": 0}, "count", 400),
        ({"name": " x"}, "name", 400),
        ({"starts_at": None}, "starts_at", 400),
        ({"ends_at": "2035-01-05"}, "ends_at must be a time with a zone", 400),
        ({"ends_at": START}, "must end after it starts", 400),
        ({"starts_at": exactly(NOW - 1)}, "is over", 400),
        ({"count": 3, "name": "x"}, "It cannot be booked.", 409),
    ]
    for body, words, status in rows:
        with subtests.test(str(body)), unchanged(standing):
            assert words in message(patch(standing, body, status=status))
    for by, status in ((BERT, 404), ({**ANNA, "X-Roles": "reader"}, 403)):
        with subtests.test(str(by)), unchanged(standing):
            patch(standing, {"name": "x"}, by=by, status=status)
            standing.http.delete(f"{BOOKINGS}/{UUID}", headers=by, status=status)


def test_limits_bind_changes_of_members(standing: Service) -> None:
    post(standing, by=ANNA)
    with unchanged(standing):
        refused = patch(standing, {"starts_at": exactly(NOW + 60)}, by=ANNA, status=409).json["error"]
    assert refused["code"] == "scheduling.booking_limit"
    assert "([scheduling] notice)" in refused["message"]
    assert patch(standing, {"starts_at": exactly(NOW + 60)}).json["starts_at"] == exactly(NOW + 60)


def test_a_booking_is_cancelled(standing: Service) -> None:
    """With claims under it only with force: then they end. One that is gone is not found."""
    post(standing, by=ANNA)
    path = f"{BOOKINGS}/{UUID}"
    standing.http.delete(path, headers=ANNA, status=204)
    assert message(standing.http.delete(path, headers=ANNA, status=404)) == f"There is no booking {UUID}."
    post(standing, {"query": BODY["query"], "for": DAY, "uuid": UUID})
    project = show(standing, UUID, headers=ADMIN).json["project_id"]
    body = {"resource_class": "gold", "booking": UUID, "consumer": {"project_id": project}}
    claim = standing.http.post_json(CLAIMS, body, headers=ADMIN, status=201).json
    assert (claim["booking"], claim["until"]) == (UUID, exactly(NOW + DAY))
    (machine,) = show(standing, UUID, headers=ADMIN).json["machines"]
    assert (machine["consumer"], machine["claim"]) == (claim["uuid"], claim["uuid"])
    for query, status in (("", 409), ("?force=false", 409), ("?force=x", 400), ("?x=1", 400)):
        with unchanged(standing):
            standing.http.delete(f"{path}{query}", headers=ADMIN, status=status)
    standing.http.delete(f"{path}?force=true", headers=ADMIN, status=204)
    show(standing, UUID, headers=ADMIN, status=404)
    assert standing.http.get(f"{CLAIMS}/{claim['uuid']}", headers=ADMIN).json["until"] == exactly(NOW)
