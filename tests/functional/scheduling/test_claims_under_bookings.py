"""Claims under bookings: they get its machines and no others, wait in its own queue, and end with it at the latest."""

import uuid as uuid_module
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings import bookings, use
from baremetal_sched.baremetal.provider import booked_machines
from baremetal_sched.db.clock import exactly, in_words, seconds_of
from baremetal_sched.db.models import BookedMachine, Booking, ClaimEnd, Node
from baremetal_sched.scheduling import sweep as sweeps
from baremetal_sched.scheduling.queue import next_for
from baremetal_sched.settings import load
from tests.database_clock import SettableClock, settable
from tests.functional.scheduling.booked import enter
from tests.functional.scheduling.test_audit import age, found
from tests.functional.scheduling.test_claims import (
    ADMIN,
    ANNA,
    BERT,
    CLAIMS,
    FLAVOR,
    LIKE_ALLOCATION,
    QUERY,
    listed,
    message,
    post,
    show,
)
from tests.restored import Rows, restored
from tests.service import Service
from tests.unchanged import unchanged

#: The moment of the tests: the booking runs from then on for two hours.
START, HOUR = 2_000_000_000.5, 3600.0
END = START + 2 * HOUR
PROJECT = {"project_id": "p", "user_id": "u"}


@pytest.fixture
def clock(service: Service) -> Iterator[SettableClock]:
    """The clock of the database, which stands at the start of the booking; a conductor is alive then."""
    with settable(service.database) as clock:
        clock.stopped_at = START
        service.add_conductor("r1")
        yield clock


def book(service: Service, *names: str, project: str = "p", starts: float = 0, ends: float = 2 * HOUR) -> str:
    """A booking of these nodes, by default from now on for two hours."""
    return enter(service, *names, starts=starts, ends=ends, project=project)[0]


def claim(service: Service, booking: str | None, body: Any = None, *, status: int = 201, **more: Any) -> Any:
    """A claim of the booking's project."""
    named = {} if booking is None else {"booking": booking}
    return post(service, body or LIKE_ALLOCATION, status=status, **{"consumer": PROJECT, **named, **more})


def nodes_of(shown: Any) -> list[str]:
    return [each["node"] for each in shown["machines"]]


def release(service: Service, shown: Any) -> None:
    service.http.delete(f"{CLAIMS}/{shown['uuid']}", status=204)


def sweep(service: Service) -> None:
    sweeps.sweep(service.database, load({}), "r1", lambda *_: True)


def used_at(service: Service, booking: str) -> list[float | None]:
    query = select(BookedMachine.used_at).join(Booking, Booking.id == BookedMachine.booking_id)
    query = query.where(Booking.uuid == booking).order_by(BookedMachine.node_id)
    return service.database.read(lambda session: list(session.scalars(query)))


# -- now ---------------------------------------------------------------------------------------------------------------


def test_it_gets_the_machines_of_its_booking_and_no_others(service: Service, clock: SettableClock) -> None:
    booked, free = service.add_node("n1"), service.add_node("n2")
    booking = book(service, "n1")
    assert used_at(service, booking) == [None]
    shown = claim(service, booking).json
    assert (nodes_of(shown), shown["until"], shown["booking"]) == ([booked], exactly(END), booking)
    assert shown == {**show(service, shown["uuid"]), "machines": shown["machines"]}
    assert used_at(service, booking) == [START]
    claim(service, booking, status=409)
    assert nodes_of(claim(service, None).json) == [free]
    clock.step(60)
    release(service, shown)
    claim(service, None, status=409)  # it goes back to the booking
    assert nodes_of(claim(service, booking).json) == [booked]
    assert used_at(service, booking) == [START]


def test_several_and_other_forms_of_requests(service: Service, clock: SettableClock, row: Rows) -> None:
    nodes = [service.add_node(f"n{number}") for number in range(4)]
    booking = book(service, "n0", "n1", "n2")
    for body in (QUERY, LIKE_ALLOCATION, FLAVOR):
        with row(body):
            assert {*nodes_of(claim(service, booking, body, count=2).json)} < {*nodes[:3]}
        with row(body, "one"):
            assert nodes_of(claim(service, booking, body).json)[0] in nodes[:3]
        with row(body, "one after several"):
            claim(service, booking, body, count=2)
            claim(service, booking, body, status=409, count=2)
            claim(service, booking, body)
            claim(service, booking, body, status=409)


def test_who_cannot_use_a_booking(service: Service, clock: SettableClock, row: Rows) -> None:
    service.add_node("n1")
    others, over = book(service, "n1", project="b"), book(service, "n1", starts=-HOUR, ends=0)
    later = book(service, "n1", starts=HOUR)
    rows: list[tuple[Any, int, str]] = [
        (str(uuid_module.uuid4()), 404, "There is no booking"),
        (others, 404, f"There is no booking {others}."),
        (over, 409, "is over"),
        (later, 409, f"It begins at {in_words(START + HOUR)}"),
        ("n1", 400, "booking"),
        (5, 400, "booking"),
    ]
    for booking, status, words in rows:
        with row(booking), unchanged(service):
            assert words in message(claim(service, booking, status=status))


def test_its_end_is_that_of_the_booking_or_earlier(service: Service, clock: SettableClock, row: Rows) -> None:
    service.add_node("n1")
    booking = book(service, "n1")
    rows: list[tuple[dict[str, Any], float | None]] = [
        ({"until": exactly(END)}, END),
        ({"until": exactly(END - 1)}, END - 1),
        ({"for": HOUR}, START + HOUR),
        ({"for": 2 * HOUR}, END),
        ({"until": exactly(END + 1)}, None),
        ({"for": 2 * HOUR + 1}, None),
        ({"until": None}, None),
    ]
    for given, end in rows:
        with row(given):
            answer = claim(service, booking, status=400 if end is None else 201, **given)
            if end is None:
                assert f"booking {booking} ends at" in message(answer)
            else:
                assert seconds_of("until", answer.json["until"]) == end


def test_a_patch_of_its_end_stays_within_the_booking(service: Service, clock: SettableClock, row: Rows) -> None:
    service.add_node("n1")
    booking = book(service, "n1")
    made = claim(service, booking).json
    waiting = claim(service, booking, status=202, wait=600).json
    for shown in (made, waiting):
        for given, end in [
            ({"until": exactly(END - 600)}, END - 600),
            ({"until": exactly(END)}, END),
            ({"until": exactly(END + 1)}, None),
            ({"until": None}, None),
        ]:
            with row(shown["state"], given):
                path = f"{CLAIMS}/{shown['uuid']}"
                answer = service.http.patch_json(path, given, status=200 if end else 400)
                if end:
                    assert (answer.json["until"], answer.json["booking"]) == (exactly(end), booking)


# -- waiting -----------------------------------------------------------------------------------------------------------


def position(service: Service, shown: Any) -> tuple[str, int | None]:
    """State and position of a claim now."""
    now = show(service, shown["uuid"])
    return now["state"], now["position"]


def test_it_waits_in_the_queue_of_its_booking_only(service: Service, clock: SettableClock) -> None:
    booked, other = service.add_node("n1"), service.add_node("n2")
    booking = book(service, "n1")
    has, of_class = claim(service, booking).json, claim(service, None).json
    waits_for_class = claim(service, None, status=202, wait=600).json
    first = claim(service, booking, status=202, wait=600).json
    assert (first["position"], first["resource_class"], first["booking"]) == (1, "CUSTOM_GOLD", booking)
    second = claim(service, booking, status=202, wait=600).json
    assert position(service, second) == ("waiting", 2)
    release(service, of_class)  # neither gets what the others wait for
    assert nodes_of(show(service, waits_for_class["uuid"])) == [other]
    assert position(service, first) == ("waiting", 1)
    more = claim(service, None, status=202, wait=600).json
    release(service, has)
    assert nodes_of(show(service, first["uuid"])) == [booked]
    assert (position(service, second), position(service, more)) == (("waiting", 1), ("waiting", 1))
    query = f"{CLAIMS}?resource_class=CUSTOM_GOLD&state=waiting"
    assert [each["uuid"] for each in service.http.get(query).json["claims"]] == [second["uuid"], more["uuid"]]


def test_nothing_waits_under_a_booking_of_another_class(service: Service, clock: SettableClock) -> None:
    service.add_node("n1")
    service.add_node("i1", resource_class="iron")
    iron = {**LIKE_ALLOCATION, "resource_class": "iron"}
    refused = claim(service, book(service, "n1"), iron, status=400, wait=60)
    assert "in vain" in message(refused)
    assert "CUSTOM_GOLD" in message(refused)
    assert listed(service) == []


def test_a_newcomer_comes_after_those_who_wait_under_the_booking(service: Service, clock: SettableClock) -> None:
    node = service.add_node("n1")
    booking = book(service, "n1")
    service.set_columns(node, reservation="r1")
    first = claim(service, booking, status=202, wait=600).json
    service.set_columns(node, reservation=None)
    claim(service, booking, status=409)
    assert nodes_of(show(service, first["uuid"])) == [node]


@pytest.mark.parametrize("count", [1, 2])
def test_who_waits_for_the_start_is_served_by_the_sweep(service: Service, clock: SettableClock, count: int) -> None:
    names = [f"n{number}" for number in range(count)]
    nodes = [service.add_node(name) for name in names]
    clock.step(-600)
    booking = book(service, *names, starts=600, ends=600 + 2 * HOUR)
    shown = claim(service, booking, status=202, wait=1200, count=count).json
    sweep(service)
    assert position(service, shown) == ("waiting", 1)
    clock.step(600)
    sweep(service)
    now = show(service, shown["uuid"])
    assert (now["state"], nodes_of(now), now["until"]) == ("claimed", nodes, exactly(END))


def test_several_wait_for_what_is_released(service: Service, clock: SettableClock) -> None:
    names = ["n0", "n1"]
    nodes = [service.add_node(name) for name in names]
    service.add_node("n2")
    booking = book(service, *names)
    has = claim(service, booking).json
    shown = claim(service, booking, status=202, wait=600, count=2).json
    release(service, has)
    assert nodes_of(show(service, shown["uuid"])) == nodes


def test_a_machine_that_comes_to_a_running_booking_is_handed_over(service: Service, clock: SettableClock) -> None:
    service.add_node("n1")
    booking, another = book(service, "n1"), service.add_node("n2")
    claim(service, booking)
    shown = claim(service, booking, status=202, wait=600).json

    def put(session: Session) -> None:
        ids = session.scalars(select(Node.id).where(Node.uuid == another)).all()
        row = {"booking_id": bookings.find(session, booking).id, "starts_at": START, "ends_at": END}
        nodes, seen = booked_machines.lock(session, ids), booked_machines.calendars(session, ids)
        booked_machines.put(session, nodes, seen, START, {**row, "turnaround": dict.fromkeys(ids, 0.0)})

    service.database.write(put)
    assert nodes_of(show(service, shown["uuid"])) == [another]


def test_it_waits_no_longer_than_leaves_it_its_time(service: Service, clock: SettableClock, row: Rows) -> None:
    service.add_node("n1")
    booking = book(service, "n1")
    claim(service, booking)
    rows: list[tuple[dict[str, Any], float]] = [
        ({}, 60.0),
        ({"for": HOUR}, HOUR),
        ({"until": exactly(END - HOUR)}, HOUR + 60),
    ]
    for given, left in rows:
        with row(given):
            shown = claim(service, booking, status=202, wait=86_400, **given).json
            assert seconds_of("deadline", shown["deadline"]) == END - left


# -- the end of the booking is moved -----------------------------------------------------------------------------------


def follow(service: Service, uuid: str, ends_at: float) -> None:
    """Move the end of a booking."""

    def move(session: Session) -> None:
        booking = bookings.lock(session, bookings.find(session, uuid).id)
        assert booking is not None
        old, booking.ends_at = booking.ends_at, ends_at
        use.follow(session, load({}), booking, old)

    service.database.write(move)


def test_ends_follow_that_of_the_booking(service: Service, clock: SettableClock, row: Rows) -> None:
    for name in ("n0", "n1", "n2"):
        service.add_node(name)
    booking = book(service, "n0", "n1", "n2")
    with_it = claim(service, booking).json
    late, early = (
        claim(service, booking, **{"for": 7000}).json,
        claim(service, booking, until=exactly(START + HOUR)).json,
    )
    waits = claim(service, booking, status=202, wait=86_400).json
    waits_for = claim(service, booking, status=202, wait=86_400, **{"for": HOUR}).json
    for moved in (END + HOUR, END - HOUR / 2):
        with row(moved):
            follow(service, booking, moved)
            ends = [show(service, each["uuid"])["until"] for each in (with_it, late, early, waits)]
            expected = (moved, min(moved, START + 7000), START + HOUR, moved)
            assert ends == [*map(exactly, expected)]
            until = show(service, waits_for["uuid"])["deadline"]
            assert seconds_of("deadline", until) == min(moved, END) - HOUR
            due = service.database.read(lambda session: session.scalars(select(ClaimEnd.due_at)).all())
            assert max(due) <= moved


def test_what_is_claimed_under_a_booking(service: Service, clock: SettableClock) -> None:
    names = ["n0", "n1", "n2"]
    for name in names:
        service.add_node(name)
    booking, other = book(service, *names), book(service, "n0", starts=3 * HOUR, ends=4 * HOUR)
    one, two = claim(service, booking).json, claim(service, booking, count=2).json

    def read(session: Session) -> list[tuple[str, str, str]]:
        both = bookings.find(session, booking), bookings.find(session, other)
        return [(each.node, each.consumer, each.claim) for each in use.claims_under(session, *both)]

    machines = [(each["node"], each["consumer"], shown["uuid"]) for shown in (one, two) for each in shown["machines"]]
    assert {*service.database.read(read)} == {*machines}


# -- rights and explanations -------------------------------------------------------------------------------------------


def test_a_booking_is_that_of_the_consumers_project(database_url: str, subtests: pytest.Subtests) -> None:
    """A project's booking does not exist for others; and its machines are claimed only while the project may use
    them."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service, settable(service.database) as clock:
        clock.stopped_at = START
        service.add_conductor("r1")
        node = service.add_node("n1", owner="a")
        booking = book(service, "n1", project="a")
        for headers, project, status in [(BERT, None, 404), (ADMIN, "b", 404), (BERT, "a", 403), (ANNA, None, 201)]:
            with subtests.test(headers=headers, project=project), restored(service):
                consumer = {} if project is None else {"consumer": {"project_id": project}}
                post(service, LIKE_ALLOCATION, booking=booking, headers=headers, status=status, **consumer)
        waits = post(service, LIKE_ALLOCATION, booking=booking, wait=600, headers=ANNA, status=201).json
        waits = post(service, LIKE_ALLOCATION, booking=booking, wait=600, headers=ANNA, status=202).json
        service.set_columns(node, owner="b")
        claims = [each for each in listed(service, headers=ADMIN) if each != waits["uuid"]]
        service.http.delete(f"{CLAIMS}/{claims[0]}", headers=ADMIN, status=204)
        assert show(service, waits["uuid"], headers=ANNA)["state"] == "waiting"
        post(service, LIKE_ALLOCATION, booking=booking, headers=ANNA, status=409)


def test_an_explanation_under_a_booking(service: Service, clock: SettableClock) -> None:
    for name in ("n1", "n2"):
        service.add_node(name)
    project = service.app.settings.placement.incomplete_consumer_project_id
    booking, path = book(service, "n1", project=project), "/scheduling/v1/explanations"
    asked = {**LIKE_ALLOCATION, "booking": booking}
    explained = service.http.post_json(path, asked).json
    assert (explained["verdict"], explained["fitting"], explained["nodes"]) == ("fits", 1, 2)
    post(service, LIKE_ALLOCATION, booking=booking, status=201)
    explained = service.http.post_json(path, asked).json
    assert (explained["verdict"], explained["fitting"]) == ("busy", 0)
    service.http.post_json(path, {**asked, "booking": book(service, "n2")}, status=404)


def test_who_is_next_for_a_booked_machine(service: Service, clock: SettableClock) -> None:
    node = service.add_node("n1")
    booking = book(service, "n1")
    claim(service, booking)
    claim(service, None, status=202, wait=600)
    waits = claim(service, booking, status=202, wait=600).json
    following = service.database.read(lambda session: next_for(session, node, "CUSTOM_GOLD", load({})))
    assert following is not None
    assert following.uuid == waits["uuid"]


@pytest.mark.parametrize("count", [1, 2])
def test_the_audit_finds_who_waits_though_its_booking_has_machines(
    service: Service, clock: SettableClock, count: int
) -> None:
    names = [f"n{number}" for number in range(count)]
    nodes = [service.add_node(name) for name in names]
    clock.step(-600)
    booking = book(service, *names, starts=600, ends=600 + 2 * HOUR)
    waits = claim(service, booking, status=202, wait=1200, **({"count": count} if count > 1 else {})).json["uuid"]
    age(service)
    assert found(service) == []
    clock.step(600)
    what = f"node {nodes[0]} is free and fits" if count == 1 else "2 nodes that fit together are free"
    assert found(service) == [f"claim {waits}: it waits, though {what}"]
    sweep(service)
    assert found(service) == []
