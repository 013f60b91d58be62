"""Requests with an end, beside bookings: they get the machine whose next booking leaves it to them, the shortest gap
first."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from baremetal_sched.baremetal.holds import holds
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import fitting_many
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.explain.explanations import earliest_of, explain_request
from baremetal_sched.placement.ends import End
from tests.booked import add_booking, drop, keep
from tests.database_clock import SettableClock, settable
from tests.functional.scheduling.test_earliest import hold
from tests.functional.scheduling.test_strict_ends import chosen
from tests.restored import Rows
from tests.service import Service

HOUR = 3600
#: The turnaround of gold.
T = 600
QUERY = "resources=CUSTOM_GOLD%3A1"
PARTS = f"{QUERY}&resources_GPU=CUSTOM_GPU%3A2&group_policy=none"
CAPABLE = {"capabilities:boot_mode": "uefi"}
REQUESTS: dict[str, MachineRequest] = {
    "allocation": NodeRequest("gold"),
    "query": TreeRequest(QUERY, served=False, version=QUERY_VERSION),
    "server": TreeRequest(QUERY),
    "capabilities": TreeRequest(QUERY, extra_specs=CAPABLE),
    "parts": TreeRequest(PARTS, served=False, version=QUERY_VERSION),
}


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, scheduling={"turnaround": T}, conductor={"heartbeat_timeout": 99 * HOUR}) as service:
        service.add_conductor("c1")
        yield service


@pytest.fixture
def clock(service: Service) -> Iterator[SettableClock]:
    """A clock that stands at a whole second."""
    with settable(service.database) as clock:
        clock.stopped_at = float(int(service.database.read(holds.now)))
        yield clock


@pytest.fixture
def now(clock: SettableClock) -> float:
    assert clock.stopped_at is not None
    return clock.stopped_at


def add(service: Service, *names: str) -> None:
    """Machines that all of the requests fit."""
    for name in names:
        node = service.add_node(name, properties={"capabilities": "boot_mode:uefi"})
        card = {"name": f"{name}-card", "parent_provider_uuid": node}
        uuid = service.placement("POST", "/resource_providers", card).json["uuid"]
        gpu = {"CUSTOM_GPU": {"total": 2}}
        service.placement("PUT", "/resource_classes/CUSTOM_GPU", status=None)
        new = {"resource_provider_generation": 0, "inventories": gpu}
        service.placement("PUT", f"/resource_providers/{uuid}/inventories", new)


def hosts(service: Service, request: MachineRequest, end: End | None) -> list[str]:
    """The names of the machines from which it would choose, by a dry run."""

    def find(session: Any) -> list[str]:
        found = request.hosts(MachineContext(session, service.app.settings, end=end), 100)
        return [uuid for uuid, _ in found]

    return sorted(service.node(uuid)["name"] for uuid in service.database.read(find))


def dry_run(service: Service, request: MachineRequest, end: End | None) -> int:
    """How many machines a dry run of several finds."""

    def find(session: Any) -> int:
        return len(fitting_many(MachineContext(session, service.app.settings, end=end), request))

    return service.database.read(find)


def first_moment(service: Service, request: MachineRequest, end: End | None) -> float | None:
    """The first moment at which it could be had."""

    def find(session: Any) -> float | None:
        context = MachineContext(session, service.app.settings, end=end)
        return earliest_of(context, request, explain_request(context, request)).at

    return service.database.read(find)


def explained(service: Service, request: MachineRequest, end: End | None) -> tuple[bool, dict[str, int]]:
    """Whether an explanation says that it fits, and why machines that match are busy."""

    def explain(session: Any) -> tuple[bool, dict[str, int]]:
        context = MachineContext(session, service.app.settings, end=end)
        found = explain_request(context, request)
        return found.fitting > 0, dict(found.scan.busy)

    return service.database.read(explain)


def test_the_shortest_gap_comes_first(service: Service, now: float, row: Rows) -> None:
    add(service, "open", "long", "short", "too-short", "running")
    for name, hours in (("long", 9), ("short", 3), ("too-short", 1)):
        keep(service, [name], now + hours * HOUR, now + 20 * HOUR)
    keep(service, ["long"], now + 30 * HOUR, None)
    keep(service, ["running"], now - HOUR, now + HOUR)
    keep(service, ["running"], now + 5 * HOUR, now + 6 * HOUR)
    expected = {
        None: ["open"],
        End(seconds=2 * HOUR): ["short"],
        End(at=now + 2 * HOUR): ["short"],
        End(seconds=8 * HOUR): ["long"],
        End(seconds=9 * HOUR): ["open"],
        End(at=now + 40 * HOUR): ["open"],
    }
    for name, request in REQUESTS.items():
        with row(name):
            for end, names in expected.items():
                assert chosen(service, request, end) == names, end
            assert hosts(service, request, None) == ["open"]
            assert hosts(service, request, End(seconds=2 * HOUR)) == ["long", "open", "short"]
            assert hosts(service, request, End(seconds=HOUR / 2)) == ["long", "open", "short", "too-short"]


def test_an_end_and_a_start_exactly_one_turnaround_apart_fit(
    service: Service, clock: SettableClock, now: float, row: Rows
) -> None:
    add(service, "n1")
    keep(service, ["n1"], now + 2 * HOUR, now + 3 * HOUR)
    fit, late = 2 * HOUR - T, 2 * HOUR - T + 1
    for name, request in REQUESTS.items():
        with row(name):
            for end in (End(at=now + fit), End(seconds=fit)):
                assert chosen(service, request, end) == ["n1"]
                assert explained(service, request, end)[0]
            for none in (End(at=now + late), End(seconds=late), None):
                assert chosen(service, request, none) == []
                assert not explained(service, request, none)[0]
    # The same after a booking, of which the row has the turnaround.
    for past, names in ((T, ["n1"]), (T - 1, [])):
        for name, request in REQUESTS.items():
            with row(f"{name} {past}"):
                drop(service)
                keep(service, ["n1"], now - HOUR, now - past)
                keep(service, ["n1"], now + 9 * HOUR, now + 10 * HOUR)
                assert chosen(service, request, End(seconds=HOUR)) == names


def test_holds_before_the_end(service: Service, now: float, row: Rows) -> None:
    add(service, "held", "free")
    for name in ("held", "free"):
        keep(service, [name], now + (6 if name == "held" else 9) * HOUR, now + 20 * HOUR)
    hold(service, "held", now + 2 * HOUR, now + 3 * HOUR)
    for name, request in REQUESTS.items():
        strict = replace(request, strict_end=True)
        with row(name):
            # No turnaround before a hold.
            assert chosen(service, strict, End(seconds=2 * HOUR)) == ["held"]
            assert chosen(service, request, End(seconds=2 * HOUR + 1)) == ["free"]
            assert hosts(service, strict, End(seconds=4 * HOUR)) == ["free"]
            assert hosts(service, request, End(seconds=4 * HOUR)) == ["free", "held"]
    for name, request in REQUESTS.items():
        with row(f"{name}, the other is booked"):
            keep(service, ["free"], now + HOUR, now + 2 * HOUR)
            assert chosen(service, request, End(seconds=4 * HOUR)) == ["held"]
            assert chosen(service, replace(request, strict_end=True), End(seconds=4 * HOUR)) == []


def test_several_machines(service: Service, now: float, row: Rows) -> None:
    add(service, "n1", "n2", "n3", "n4")
    keep(service, ["n1", "n2"], now + 3 * HOUR, now + 4 * HOUR)
    keep(service, ["n3"], now + 9 * HOUR, now + 10 * HOUR)
    for name, request in REQUESTS.items():
        with row(name):
            for count, names in ((2, ["n1", "n2"]), (3, ["n1", "n2", "n3"]), (4, ["n1", "n2", "n3", "n4"]), (5, [])):
                several = replace(request, several=Several(count))
                assert chosen(service, several, End(seconds=2 * HOUR)) == names
            two = replace(request, several=Several(2))
            assert chosen(service, two, End(seconds=5 * HOUR)) == ["n3", "n4"]
            assert chosen(service, two, None) == []
            assert chosen(service, replace(request, several=Several(1)), None) == ["n4"]

            for count in (4, 5):
                several = replace(request, several=Several(count))
                assert explained(service, several, End(seconds=2 * HOUR))[0]
                assert dry_run(service, several, End(seconds=2 * HOUR)) == (4 if count == 4 else 0)


def test_under_a_booking(service: Service, clock: SettableClock, now: float, row: Rows) -> None:
    add(service, "own", "other", "open")
    booking = add_booking(service, now + HOUR, now + 5 * HOUR)
    keep(service, ["own"], now + HOUR, now + 5 * HOUR, booking=booking)
    keep(service, ["other"], now + HOUR, now + 5 * HOUR)
    end = End(at=now + 5 * HOUR, booking=booking)
    for ahead, names in ((0.0, []), (HOUR, ["own"]), (5 * HOUR - 1.0, ["own"]), (5.0 * HOUR, [])):
        clock.stopped_at = now + ahead
        for name, request in REQUESTS.items():
            with row(f"{name} {ahead}"):
                assert chosen(service, request, end) == names
                assert hosts(service, request, end) == names
                assert explained(service, request, end)[0] is bool(names)


def test_why_a_machine_is_not_to_be_had(service: Service, now: float, row: Rows) -> None:
    add(service, "booked", "held")
    keep(service, ["booked"], now + 2 * HOUR, now + 3 * HOUR)
    hold(service, "held", now + HOUR)
    service.set_columns(service.node("held")["uuid"], closes_at=now)
    request = REQUESTS["allocation"]
    assert explained(service, request, None) == (False, {"booked": 1, "planned hold": 1})
    assert explained(service, request, End(seconds=HOUR))[0]


def test_the_first_moment(service: Service, now: float, row: Rows) -> None:
    add(service, "n1")
    booking = add_booking(service, now + 4 * HOUR, now + 6 * HOUR)
    keep(service, ["n1"], now + 4 * HOUR, now + 6 * HOUR, booking=booking)
    keep(service, ["n1"], now + HOUR, now + 2 * HOUR)
    expected = {
        None: now + 6 * HOUR + T,
        End(seconds=HOUR - T): now,
        End(seconds=HOUR - T + 1): now + 2 * HOUR + T,
        End(seconds=2 * HOUR - 2 * T): now + 2 * HOUR + T,
        End(seconds=2 * HOUR - 2 * T + 1): now + 6 * HOUR + T,
        End(at=now + 4 * HOUR): None,
        End(at=now + 6 * HOUR, booking=booking): now + 4 * HOUR,
        End(seconds=HOUR, booking=booking): now + 4 * HOUR,
        End(seconds=3 * HOUR, booking=booking): None,
    }
    for name, request in REQUESTS.items():
        for end, moment in expected.items():
            with row(f"{name} {end}"):
                assert first_moment(service, request, end) == moment
