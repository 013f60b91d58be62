"""Plans: a large group gets its turn, and its machines are kept off newcomers that do not end in time."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import Node
from baremetal_sched.scheduling import planning
from tests.database_clock import SettableClock, settable
from tests.functional.scheduling.test_claims import CLAIMS, UUID, post, show
from tests.service import Service

#: Seconds: the turnaround of all machines, and when time stands at first.
T, NOW = 60.0, 1_900_000_000.5  # SQLite makes an integer of one
YEARS = {"heartbeat_timeout": 2 * 365 * 86_400, "conductor_cleanup_timeout": 6 * 365 * 86_400}
GATHERS = {"gather": "ends", "turnaround": T}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, scheduling=GATHERS, conductor=YEARS) as service:
        yield service


@pytest.fixture
def clock(service: Service) -> Iterator[SettableClock]:
    with settable(service.database) as clock:
        clock.stopped_at = NOW
        service.add_conductor("c1")
        yield clock


def until(seconds: float | None) -> dict[str, Any]:
    """An end so many seconds after the beginning of the test; None: none."""
    return {} if seconds is None else {"until": datetime.fromtimestamp(NOW + seconds, UTC).isoformat()}


def use(service: Service, *ends: float | None) -> list[str]:
    """Have a machine for each of these ends, in use until then, called n0, n1, …; return the claims."""
    for number, _ in enumerate(ends):
        service.add_node(f"n{number}")
    return [post(service, {"resource_class": "gold"}, status=201, **until(each)).json["uuid"] for each in ends]


def wait(service: Service, uuid: str, count: int, **more: Any) -> Any:
    """Have a claim of several machines that waits."""
    body = {"consumer": {"uuid": uuid, "project_id": uuid}, "count": count, "wait": 80_000, **more}
    return post(service, status=202, **body).json


def plan(service: Service) -> dict[str, tuple[float, float | None]]:
    """The times of the plan by the names of its machines, in seconds from the beginning of the test."""
    query = select(Node.name, BOOKED.c.starts_at, BOOKED.c.ends_at).join(Node, Node.id == BOOKED.c.node_id)
    rows = service.database.read(lambda session: session.execute(query).all())
    return {name: (start - NOW, None if end is None else end - NOW) for name, start, end in rows}


def sweep(service: Service) -> None:
    planning.sweep(service.database, service.app.settings)


def release(service: Service, uuid: str) -> None:
    service.http.delete(f"{CLAIMS}/{uuid}", status=204)


def test_a_plan_begins_when_all_can_be_had(service: Service, clock: SettableClock) -> None:
    first, second, _ = use(service, 1000, 2000, None)
    wait(service, UUID, 2, **{"for": 500})
    assert set(plan(service).values()) == {(2000 + T, 2500 + T)}
    release(service, first)
    # Only until the start is it given to others, and the turnaround counts.
    assert post(service, {"resource_class": "gold"}, status=409, **until(2001))
    assert post(service, {"resource_class": "gold"}, status=409)
    short = post(service, {"resource_class": "gold"}, status=201, **until(2000)).json["uuid"]
    assert len(plan(service)) == 2
    release(service, short)
    clock.step(1)
    release(service, second)
    assert show(service)["state"] == "claimed"
    assert plan(service) == {}
    assert service.database.snapshot(audit) == []
