"""What ``db check`` finds about bookings: nothing, unless a row was changed behind the service's back."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.holds.hold_audit import audit as audit_holds
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Booking, ClaimEnd, Node
from baremetal_sched.placement.ends import End
from baremetal_sched.scheduling.audit import audit as audit_claims
from tests.functional.scheduling.ended import claim
from tests.functional.scheduling.kept_bookings import GOLD, HOUR, Bookings, world
from tests.functional.scheduling.test_bookings import DAY, NOW
from tests.restored import Rows


@pytest.fixture
def bookings(database_url: str) -> Iterator[Bookings]:
    with world(database_url) as found:
        yield found


def found(bookings: Bookings) -> list[str]:
    """The findings, without what they are about."""
    settings = bookings.service.app.settings
    lines = bookings.service.database.read(
        lambda session: [*audit(session), *audit_holds(session), *audit_claims(session, settings)]
    )
    return [line.partition(": ")[2] for line in lines]


def test_bookings_that_are_kept_are_no_errors(bookings: Bookings) -> None:
    service = bookings.service
    used = service.add_node("n1", **GOLD)
    claim(service, used, end=End(at=NOW + DAY))
    booking = bookings.book(2, 3)
    bookings.book(3.5, 4)
    assert found(bookings) == []
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "?"})
    assert found(bookings) == []
    service.baremetal("DELETE", "/nodes/n1/maintenance")
    bookings.go_to(3.1, sweeps=False)  # over, and nobody has seen to it
    assert [each for each in found(bookings) if "booked" in each] == []
    bookings.sweep()
    assert bookings.machines(booking) == []


#: What is done to a booking of two machines, one of which has a claim with an end before it; and what is found.
_OWN = BOOKED.c.node_id == select(Node.id).where(Node.name == "n1").scalar_subquery()
WRONGS: dict[str, Any] = {
    "it has 1 of 2 machines": delete(BOOKED).where(_OWN),
    "it is booked from 2027-01-17T08:00:00Z on, and again from 2027-01-18T08:00:00Z on": insert(BOOKED).from_select(
        ["node_id", "starts_at", "ends_at", "turnaround", "made_at"],
        select(BOOKED.c.node_id, BOOKED.c.ends_at, BOOKED.c.ends_at, BOOKED.c.turnaround, BOOKED.c.made_at).where(_OWN),
    ),
    "its node": update(BOOKED).where(_OWN).values(ends_at=NOW + 9 * DAY),
    "it is booked from 2027-01-17T08:00:00Z on, and its claim does not end in time": update(ClaimEnd).values(
        ends_at=NOW + 2 * DAY - 60
    ),
    "it closes at None, but by its planned holds and bookings at": update(Node).values(closes_at=None),
    "it closes at 1800003600.0, but by its planned holds and bookings at": update(Node).values(closes_at=NOW + HOUR),
    "it has 2 of 1 machines": update(Booking).values(count=1),
}


def test_what_was_changed_behind_the_back_is_found(bookings: Bookings, row: Rows) -> None:
    for name in ("n1", "n2"):
        claim(bookings.service, bookings.service.add_node(name, **GOLD), end=End(at=NOW + DAY))
    bookings.book(2, 3, several=Several(2))
    assert found(bookings) == []
    for wrong, statement in WRONGS.items():
        with row(wrong):
            bookings.service.database.write(lambda session, change=statement: session.execute(change))
            assert any(line.startswith(wrong) for line in found(bookings)), found(bookings)
