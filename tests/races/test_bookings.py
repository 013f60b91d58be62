# tier: slow
"""Bookings meet bookings, their changes, claims under them and beside them, holds, deletions and sweeps."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial

#: What may meet a booking of the only free machine.
_BESIDE_BOOKING = (
    *("book the same day", "book from now on", "claim node", "claim for a while", "claim until 2050", "allocate"),
    *("assert planned hold", "maintenance on", "delete node"),
)
#: What may meet the change of a booking, or its end before it has begun.
_BESIDE_CHANGE = (
    "book",
    "claim for a while",
    "claim until 2050",
    "assert planned hold",
    "delete node",
    "sweep bookings",
)
_CHANGES = ("cancel booking", "end booking later", "begin booking sooner")
#: What may meet a booking that runs.
_WHILE_IT_RUNS = ("cancel booking", "end booking later", "assert planned hold", "maintenance on", "claim node")


def _both(state: str, one: str, *others: str) -> list[tuple[str, str, str]]:
    return [(state, *pair) for other in others for pair in ((one, other), (other, one))]


@pytest.mark.parametrize(
    ("state", "one", "other"),
    [
        *_both("free", "book", *_BESIDE_BOOKING),
        *_both("end-ahead", "book", "prolong to 2051", "take the end away", "release"),
        *(each for change in _CHANGES for each in _both("booked", change, *_BESIDE_CHANGE)),
        ("booked", "cancel booking", "end booking later"),
        ("booked", "end booking later", "cancel booking"),
        ("booked", "end booking later", "begin booking sooner"),
        *_both("end-ahead-booked", "prolong to 2051", "cancel booking", "begin booking sooner"),
        *_both("booked-of-two", "book one more", "claim node", "delete node", "cancel booking", "assert planned hold"),
        *_both("booked-of-two", "sweep bookings", "delete node", "book the same day", "cancel booking"),
        *_both("booking-running", "claim under booking", *_WHILE_IT_RUNS),
        *_both("booking-running", "claim under booking", "claim under booking and wait"),
        *_both("booking-used", "release", "cancel used booking", "end booking later", "claim under booking and wait"),
        *_both("booking-used", "cancel used booking", "end claims", "sweep bookings"),
        *_both("booking-waiting", "release", "cancel used booking", "delete claim", "assert planned hold"),
        *_both("booking-over", "sweep bookings", "claim node", "book from now on", "cancel booking"),
        *_both("booking-used-over", "sweep bookings", "end claims", "release"),
    ],
)
def test_one_comes_after_the_other(explorer: Explorer, state: str, one: str, other: str) -> None:
    require_serial(explorer, state, one, other)
