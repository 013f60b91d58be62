"""Plans: a large group gets its turn, and its machines are kept off newcomers that do not end in time."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID as UUID_TYPE
from uuid import uuid5

import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.bookings.times import BOOKED
from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import Node
from baremetal_sched.scheduling import planning
from baremetal_sched.settings import load
from tests.database_clock import SettableClock, settable
from tests.functional.scheduling.laboratory import SWEEPS
from tests.functional.scheduling.test_claims import CLAIMS, OTHER, UUID, post, show
from tests.service import Service

#: Seconds: the turnaround of all machines, and when time stands at first.
T, NOW = 60.0, 1_900_000_000.5  # SQLite makes an integer of one
#: When freed machines are no longer kept, in words.
UNTIL = in_words(NOW + 600)
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


def single(service: Service, seconds: float | None = None, status: int = 201, **more: Any) -> Any:
    """Claim one machine until then."""
    return post(service, {"resource_class": "gold"}, status=status, **until(seconds), **more).json


def use(service: Service, *ends: float | None) -> list[str]:
    """Have a machine for each of these ends, in use until then, called n0, n1, …; return the claims."""
    nodes = [service.add_node(f"n{number}") for number, _ in enumerate(ends)]
    return [single(service, end, candidate_nodes=[node])["uuid"] for node, end in zip(nodes, ends, strict=True)]


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
    # Until the start it is given to others, and the turnaround counts.
    single(service, 2001, 409)
    single(service, None, 409)
    short = single(service, 2000)["uuid"]
    assert len(plan(service)) == 2
    release(service, short)
    clock.step(1)
    release(service, second)
    assert show(service)["state"] == "claimed"
    assert plan(service) == {}
    assert service.database.snapshot(audit) == []


def planned(service: Service, uuid: str = UUID) -> tuple[float | None, str | None]:
    """What a claim says of its plan: the start in seconds from the beginning of the test, and why it has none."""
    shown = show(service, uuid)
    start = shown["planned_start"]
    return None if start is None else datetime.fromisoformat(start).timestamp() - NOW, shown["planned_reason"]


def test_a_claim_says_when_or_why_not(service: Service, clock: SettableClock) -> None:
    use(service, 1000, 2000, None)
    wait(service, UUID, 2)
    assert planned(service) == (2000 + T, None)
    wait(service, OTHER, 2)
    assert planned(service, OTHER) == (None, "Another request for CUSTOM_GOLD has its turn first.")
    release(service, UUID)
    assert planned(service, OTHER) == (2000 + T, None)
    release(service, OTHER)
    assert plan(service) == {}
    rows: list[tuple[str, dict[str, Any], str]] = [
        ("no end", {"count": 3}, "It is not known when enough of the machines that fit will be free."),
        ("deadline", {"wait": 2000}, "By what is known, it cannot be had before its deadline or its end."),
        ("end", until(2050), "By what is known, it cannot be had before its deadline or its end."),
        ("one", {"count": 1, "group": "g"}, "Only requests for several machines are planned."),
        ("last", {"count": 4, "even_if_impossible": True}, "No machine could have satisfied it when it was made"),
    ]
    for name, more, reason in rows:
        uuid = str(uuid5(UUID_TYPE(UUID), name))
        wait(service, uuid, **{"count": 2, **more})
        start, said = planned(service, uuid)
        assert (start, said[: len(reason)] if said else None) == (None, reason), name
        release(service, uuid)
    assert plan(service) == {}


def test_only_what_is_near_is_planned(database_url: str) -> None:
    near = {**GATHERS, "gather_ahead": 2000}
    with (
        Service(database_url, scheduling=near, conductor=YEARS) as service,
        settable(service.database) as clock,
    ):
        clock.stopped_at = NOW
        service.add_conductor("c1")
        use(service, 1000, 2000)
        wait(service, UUID, 2)
        assert planned(service) == (None, "It cannot be had within 2000 seconds, by what is known.")
        clock.step(T)
        sweep(service)
        assert planned(service) == (2000 + T, None)


def test_a_plan_is_made_anew_and_never_later_without_a_cause(service: Service, clock: SettableClock) -> None:
    first, second, third = use(service, 1000, 2000, 3000)
    wait(service, UUID, 2)
    assert plan(service).keys() == {"n0", "n1"}
    # Its holder keeps a machine for longer: another comes earlier.
    service.http.patch_json(f"{CLAIMS}/{second}", until(5000))
    assert {*plan(service).values()} == {(3000 + T, None)}
    # A machine is given back early: it is had earlier.
    release(service, third)
    assert {*plan(service).values()} == {(1000 + T, None)}
    assert plan(service).keys() == {"n0", "n2"}
    # While it is cleaned, its machine comes at the start.
    clock.step(1000)
    sweep(service)
    assert {*plan(service).values()} == {(1000 + T, None)}
    clock.step(T / 2)
    sweep(service)
    assert {*plan(service).values()} == {(1000 + T, None)}
    # It is late: it may take as long again.
    clock.step(T)
    sweep(service)
    assert {*plan(service).values()} == {(1000 + 2.5 * T, None)}
    release(service, first)
    assert show(service)["state"] == "claimed"


def test_operators_and_failures_win(service: Service, clock: SettableClock) -> None:
    use(service, 1000, 1000, 2000)
    wait(service, UUID, 2)
    assert plan(service).keys() == {"n0", "n1"}
    service.http.post_json("/scheduling/v1/nodes/n0/holds", {"type": "operator_hold"}, status=201)
    sweep(service)
    assert plan(service) == {"n1": (2000 + T, None), "n2": (2000 + T, None)}
    assert service.database.snapshot(audit) == []


def test_the_first_that_can_be_planned_keeps_its_turn(service: Service, clock: SettableClock) -> None:
    use(service, 1000, 2000, None, None)
    large, fitting = (str(uuid5(UUID_TYPE(UUID), name)) for name in ("large", "fitting"))
    wait(service, large, 3)
    wait(service, fitting, 2)
    assert planned(service, fitting) == (2000 + T, None)
    single_ones = {each["uuid"] for each in service.http.get(f"{CLAIMS}?state=claimed").json["claims"]}
    # The larger one could be planned now, for later: the plan stays where it is.
    for uuid in single_ones:
        if show(service, uuid)["until"] is None:
            service.http.patch_json(f"{CLAIMS}/{uuid}", until(3000))
    sweep(service)
    assert (planned(service, fitting)[0], planned(service, large)[0]) == (2000 + T, None)


def test_with_a_plan_its_machines_are_handed_over(service: Service, clock: SettableClock) -> None:
    first, _ = use(service, 1000, 2000)
    wait(service, UUID, 2)
    release(service, first)
    waiting = single(service, None, 202, wait=5000)["uuid"]
    assert show(service, waiting)["state"] == "waiting"
    release(service, UUID)
    assert show(service, waiting)["state"] == "claimed"
    assert service.database.snapshot(audit) == []


def test_an_end_that_is_changed_ends_the_plan(service: Service, clock: SettableClock) -> None:
    use(service, 1000, 2000)
    wait(service, UUID, 2)
    service.http.patch_json(f"{CLAIMS}/{UUID}", {"for": 100})
    assert {*plan(service).values()} == {(2000 + T, 2100 + T)}
    service.http.patch_json(f"{CLAIMS}/{UUID}", until(2000 + T / 2))
    assert plan(service) == {}


def test_a_claim_that_waited_in_vain_has_no_plan(service: Service, clock: SettableClock) -> None:
    first, _ = use(service, 1000, 2000)
    wait(service, UUID, 2, wait=3000)
    release(service, first)
    waiting = single(service, None, 202, wait=5000)["uuid"]
    clock.step(3000)
    for conductor in service.conductors.values():
        SWEEPS["claims"].run(conductor._host)
    assert (plan(service), show(service)["state"]) == ({}, "timed_out")
    assert show(service, waiting)["state"] == "claimed"


def test_plans_that_are_left_over_are_deleted(service: Service, clock: SettableClock) -> None:
    first, _ = use(service, 1000, 2000)
    wait(service, UUID, 2)
    release(service, first)
    planning.sweep(service.database, load({}))
    assert plan(service) == {}
    single(service, None)


def test_freed_machines_are_kept_for_a_while(database_url: str) -> None:
    kept = {**GATHERS, "gather": "all", "gather_at_most": 600}
    with (
        Service(database_url, scheduling=kept, conductor=YEARS) as service,
        settable(service.database) as clock,
    ):
        clock.stopped_at = NOW
        service.add_conductor("c1")
        first, second, third = use(service, None, None, None)
        wait(service, UUID, 3)
        waiting = single(service, None, 202, wait=5000)["uuid"]
        start, said = planned(service)
        assert (start, said) == (
            None,
            f"{planning.NO_END_KNOWN} Machines that are freed are kept for it until {UNTIL}.",
        )
        # Those who wait for one machine, and newcomers, do not get it.
        release(service, first)
        assert (plan(service), show(service, waiting)["state"]) == ({"n0": (0.0, None)}, "waiting")
        single(service, 10, 409)
        release(service, second)
        assert plan(service).keys() == {"n0", "n1"}
        clock.step(599)
        sweep(service)
        assert plan(service).keys() == {"n0", "n1"}
        # It is over, and not again for the same request.
        clock.step(1)
        sweep(service)
        assert (plan(service), show(service, waiting)["state"]) == ({}, "claimed")
        release(service, single(service)["uuid"])
        assert plan(service) == {}
        assert planned(service) == (None, planning.NO_END_KNOWN)
        # With the last machine it is served all the same.
        release(service, waiting)
        release(service, third)
        assert show(service)["state"] == "claimed"
