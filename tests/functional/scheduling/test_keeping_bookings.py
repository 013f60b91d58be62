"""Keeping bookings: which machines are replaced, by which, and what is told."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.db.models import Node
from baremetal_sched.placement.ends import End
from tests.functional.scheduling.ended import claim
from tests.functional.scheduling.kept_bookings import GOLD, Bookings, hold, world
from tests.functional.scheduling.test_bookings import DAY, NOW
from tests.functional.scheduling.test_domains import ask, put
from tests.service import Service


@pytest.fixture
def bookings(database_url: str) -> Iterator[Bookings]:
    with world(database_url) as found:
        yield found


def _patch(service: Service, node: str, path: str, value: Any) -> None:
    service.baremetal("PATCH", f"/nodes/{node}", [{"op": "replace", "path": path, "value": value}])


def _change(service: Service, **values: Any) -> None:
    def change(session: Session) -> None:
        node = session.scalars(select(Node).where(Node.name == "n1")).one()
        for name, value in values.items():
            setattr(node, name, value)

    service.database.write(change)


#: What makes n1 a machine that cannot be had from two days from now on, or that does not satisfy the request.
LOSSES = {
    "retired": lambda service: _change(service, retired=True),
    "of another project": lambda service: _patch(service, "n1", "/owner", "q"),
    "failed": lambda service: service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "?"}),
    "held for a part of it": lambda service: hold(service, "n1", starts_at=2.9, ends_at=4),
    "power lost": lambda service: _change(service, power_state=None),
    "without its trait": lambda service: service.baremetal("DELETE", "/nodes/n1/traits/CUSTOM_FAST"),
    "another class": lambda service: _patch(service, "n1", "/resource_class", "silver"),
    "deleted": lambda service: service.baremetal("DELETE", "/nodes/n1"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_machine_that_is_lost_is_replaced_after_the_commit(bookings: Bookings, loss: str) -> None:
    service = bookings.service
    service.add_node("n1", **GOLD, traits=("CUSTOM_FAST",))
    booking = bookings.book(2, 3, query="resources=CUSTOM_GOLD:1&required=CUSTOM_FAST")
    service.add_node("n0", **GOLD)
    service.add_node("n2", **GOLD, traits=("CUSTOM_FAST",))
    bookings.told()
    LOSSES[loss](service)
    assert bookings.machines(booking) == ["n2"]
    told = bookings.told()
    went = [] if loss == "deleted" else ["n1"]
    assert told == [("changed", went, ["n2"], 0)]


def test_without_another_machine_it_is_short_and_told_once(bookings: Bookings) -> None:
    service = bookings.service
    for name in ("n1", "n2"):
        service.add_node(name, **GOLD)
    booking = bookings.book(2, 3, several=Several(2))
    bookings.told()
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "?"})
    # It may come back by itself: it stays booked.
    assert (bookings.told(), bookings.machines(booking)) == ([("short", [], [], 1)], ["n1", "n2"])
    bookings.sweep()
    assert bookings.told() == []
    service.baremetal("PUT", "/nodes/n2/maintenance", {"reason": "?"})
    assert bookings.told() == [("short", [], [], 2)]
    service.baremetal("DELETE", "/nodes/n1/maintenance")
    bookings.sweep()
    assert bookings.told() == [("short", [], [], 1)]
    service.add_node("n3", **GOLD)
    bookings.sweep()
    assert bookings.told() == [("changed", ["n2"], ["n3"], 0), ("filled", [], [], 0)]
    assert bookings.closed() == ["n1", "n3"]


def test_a_machine_that_does_not_fit_is_given_up_without_another(bookings: Bookings) -> None:
    service = bookings.service
    service.add_node("n1", **GOLD, traits=("CUSTOM_FAST",))
    booking = bookings.book(2, 3, query="resources=CUSTOM_GOLD:1&required=CUSTOM_FAST")
    bookings.told()
    service.baremetal("DELETE", "/nodes/n1/traits/CUSTOM_FAST")
    assert bookings.told() == [("changed", ["n1"], [], 1), ("short", [], [], 1)]
    assert (bookings.machines(booking), bookings.closed()) == ([], [])
    service.baremetal("PUT", "/nodes/n1/traits/CUSTOM_FAST")
    bookings.go_to(0.01)
    assert bookings.told() == [("changed", [], ["n1"], 0), ("filled", [], [], 0)]


def test_a_claimed_machine_that_does_not_fit_any_more_is_replaced_when_it_is_given_back(bookings: Bookings) -> None:
    service = bookings.service
    service.add_node("n1", **GOLD)
    booking = bookings.book(None, 3)
    service.add_node("n2", **GOLD)
    bookings.go_to(0.01)
    claimed, _ = bookings.claim(booking)
    bookings.told()
    _patch(service, "n1", "/owner", "q")
    bookings.go_to(0.02)
    assert (bookings.machines(booking), bookings.told()) == (["n1"], [])
    service.http.delete(f"/scheduling/v1/claims/{claimed}", status=204)
    bookings.go_to(0.03)
    assert (bookings.machines(booking), bookings.told()) == (["n2"], [("changed", ["n1"], ["n2"], 0)])
    # Nothing is left to do: it is not looked at again at each sweep.
    assert bookings.now(booking.id).due_at > NOW + 0.04 * DAY


def test_replacements_satisfy_the_booking_together_with_those_that_stay(bookings: Bookings, subtests: Any) -> None:
    service = bookings.service
    for rack in ("a", "b"):
        ask(service, "POST", "", {"name": rack, "level": "rack"}, status=201)

    def add(name: str, rack: str) -> None:
        service.add_node(name, **GOLD)
        put(service, f"rack:{rack}", name)

    for name, rack in {"a1": "a", "a2": "a", "b1": "b"}.items():
        add(name, rack)
    packed = bookings.book(2, 3, several=Several(2, pack_by="rack"))
    assert bookings.machines(packed) == ["a1", "a2"]
    bookings.told()
    with subtests.test("b1 is in another rack"):
        service.baremetal("PUT", "/nodes/a2/maintenance", {"reason": "?"})
        assert bookings.told() == [("short", [], [], 1)]
    with subtests.test("a3 is in the same"):
        add("a3", "a")
        bookings.sweep()
        assert bookings.told() == [("changed", ["a2"], ["a3"], 0), ("filled", [], [], 0)]
    with subtests.test("a3 is moved away"):
        put(service, "rack:b", "a3")
        assert bookings.told() == [("changed", ["a3"], [], 1), ("short", [], [], 1)]


def test_a_machine_in_use_past_the_start_is_replaced(bookings: Bookings) -> None:
    """Its claim ended in time, and is late now."""
    service = bookings.service
    used = service.add_node("n1", **GOLD)
    claim(service, used, end=End(at=NOW + DAY))
    booking = bookings.book(2, 3)
    assert bookings.machines(booking) == ["n1"]
    service.add_node("n2", **GOLD)
    bookings.sweep()
    assert bookings.machines(booking) == ["n1"]
    bookings.told()
    bookings.go_to(1.1)
    assert bookings.told() == [("changed", ["n1"], ["n2"], 0)]
