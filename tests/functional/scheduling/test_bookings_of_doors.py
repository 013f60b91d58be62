"""What a whole booking looks like to Placement's clients, to other projects, and to those who wait, day by day."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.database_clock import SettableClock, settable
from tests.functional.scheduling.laboratory import CLAIMS, SWEEPS
from tests.functional.scheduling.test_claims import ADMIN, ANNA, OTHER
from tests.service import Service

BOOKINGS = "/scheduling/v1/bookings"
QUERY = "resources=CUSTOM_GOLD:1"
NOW, HOUR, DAY = 2_051_222_400.5, 3600.0, 86_400.0
SERVICE = {"X-Auth-Token": "admin:s", "X-Roles": "admin,service"}
OWN, FOREIGN = "11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000001"


@pytest.fixture
def standing(database_url: str) -> Iterator[tuple[Service, SettableClock]]:
    """A service whose clock stands still, and which looks at who asks."""
    options = {"turnaround": 0, "no_show": 6 * HOUR}
    lives = {"heartbeat_timeout": 10**8, "conductor_cleanup_timeout": 10**9}
    secured = {"auth_strategy": "noauth2"}
    with (
        Service(database_url, api=secured, scheduling=options, conductor=lives) as service,
        settable(service.database) as clock,
    ):
        clock.stopped_at = NOW
        service.add_conductor("c1")
        yield service, clock


def book(service: Service, status: int = 201, headers: Any = ADMIN, **more: Any) -> Any:
    body = {"query": QUERY, "project_id": "a", "user_id": "anna", **more}
    return service.http.post_json(BOOKINGS, body, headers=headers, status=status).json


def claim(service: Service, uuid: str, status: int = 201, headers: Any = ADMIN, **more: Any) -> Any:
    consumer = {"uuid": uuid, "project_id": "a", "user_id": "anna"}
    body = {"query": QUERY, "consumer": consumer, **more}
    return service.http.post_json(CLAIMS, body, headers=headers, status=status).json


def offered(service: Service) -> set[str]:
    """The machines that candidates of Placement name."""
    found = service.placement("GET", f"/allocation_candidates?{QUERY}", headers=SERVICE).json
    return {*found["provider_summaries"]}


def put(service: Service, node: str, status: int) -> None:
    body = {
        "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}},
        "consumer_generation": None,
        "project_id": "b",
        "user_id": "bert",
        "consumer_type": "INSTANCE",
    }
    service.placement("PUT", f"/allocations/{FOREIGN}", body, headers=SERVICE, status=status)


def sweep(service: Service, *names: str) -> None:
    for name in names:
        SWEEPS[name].run(service.conductors["c1"]._host)


def test_nothing_booked_is_given_through_placement(standing: tuple[Service, SettableClock]) -> None:
    service, clock = standing
    booked = service.add_node("n1")
    book(service, uuid=OWN, starts_at="2035-01-02T00:00:00Z", ends_at="2035-01-03T00:00:00Z")
    free = service.add_node("n2")

    def require_closed() -> None:
        assert offered(service) == {free}
        put(service, booked, 409)

    require_closed()  # before it starts
    clock.step(1.5 * DAY)
    require_closed()  # while it runs
    claim(service, OWN, booking=OWN)
    service.patch(booked, ("add", "/instance_uuid", OWN))
    service.baremetal("PUT", f"/nodes/{booked}/states/provision", {"target": "active"})
    service.work()
    service.baremetal("PUT", f"/nodes/{booked}/states/provision", {"target": "deleted"})
    require_closed()  # while it is cleaned
    service.work()
    service.http.delete(f"{CLAIMS}/{OWN}", headers=ADMIN, status="*")
    require_closed()  # it went back to the booking
    clock.step(2 * DAY)
    sweep(service, "bookings")
    assert offered(service) == {booked, free}
    put(service, booked, 204)


def test_a_project_that_books_all_it_can_leaves_half_of_each_class(standing: tuple[Service, SettableClock]) -> None:
    service, _ = standing
    for name, count in (("gold", 5), ("silver", 4)):
        for number in range(count):
            service.add_node(f"{name}-{number}", resource_class=name)
    times = {"starts_at": "2035-01-03T00:00:00Z", "ends_at": "2035-01-04T00:00:00Z"}
    for name in ("gold", "silver"):
        asked = {"headers": ANNA, "query": f"resources=CUSTOM_{name.upper()}:1", **times}
        for _ in range(2):
            book(service, **asked)
        assert "most_booked" in str(book(service, 409, **asked))
    assert len(offered(service)) == 3


def test_what_nobody_uses_is_given_up(standing: tuple[Service, SettableClock]) -> None:
    service, clock = standing
    nodes = {service.add_node("n1"), service.add_node("n2")}
    book(service, uuid=OWN, count=2, **{"for": 2 * DAY})
    used = next(iter(claim(service, OWN, booking=OWN)["allocations"]))
    clock.step(6 * HOUR - 1)
    sweep(service, "bookings")
    assert offered(service) == set()
    clock.step(2)
    sweep(service, "bookings")
    assert offered(service) == nodes - {used}


def test_a_booking_does_not_overtake_who_waits(standing: tuple[Service, SettableClock]) -> None:
    service, _ = standing
    for name in ("n1", "n2"):
        service.add_node(name)
    claim(service, OTHER)
    (node,) = offered(service)
    put(service, node, 204)
    claim(service, OWN, 202, wait=86_400)
    now = {"headers": ANNA, "for": HOUR}
    book(service, 409, **now)
    service.placement("DELETE", f"/allocations/{FOREIGN}", headers=SERVICE)
    assert service.http.get(f"{CLAIMS}/{OWN}", headers=ADMIN).json["state"] == "claimed"
    service.http.delete(f"{CLAIMS}/{OWN}", headers=ADMIN)
    book(service, **now)
