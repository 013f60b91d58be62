"""Conductors and bookings: what no commit has told, whom a freed machine is for, and bookings that are broken."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.models import Booking, Node
from baremetal_sched.scheduling.bookings import replacing
from tests.functional.scheduling.ended import claim
from tests.functional.scheduling.kept_bookings import GOLD, Bookings, world
from tests.functional.scheduling.test_bookings import DAY, NOW
from tests.functional.scheduling.test_handover import held, state, wait
from tests.service import Service

DUE, ALL = (next(task for task in PERIODIC_TASKS if task.name == name) for name in ("bookings", "booked machines"))


@pytest.fixture
def bookings(database_url: str) -> Iterator[Bookings]:
    with world(database_url, no_show=0) as found:
        yield found


def silently(service: Service, name: str, **values: Any) -> None:
    """Change the row of a node, without a word to bookings, as if the process had ended after its commit."""
    change = update(Node).where(Node.name == name).values(values)
    service.database.write(lambda session: session.execute(change) and None)


def test_what_no_commit_has_told_is_found(bookings: Bookings, subtests: pytest.Subtests) -> None:
    service, conductor = bookings.service, bookings.service.conductors["r1"]
    service.add_node("n1", **GOLD, traits=("CUSTOM_FAST",))
    booking = bookings.book(2, 3, query="resources=CUSTOM_GOLD:1&required=CUSTOM_FAST")
    service.add_node("n2", **GOLD, traits=("CUSTOM_FAST",))
    with subtests.test("what SQL sees, once a minute"):
        conductor.run_periodic_task(DUE)
        silently(service, "n1", retired=True)
        conductor.run_periodic_task(DUE)
        assert bookings.machines(booking) == ["n1"]
        conductor.run_periodic_task(ALL)
        assert bookings.machines(booking) == ["n2"]
    with subtests.test("the rest, once an hour"):
        silently(service, "n1", retired=False)
        silently(service, "n2", owner="q")
        conductor.run_periodic_task(ALL)
        assert bookings.machines(booking) == ["n2"]
        bookings.go_to(0.05, sweeps=False)
        conductor.run_periodic_task(DUE)
        assert bookings.machines(booking) == ["n1"]


def test_a_booking_that_is_broken_keeps_no_other_waiting(bookings: Bookings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("n1", "n2"):
        bookings.service.add_node(name, **GOLD)
    broken, other = bookings.book(2, 3), bookings.book(2, 3)
    keep = replacing.keep

    def fail(session: Session, settings: Any, booking_id: int) -> None:
        if booking_id == broken.id:
            raise RuntimeError("broken")
        keep(session, settings, booking_id)

    monkeypatch.setattr(replacing, "keep", fail)
    bookings.go_to(3)
    assert [bookings.now(each.id).is_over for each in (broken, other)] == [False, True]


def test_a_freed_machine_is_first_for_running_bookings_that_are_short(bookings: Bookings) -> None:
    """The oldest start first, then those who wait."""
    service = bookings.service
    for name in ("n1", "n2"):
        service.add_node(name, **GOLD)
    later, first = bookings.book(2.5, 9), bookings.book(2, 9)
    bookings.go_to(3)
    others = [service.add_node(f"u{number}", **GOLD) for number in range(3)]
    users = [claim(service, node) for node in others]
    for name in ("n1", "n2"):
        service.baremetal("PUT", f"/nodes/{name}/maintenance", {"reason": "?"})
    waiting = wait(service, seconds=9 * DAY)
    given = []
    for user in users:
        service.placement("DELETE", f"/allocations/{user}", status=204)
        given.append((bookings.machines(first), bookings.machines(later), state(service, waiting)))
    (one,), (two,) = bookings.machines(first), bookings.machines(later)
    assert [(len({"u0", "u1", "u2"} & {*a}), len({"u0", "u1", "u2"} & {*b}), c) for a, b, c in given] == [
        (1, 0, "waiting"),
        (1, 1, "waiting"),
        (1, 1, "claimed"),
    ]
    assert {one, two, *bookings.names(held(service, waiting))} == {"u0", "u1", "u2"}


def test_a_thousand_bookings_that_are_kept_cost_few_statements(bookings: Bookings) -> None:
    service = bookings.service
    node = service.add_node("n1", **GOLD)
    booking = bookings.book(2, 3)
    bookings.sweep()

    def copy(session: Session) -> None:
        row = session.execute(select(Booking.__table__).where(Booking.id == booking.id)).mappings().one()
        kept = session.execute(select(BOOKED)).mappings().one()
        for number in range(1, 1001):
            again = {"id": row["id"] + number, "uuid": f"{number:036}", "due_at": NOW + 9 * DAY}
            session.execute(insert(Booking.__table__).values({**row, **again}))  # type: ignore[arg-type]
            times = {"starts_at": NOW + (3 + number) * DAY, "ends_at": NOW + (3.5 + number) * DAY}
            of_copy = {"id": kept["id"] + number, "booking_id": again["id"], **times}
            session.execute(insert(BOOKED).values({**kept, **of_copy}))

    service.database.write(copy)
    with service.statements() as statements:
        bookings.sweep()
    assert len(statements) <= 3, statements
    assert node


def test_how_many_bookings_there_are_is_a_metric(bookings: Bookings) -> None:
    for name in ("n1", "n2"):
        bookings.service.add_node(name, **GOLD)
    bookings.book(2, 4, several=Several(2))
    bookings.book(5, 6)
    bookings.service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "?"})
    bookings.go_to(3)
    text = bookings.service.http.get("/metrics").text
    for line in ('bookings{state="planned"} 1.0', 'bookings{state="running"} 1.0', "bookings_short 1.0", "plans 0.0"):
        assert f"baremetal_sched_{line}" in text


def test_a_freed_machine_that_no_booking_can_use_goes_to_who_waits(bookings: Bookings) -> None:
    service = bookings.service
    service.add_node("n1", **GOLD, traits=("CUSTOM_FAST",))
    bookings.book(2, 9, query="resources=CUSTOM_GOLD:1&required=CUSTOM_FAST")
    bookings.go_to(3)
    user = claim(service, service.add_node("u1", **GOLD))
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "?"})
    waiting = wait(service, seconds=9 * DAY)
    service.placement("DELETE", f"/allocations/{user}", status=204)
    assert state(service, waiting) == "claimed"


def test_who_waits_under_a_booking_gets_the_machine_that_comes_in_place(bookings: Bookings) -> None:
    service = bookings.service
    service.add_node("n1", **GOLD)
    booking = bookings.book(2, 9)
    bookings.go_to(3)
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "?"})
    body = {"resource_class": "gold", "booking": booking.uuid, "consumer": {"project_id": "p", "user_id": "u"}}
    made = service.http.post_json("/scheduling/v1/claims", {**body, "wait": 3600}, status=202).json
    service.add_node("n2", **GOLD)
    bookings.go_to(3.01)
    assert bookings.machines(booking) == ["n2"]
    assert bookings.names(held(service, made["uuid"])) == ["n2"]
