"""Changes of bookings, and their end before their time."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings import bookings
from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.db.models import Booking, ClaimEnd, EventNote, Node
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.scheduling import (
    BookingInUse,
    BookingIsOver,
    BookingLimit,
    BookingNotFound,
    NotBookable,
)
from baremetal_sched.placement.ends import End
from baremetal_sched.scheduling import claims
from baremetal_sched.scheduling.bookings import changing
from baremetal_sched.scheduling.bookings.alternatives import explained
from tests.database_clock import SettableClock
from tests.functional.scheduling.making_bookings import (
    DAY,
    HOUR,
    NOW,
    booked,
    claim,
    machines,
    made,
    new,
    standing_still,
    wait,
    work,
)
from tests.service import Service


@pytest.fixture
def given(database_url: str) -> Iterator[tuple[Service, SettableClock]]:
    with standing_still(database_url) as (service, clock):
        for name in ("n1", "n2", "n3"):
            service.add_node(name)
        yield service, clock


def change(service: Service, uuid: str, **changes: Any) -> None:
    def do(session: Session) -> None:
        found = bookings.find(session, uuid)
        changing.change(session, service.app.settings, found, **{"is_bound": False, **changes})

    work(service, do)


def cancel(service: Service, uuid: str, *, force: bool = False) -> None:
    work(
        service,
        lambda session: changing.cancel(session, service.app.settings, bookings.find(session, uuid), force=force),
    )


def rows(service: Service, *columns: Any) -> list[Any]:
    return service.database.read(
        lambda session: sorted((tuple(row) for row in session.execute(select(*columns))), key=str)
    )


def test_another_number(given: tuple[Service, SettableClock], subtests: pytest.Subtests) -> None:
    service, _ = given
    uuid = made(service, new(2, 3, several=Several(2)))
    before = machines(service, uuid)
    change(service, uuid, count=3)
    assert machines(service, uuid) == ["n1", "n2", "n3"]
    with pytest.raises(NotBookable, match="No other machine fits"), explained(service.database, service.app.settings):
        change(service, uuid, count=4)
    change(service, uuid, count=1)
    assert len(machines(service, uuid)) == 1
    assert len(before) == 2
    # The others are open again.
    assert sorted(closes for (closes,) in rows(service, Node.closes_at) if closes is not None) == [NOW]
    assert rows(service, Booking.count) == [(1,)]


def test_other_times_keep_machines_that_can_stay(given: tuple[Service, SettableClock]) -> None:
    service, _ = given
    uuid = made(service, new(2, 3, several=Several(2)))
    own = machines(service, uuid)
    other = made(service, new(4, 5, several=Several(1)))
    (taken,) = machines(service, other)
    change(service, uuid, starts_at=NOW + 3.9 * DAY, ends_at=NOW + 5 * DAY)
    now = machines(service, uuid)
    assert taken not in now
    assert {*own} - {taken} <= {*now}
    assert rows(service, BOOKED.c.starts_at, BOOKED.c.ends_at) == [
        (NOW + 3.9 * DAY, NOW + 5 * DAY),
        (NOW + 3.9 * DAY, NOW + 5 * DAY),
        (NOW + 4 * DAY, NOW + 5 * DAY),
    ]
    # All or nothing.
    change(service, other, count=1)
    with pytest.raises(NotBookable):
        change(service, uuid, count=3)
    assert machines(service, uuid) == now


def test_times_that_cannot_be(given: tuple[Service, SettableClock], subtests: pytest.Subtests) -> None:
    service, clock = given
    uuid = made(service, new(2, 4))
    for times, said in (
        ({"starts_at": NOW - 1}, "in the past"),
        ({"starts_at": NOW + 4 * DAY}, "after it starts"),
        ({"ends_at": NOW + 2 * DAY}, "after it starts"),
        ({"ends_at": NOW - 1}, "in the past"),
    ):
        with subtests.test(**times), pytest.raises(InvalidValue, match=said):
            change(service, uuid, **times)
    clock.stopped_at = NOW + 3 * DAY
    with pytest.raises(InvalidValue, match="only before it"):
        change(service, uuid, starts_at=NOW + 3.5 * DAY)
    with pytest.raises(InvalidValue, match="in the past"):
        change(service, uuid, ends_at=NOW + 3 * DAY - 1)
    change(service, uuid, ends_at=NOW + 3 * DAY)
    with pytest.raises(BookingIsOver):
        change(service, uuid, name="late")


def test_a_name_alone_moves_nothing(given: tuple[Service, SettableClock]) -> None:
    service, _ = given
    uuid = made(service, new(2, 3, name="old"))
    before = rows(service, BOOKED.c.node_id, BOOKED.c.starts_at, BOOKED.c.made_at)
    change(service, uuid, name="new")
    assert rows(service, Booking.name) == [("new",)]
    change(service, uuid, name=None)
    assert rows(service, Booking.name) == [(None,)]
    assert rows(service, BOOKED.c.node_id, BOOKED.c.starts_at, BOOKED.c.made_at) == before


def test_a_change_is_within_the_limits(given: tuple[Service, SettableClock]) -> None:
    service, _ = given
    uuid = made(service, new(2, 3))
    with pytest.raises(BookingLimit, match="notice"):
        change(service, uuid, starts_at=NOW + HOUR, is_bound=True)
    with pytest.raises(BookingLimit, match="longest_booking"):
        change(service, uuid, ends_at=NOW + 30 * DAY, is_bound=True)
    change(service, uuid, ends_at=NOW + 2.5 * DAY, is_bound=True)


def test_claims_keep_their_machines_and_follow(given: tuple[Service, SettableClock]) -> None:
    service, clock = given
    uuid = made(service, new(2, 3, several=Several(3)))
    clock.stopped_at = NOW + 2.5 * DAY
    claim(service, "n2", NOW + 3 * DAY, uuid)
    claim(service, "n3", NOW + 2.6 * DAY, uuid)
    change(service, uuid, count=2)
    assert machines(service, uuid) == ["n2", "n3"]
    with pytest.raises(BookingInUse, match="claims under it: 2"):
        change(service, uuid, count=1)
    change(service, uuid, ends_at=NOW + 3.5 * DAY)
    assert rows(service, ClaimEnd.ends_at) == [(NOW + 2.6 * DAY,), (NOW + 3.5 * DAY,)]
    booked(service, new(4, 5, several=Several(3), project="q", of="q"))
    with pytest.raises(NotBookable, match="claimed under it are booked by others"):
        change(service, uuid, ends_at=NOW + 4.5 * DAY)


def test_cancelling(given: tuple[Service, SettableClock]) -> None:
    service, clock = given
    planned, running = made(service, new(5, 6, several=Several(3))), made(service, new(2, 3))
    cancel(service, planned)
    with pytest.raises(BookingNotFound):
        cancel(service, planned)
    clock.stopped_at = NOW + 2.5 * DAY
    (name,) = machines(service, running)
    claim(service, name, NOW + 3 * DAY, running)
    with pytest.raises(BookingInUse, match="claims under it: 1"):
        cancel(service, running)
    cancel(service, running, force=True)
    assert rows(service, ClaimEnd.ends_at) == [(NOW + 2.5 * DAY,)]
    assert rows(service, func.count(BOOKED.c.id)) == rows(service, func.count(Booking.id)) == [(0,)]
    assert rows(service, func.count(Node.closes_at)) == [(0,)]


def test_what_waits_under_a_cancelled_booking_fails(given: tuple[Service, SettableClock]) -> None:
    service, _ = given
    uuid = made(service, new(2, 3))
    booking = service.database.read(lambda session: bookings.find(session, uuid).id)
    waiting = wait(service, end=End(at=NOW + 3 * DAY, booking=booking))
    cancel(service, uuid)
    found = service.database.read(lambda session: claims.show(session, waiting))
    assert (found.state, found.claim.reason) == ("failed", f"Booking {uuid} was cancelled.")


def test_what_is_told(given: tuple[Service, SettableClock]) -> None:
    service, _ = given
    uuid = made(service, new(2, 3))
    change(service, uuid, count=3)
    change(service, uuid, count=1)
    change(service, uuid, count=1)
    cancel(service, uuid)
    told = service.database.read(lambda session: session.scalars(select(EventNote).order_by(EventNote.id)).all())
    mine = [
        (each.type.rpartition(".")[2], json.loads(each.data)["booking"])
        for each in told
        if each.type.startswith("scheduling.booking.")
    ]
    numbers = [(what, len(data["came"]), len(data["went"])) for what, data in mine]
    assert numbers == [("created", 1, 0), ("changed", 2, 0), ("changed", 0, 2), ("deleted", 0, 1)]
