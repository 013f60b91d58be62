"""The limits of bookings, which callers with the right to book for all are not bound by."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.errors.scheduling import BookingLimit, NotBookable
from baremetal_sched.scheduling import claims
from tests.database_clock import SettableClock
from tests.functional.scheduling.making_bookings import DAY, NOW, booked, made, new, standing_still, wait
from tests.service import Service

#: Options, the bookings that are made before, one that is too much, and what is allowed.
LIMITS: list[tuple[str, Any, list[Any], Any, float]] = [
    ("notice", 86_400, [], (0.9, 2, 1), NOW + DAY),
    ("longest_booking", 2 * DAY, [], (2, 4.1, 1), NOW + 4 * DAY),
    ("furthest_booking", 10 * DAY, [], (8, 11, 1), NOW + 10 * DAY),
    ("most_bookings", 2, [(2, 3, 1), (2, 3, 1)], (5, 6, 1), 2),
    ("most_bookings", 0, [], (5, 6, 1), 0),
    ("booked_hours", 48, [(2, 3, 1)], (5, 6, 2), 24.0),
    ("most_booked", 0.5, [(2, 4, 1)], (3, 5, 2), 1),
    ("most_booked", 0.0, [], (3, 5, 1), 0),
]


def wanted(starts: float, ends: float, count: int) -> Any:
    return new(starts, ends, several=Several(count))


@pytest.mark.parametrize("row", LIMITS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_limits(database_url: str, row: Any) -> None:
    option, value, before, too_much, allowed = row
    with standing_still(database_url, **{option: value}) as (service, _):
        for number in range(4):
            service.add_node(f"n{number}")
        for each in before:
            booked(service, wanted(*each))
        with pytest.raises(BookingLimit) as error:
            booked(service, wanted(*too_much))
        assert error.value.details["limit"] == option
        assert error.value.details["allowed"] == allowed
        assert str(error.value).endswith(f"([scheduling] {option})")
        assert booked(service, replace(wanted(*too_much), is_bound=False))


def test_a_limit_is_said_only_of_machines_that_fit(database_url: str) -> None:
    """A class that has none for the project is not told of by its number of machines, which others may own."""
    with standing_still(database_url, most_booked=0.5, longest_booking=1_209_600) as (service, _):
        service.add_node("n1")
        service.add_node("theirs", resource_class="silver", owner="q")
        for name in ("SILVER", "NONE"):
            with pytest.raises(NotBookable, match="No node matches"):
                booked(service, new(2, 3, query=f"resources=CUSTOM_{name}:1", several=Several(2)))
        with pytest.raises(BookingLimit, match="A booking can last for 1209600 s at most"):
            booked(service, new(2, 30))


def test_the_share_counts_each_moment(database_url: str) -> None:
    with standing_still(database_url, most_booked=0.5) as (service, _):
        for number in range(4):
            service.add_node(f"n{number}")
        service.add_node("elsewhere", resource_class="silver")
        # Two that follow each other count once.
        booked(service, new(2, 3))
        booked(service, new(3, 4))
        assert booked(service, new(2.5, 3.5))
        with pytest.raises(BookingLimit, match="Of 4 machines of CUSTOM_GOLD that can be used, 2 may be booked"):
            booked(service, new(2.9, 3.1))
        # One that is retired cannot be used.
        service.set_columns(service.node("n0")["uuid"], provision_state="manageable", retired=True)
        with pytest.raises(BookingLimit, match="Of 3 machines"):
            booked(service, wanted(6, 7, 2))


def test_seconds_are_written_in_full(database_url: str) -> None:
    with standing_still(database_url, furthest_booking=90 * DAY, longest_booking=0) as (service, _):
        service.add_node("n1")
        with pytest.raises(BookingLimit, match=": 7776000 s from now"):
            booked(service, new(80, 95))


@pytest.fixture
def given(database_url: str) -> Iterator[tuple[Service, SettableClock]]:
    with standing_still(database_url) as found:
        yield found


def test_now_if_the_gate_would_give_it(given: tuple[Service, SettableClock]) -> None:
    service, _ = given
    service.add_node("n1")
    assert made(service, new(None, 1))
    with pytest.raises(BookingLimit, match="cannot begin now"):
        booked(service, new(None, 1))


def test_no_booking_overtakes_a_request_that_waits(given: tuple[Service, SettableClock]) -> None:
    service, _ = given
    service.add_node("n1")
    waiting = wait(service, "resources=CUSTOM_GOLD:1")
    with pytest.raises(BookingLimit, match="not waited for"):
        booked(service, new(None, 1))
    assert service.database.read(lambda session: claims.show(session, waiting).state) == "claimed"


def test_what_nobody_waits_for_is_booked(given: tuple[Service, SettableClock]) -> None:
    service, _ = given
    service.add_node("n1")
    service.add_node("n2", traits=("CUSTOM_A",))
    service.set_columns(service.node("n2")["uuid"], power_state=None)
    wait(service, "resources=CUSTOM_GOLD:1&required=CUSTOM_A")
    assert booked(service, new(None, 1)) == ["n1"]
