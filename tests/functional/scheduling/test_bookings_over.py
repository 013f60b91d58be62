"""What becomes of bookings by the clock: told before they end, over, and of machines that nobody claims."""

from collections.abc import Iterator

import pytest
from sqlalchemy import update

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.db.models import Booking
from tests.functional.scheduling.kept_bookings import GOLD, HOUR, Bookings, world
from tests.functional.scheduling.test_bookings import DAY, NOW
from tests.functional.scheduling.test_handover import state, wait

NO_SHOW = 6 * HOUR


@pytest.fixture
def bookings(database_url: str) -> Iterator[Bookings]:
    with world(database_url, no_show=0) as found:
        yield found


def test_it_is_told_before_it_ends_and_when_it_is_over(bookings: Bookings) -> None:
    bookings.service.add_node("n1", **GOLD)
    booking = bookings.book(2, 4.5)
    bookings.told()
    bookings.go_to(3)
    assert bookings.told() == []
    bookings.go_to(3.5)
    assert bookings.told() == [("ends_soon", [], [], 0)]
    bookings.go_to(3.6)
    assert bookings.told() == []
    bookings.go_to(4.5 - HOUR / DAY)
    assert bookings.told() == [("ends_soon", [], [], 0)]
    bookings.go_to(4.5)
    assert bookings.told() == [("over", [], [], 0)]
    assert (bookings.now(booking.id).is_over, bookings.machines(booking), bookings.closed()) == (True, [], [])
    bookings.go_to(5)
    assert bookings.told() == []


def test_of_intervals_only_those_that_begin_while_it_runs_are_told(bookings: Bookings) -> None:
    bookings.service.add_node("n1", **GOLD)
    bookings.book(2, 2.5)
    bookings.told()
    bookings.go_to(2.1)
    assert bookings.told() == []
    bookings.go_to(2.49)
    assert bookings.told() == [("ends_soon", [], [], 0)]


def test_one_that_ends_later_than_it_did_is_told_again(bookings: Bookings) -> None:
    bookings.service.add_node("n1", **GOLD)
    booking = bookings.book(2, 4)
    bookings.go_to(3.5)
    bookings.told()
    later = update(Booking).where(Booking.id == booking.id).values(ends_at=NOW + 10 * DAY, due_at=NOW)
    bookings.service.database.write(lambda session: session.execute(later))
    bookings.go_to(4)
    assert bookings.told() == []
    bookings.go_to(9.5)
    assert bookings.told() == [("ends_soon", [], [], 0)]


def test_machines_are_opened_by_the_sweep_for_those_who_wait(bookings: Bookings) -> None:
    """Until then nobody without an end gets one: opened too late, never too early."""
    service = bookings.service
    service.add_node("n1", **GOLD)
    bookings.book(2, 3)
    waiting = wait(service, seconds=10 * DAY)
    bookings.go_to(3.1, sweeps=False)
    assert bookings.closed() == ["n1"]
    bookings.sweep()
    assert state(service, waiting) == "claimed"


def test_it_is_deleted_long_after_it_was_over(bookings: Bookings) -> None:
    bookings.service.add_node("n1", **GOLD)
    booking = bookings.book(2, 3)
    bookings.go_to(3)
    bookings.go_to(32.9)
    assert bookings.now(booking.id).is_over
    bookings.go_to(33)
    found = bookings.service.database.read(lambda session: session.get(Booking, booking.id))
    assert found is None


# -- machines that nobody claims ---------------------------------------------------------------------------------------


def test_a_machine_that_nobody_claims_is_given_up(database_url: str) -> None:
    with world(database_url, no_show=NO_SHOW) as bookings:
        for name in ("n1", "n2", "n3"):
            bookings.service.add_node(name, **GOLD)
        booking = bookings.book(2, 4, several=Several(3))

        bookings.told()
        bookings.go_to(2)
        (given_back, first), (_, second) = bookings.claim(booking), bookings.claim(booking)
        bookings.service.http.delete(f"/scheduling/v1/claims/{given_back}")
        (third,) = {"n1", "n2", "n3"} - {first, second}
        bookings.go_to(2 + (NO_SHOW - 1) / DAY)
        assert bookings.told() == []
        bookings.go_to(2 + NO_SHOW / DAY)
        assert bookings.told() == [("changed", [third], [], 0)]
        assert (bookings.now(booking.id).count, {*bookings.machines(booking)}) == (2, {first, second})
        bookings.go_to(3)
        assert bookings.told() == [("ends_soon", [], [], 0)]


def test_a_booking_of_which_nobody_claims_anything_is_over(database_url: str) -> None:
    with world(database_url, no_show=NO_SHOW) as bookings:
        bookings.service.add_node("n1", **GOLD)
        bookings.book(2, 4)
        bookings.told()
        bookings.go_to(2.25)
        assert bookings.told() == [("changed", ["n1"], [], 0), ("over", [], [], 0)]
        assert bookings.closed() == []


def test_a_machine_that_came_in_its_place_has_its_own_time(database_url: str) -> None:
    with world(database_url, no_show=NO_SHOW) as bookings:
        service = bookings.service
        for name in ("n1", "n2"):
            service.add_node(name, **GOLD)
        booking = bookings.book(2, 4)
        (name,) = bookings.machines(booking)
        bookings.go_to(2.2)
        service.baremetal("PUT", f"/nodes/{name}/maintenance", {"reason": "?"})
        bookings.go_to(2.4)
        assert len(bookings.machines(booking)) == 1
        bookings.go_to(2.46)
        assert bookings.machines(booking) == []
