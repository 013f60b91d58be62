"""Plans and bookings keep each other off: who comes first has the machine for its time. Without plans, nothing is asked
about them."""

from datetime import UTC, datetime

import pytest

from tests.database_clock import SettableClock
from tests.functional.scheduling import test_plans
from tests.functional.scheduling.test_claims import CLAIMS, UUID
from tests.functional.scheduling.test_plans import NOW, T, plan, planned, release, single, sweep, until, use, wait
from tests.service import Service

BOOKINGS = "/scheduling/v1/bookings"

#: A service that makes plans, and a clock that stands still.
service, clock = test_plans.service, test_plans.clock


def book(service: Service, starts: float, seconds: float, status: int = 201, count: int = 1) -> str:
    """Book machines from so many seconds after the beginning of the test on; return the UUID."""
    times = {"starts_at": datetime.fromtimestamp(NOW + starts, UTC).isoformat(), "for": seconds}
    body = {"resource_class": "gold", "project_id": "p", "user_id": "u", "count": count, **times}
    uuid: str = service.http.post_json(BOOKINGS, body, status=status).json.get("uuid", "")
    return uuid


def test_a_plan_keeps_bookings_off_its_time(service: Service, clock: SettableClock) -> None:
    use(service, 1000, 2000)
    wait(service, UUID, 2, **{"for": 500})
    assert {*plan(service).values()} == {(2000 + T, 2500 + T)}
    book(service, 2300, 60, status=409)
    # One that needs both machines may begin exactly one turnaround after the plan, and not a second earlier.
    book(service, 2499 + 2 * T, 500, status=409, count=2)
    book(service, 2500 + 2 * T, 500, count=2)
    # Before it, a machine is free from the first turnaround until the last one.
    book(service, 1000 + T, 1001, status=409)
    book(service, 1000 + T, 1000 - T)
    sweep(service)
    assert planned(service) == (2000 + T, None)


def test_a_plan_leaves_what_is_booked(service: Service, clock: SettableClock) -> None:
    use(service, 1000, 2000)
    booking = book(service, 3000, 1000, count=2)
    wait(service, UUID, 2, until=until(9000)["until"])
    assert planned(service) == (4000 + T, None)
    # What ends one turnaround before it comes first.
    service.http.patch_json(f"{CLAIMS}/{UUID}", {"for": 3001 - 2000 - 2 * T})
    assert planned(service) == (4000 + T, None)
    service.http.patch_json(f"{CLAIMS}/{UUID}", {"for": 3000 - 2000 - 2 * T})
    assert planned(service) == (2000 + T, None)
    # A booking that is cancelled leaves its time to a plan.
    service.http.patch_json(f"{CLAIMS}/{UUID}", {"for": 5000})
    assert planned(service) == (4000 + T, None)
    service.http.delete(f"{BOOKINGS}/{booking}")
    sweep(service)
    assert planned(service) == (2000 + T, None)


@pytest.mark.parametrize("gather", ["off", "ends"])
def test_without_plans_requests_ask_nothing_about_them(database_url: str, gather: str) -> None:
    """What is asked about plans names the requests that they belong to."""
    with Service(database_url, scheduling={"turnaround": T, "gather": gather}) as service:
        service.add_conductor("c1")
        for name in ("n1", "n2"):
            service.add_node(name)
        uuids = [single(service)["uuid"] for _ in range(2)]
        with service.statements() as statements:
            wait(service, UUID, 2)
            service.http.patch_json(f"{CLAIMS}/{UUID}", {"for": 500})
            for uuid in (uuids[0], UUID, uuids[1]):
                release(service, uuid)
    assert any("waiting_id" in each for each in statements) == (gather == "ends"), statements
