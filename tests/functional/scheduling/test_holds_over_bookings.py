"""Holds over bookings: operators win, and are told how many bookings that moves or leaves short."""

from collections.abc import Iterator
from typing import Any

import pytest

from baremetal_sched.db.clock import in_words
from tests.functional.scheduling.kept_bookings import GOLD, Bookings, world
from tests.functional.scheduling.test_bookings import DAY, NOW

HOLDS = "/scheduling/v1/holds"


@pytest.fixture
def bookings(database_url: str) -> Iterator[Bookings]:
    with world(database_url) as found:
        yield found


def body(starts: float | None, ends: float | None, **more: Any) -> dict[str, Any]:
    times = {"starts_at": starts, "ends_at": ends}
    return {
        "type": "window",
        **{name: in_words(NOW + at * DAY) for name, at in times.items() if at is not None},
        **more,
    }


def hold(bookings: Bookings, node: str, starts: float | None, ends: float | None) -> dict[str, Any]:
    """A hold of a node, between days from now; returns the answer."""
    path = f"/scheduling/v1/nodes/{node}/holds"
    answer: dict[str, Any] = bookings.service.http.post_json(path, body(starts, ends), status=201).json
    return answer


def test_who_holds_is_told_how_many_bookings_it_moves_and_leaves_short(bookings: Bookings) -> None:
    for name in ("n1", "n2", "n3"):
        bookings.service.add_node(name, **GOLD)
    first, second = bookings.book(2, 3), bookings.book(5, 6)
    (one,), (other,) = bookings.machines(first), bookings.machines(second)
    filtered = body(2.5, None, filter={"resource_class": "gold"})
    tried = bookings.service.http.post_json(HOLDS, {**filtered, "dry_run": True}).json
    # All machines would be held.
    assert (tried["bookings"], tried["maintenance"]) == ({"moved": 0, "short": 2}, [])
    assert (bookings.machines(first), bookings.machines(second)) == ([one], [other])
    assert hold(bookings, str(one), 2.5, 2.6)["bookings"] == {"moved": 1, "short": 0}
    assert bookings.machines(first) != [one]


def test_a_booking_that_is_left_short_is_filled_when_the_hold_is_released(bookings: Bookings) -> None:
    bookings.service.add_node("n1", **GOLD)
    booking = bookings.book(2, 3)
    bookings.told()
    made = hold(bookings, "n1", 2.5, 2.6)
    assert made["bookings"] == {"moved": 0, "short": 1}
    assert bookings.told() == [("short", [], [], 1)]
    bookings.service.http.delete(f"/scheduling/v1/nodes/n1/holds/{made['uuid']}")
    assert (bookings.told(), bookings.machines(booking)) == ([("filled", [], [], 0)], ["n1"])
    assert bookings.closed() == ["n1"]


def test_a_hold_that_leaves_the_window_concerns_no_booking(bookings: Bookings) -> None:
    bookings.service.add_node("n1", **GOLD)
    bookings.book(2, 3)
    bookings.told()
    assert "bookings" not in hold(bookings, "n1", 1, 2)
    longer = hold(bookings, "n1", 3, 4)
    assert "bookings" not in longer
    assert bookings.told() == []


def test_a_hold_that_is_lengthened_is_over_a_booking(bookings: Bookings) -> None:
    bookings.service.add_node("n1", **GOLD)
    made = hold(bookings, "n1", 1, 2)
    bookings.book(2, 3)
    path = f"/scheduling/v1/nodes/n1/holds/{made['uuid']}"
    answer = bookings.service.http.patch_json(path, {"ends_at": in_words(NOW + 2.1 * DAY)}).json
    assert answer["bookings"] == {"moved": 0, "short": 1}


def test_a_machine_that_is_claimed_under_its_booking_is_not_replaced(bookings: Bookings) -> None:
    for name in ("n1", "n2"):
        bookings.service.add_node(name, **GOLD)
    booking = bookings.book(2, 4)
    bookings.go_to(2)
    _, name = bookings.claim(booking)
    assert "bookings" not in hold(bookings, str(name), 3, 4)
    bookings.go_to(3)
    assert bookings.machines(booking) == [name]
