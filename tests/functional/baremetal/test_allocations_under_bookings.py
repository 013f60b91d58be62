"""Bare metal allocations under bookings: ``Prefer: allocation-booking``."""

import uuid as uuid_module
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.db.clock import epoch, in_words
from tests.functional.baremetal.test_ends_of_allocations import APPLIED, HOUR, ask, ends_at, is_consistent, waiting
from tests.functional.baremetal.test_waiting_allocations import SWEEP, A, show
from tests.functional.scheduling.booked import enter
from tests.service import Service, fault
from tests.unchanged import unchanged

__all__ = ["is_consistent"]

#: The project of allocations without an owner.
NOBODYS = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def booked(service: Service) -> tuple[str, str]:
    """A machine that is booked for two hours from now on, beside one that is not; and the booking."""
    node = service.add_node("n1")
    service.add_node("n2")
    return node, enter(service, "n1", starts=-1, ends=2 * HOUR, project=NOBODYS)[0]


def claim_of(service: Service, uuid: str) -> Any:
    """The allocation as a claim."""
    return service.http.get(f"/scheduling/v1/claims/{uuid}").json


def test_the_preference_gives_it_a_machine_of_the_booking(service: Service, booked: tuple[str, str]) -> None:
    node, booking = booked
    answer = ask(service, f"allocation-booking={booking}")
    uuid = answer.json["uuid"]
    assert answer.headers[APPLIED] == f'allocation-booking="{booking}"'
    shown = claim_of(service, uuid)
    assert (show(service, uuid)["node_uuid"], shown["booking"]) == (node, booking)
    second = ask(service, f"allocation-booking={booking}").json["uuid"]
    assert show(service, second)["state"] == "error"


def test_it_ends_with_the_booking_or_earlier(service: Service, booked: tuple[str, str]) -> None:
    _, booking = booked
    last = claim_of(service, ask(service, f"allocation-booking={booking}").json["uuid"])["until"]
    service.baremetal("DELETE", f"{A}/{service.baremetal('GET', A).json['allocations'][0]['uuid']}")
    now = service.database.read(lambda session: session.scalar(select(epoch()))) or 0.0
    earlier = float(int(now + HOUR))
    answer = ask(service, f'allocation-until="{in_words(earlier)}", allocation-booking={booking}')
    assert ends_at(service, answer.json["uuid"]) == earlier
    later = in_words(int(now + 3 * HOUR))
    with unchanged(service):
        refused = ask(service, f'allocation-booking={booking}, allocation-until="{later}"', status=400)
    assert f"booking {booking} ends at {last[:19]}" in fault(refused)


def test_it_waits_for_the_booking(service: Service, booked: tuple[str, str]) -> None:
    node, booking = booked
    service.add_conductor("c1")
    first, second = (ask(service, f"allocation-wait=600, allocation-booking={booking}").json["uuid"] for _ in "12")
    (row,) = waiting(service)
    assert (row.uuid, show(service, second)["state"]) == (second, "allocating")
    assert (claim_of(service, second)["position"], claim_of(service, second)["booking"]) == (1, booking)
    service.conductors["c1"].run_periodic_task(SWEEP)
    assert show(service, second)["state"] == "allocating"
    service.baremetal("DELETE", f"{A}/{first}")
    assert show(service, second)["node_uuid"] == node


def test_who_cannot_use_it(service: Service, booked: tuple[str, str]) -> None:
    node, booking = booked
    others, _ = enter(service, "n2", starts=-1, ends=HOUR, project="b")
    later, _ = enter(service, "n2", starts=2 * HOUR, ends=3 * HOUR, project=NOBODYS)
    service.set_columns(node, provision_state="active")
    for named, status, body, words in [
        (str(uuid_module.uuid4()), 404, {}, "There is no booking"),
        (others, 404, {}, "There is no booking"),
        (later, 409, {}, "It begins at"),
        ("n1", 400, {}, "booking must be the UUID of a booking"),
        (booking, 404, {"owner": "b"}, "There is no booking"),
        (booking, 400, {"node": "n1"}, "An allocation for a given node cannot use a booking"),
    ]:
        with unchanged(service):
            assert words in fault(ask(service, f"allocation-booking={named}", status=status, **body))
