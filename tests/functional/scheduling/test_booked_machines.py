# tier: first
"""Machines that are booked: placement gives none of them, and those who wait get one only if their end leaves it."""

from typing import Any

import pytest
from sqlalchemy import func, select, update

from baremetal_sched.baremetal.holds import holds
from baremetal_sched.db.clock import exactly, in_words
from baremetal_sched.db.models import ClaimEnd, WaitingRequest
from baremetal_sched.placement.ends import End
from baremetal_sched.scheduling.audit import audit
from baremetal_sched.scheduling.queue import next_for
from tests.booked import drop, keep
from tests.functional.scheduling.test_changing_ends import MEMBER, OF_SYSTEM, change
from tests.functional.scheduling.test_claims import OTHER, UUID, message, post, show
from tests.functional.scheduling.test_earliest import text
from tests.functional.scheduling.test_ends import claim
from tests.functional.scheduling.test_strict_ends import wait
from tests.passing_time import go_by
from tests.restored import Rows
from tests.service import Service
from tests.unchanged import unchanged

HOUR = 3600
#: The turnaround.
T = 600
QUERY = "resources=CUSTOM_GOLD:1"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"


@pytest.fixture
def service(database_url: str) -> Any:
    with Service(database_url, scheduling={"turnaround": T}, conductor={"heartbeat_timeout": 99 * HOUR}) as service:
        service.add_conductor("c1")
        yield service


@pytest.fixture
def now(service: Service) -> int:
    """The present second."""
    return int(service.database.read(holds.now))


def put(service: Service, node: str, consumer: str = CONSUMER, **options: Any) -> Any:
    """Claim a machine as Nova does."""
    body = {
        "allocations": {node: {"resources": {"CUSTOM_GOLD": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return service.placement("PUT", f"/allocations/{consumer}", body, **options)


def test_placement_gives_nothing_that_is_booked(service: Service, now: int, row: Rows) -> None:
    node, given, plain = (service.add_node(name) for name in ("booked", "given", "plain"))
    put(service, given, OTHER)
    for uuid in (node, given):
        keep(service, [uuid], now + 2 * HOUR, now + 3 * HOUR)
    for ahead, when in ((0, "before"), (2.5 * HOUR, "in it"), (3 * HOUR + T / 2, "while it is cleaned")):
        with row(when):
            go_by(service, ahead)
            assert service.candidates(QUERY) == {plain}
            refused = put(service, node, status=409).json["errors"][0]
            assert "is booked" in refused["detail"]
            # What was given before stays, and can be written again.
            assert given in service.placement("GET", f"/allocations/{OTHER}").json["allocations"]
            put(service, plain)
    with row("given up"):
        drop(service)
        assert service.candidates(QUERY) == {node, plain}
        put(service, node)


def states(service: Service, uuids: list[str]) -> list[str]:
    return [show(service, uuid)["state"] for uuid in uuids]


WAITING = [f"3f2504e0-4f89-41d3-9a0c-00000000000{number}" for number in range(1, 5)]


def test_a_freed_machine_goes_to_the_first_whose_end_leaves_its_booking(service: Service, now: int) -> None:
    node = service.add_node("n1")
    held = claim(service, [node], End(at=now + HOUR))
    keep(service, [node], now + 4 * HOUR, now + 5 * HOUR)
    endless, long, short, strict = WAITING
    ends = {
        endless: None,
        long: End(seconds=4 * HOUR),
        short: End(seconds=2 * HOUR),
        strict: End(at=now + 4 * HOUR - T),
    }
    for uuid, end in ends.items():
        wait(service, uuid, end, strict=uuid == strict)

    def next_one() -> str | None:
        found = service.database.read(lambda session: next_for(session, node, "CUSTOM_GOLD", service.app.settings))
        return None if found is None else found.uuid

    for holder, after in ((held, short), (short, strict), (strict, None)):
        assert next_one() == after or after is None
        service.placement("DELETE", f"/allocations/{holder}", status=204)
    assert states(service, WAITING) == ["waiting", "waiting", "released", "released"]
    assert next_one() is None
    assert service.database.read(lambda session: audit(session, service.app.settings)) == []
    # When the booking is gone, the first gets it.
    drop(service)
    assert states(service, WAITING)[:2] == ["claimed", "waiting"]


def test_a_newcomer_with_an_end_passes_those_who_cannot_have_it(service: Service, now: int) -> None:
    node = service.add_node("n1")
    keep(service, [node], now + 4 * HOUR, now + 5 * HOUR)
    wait(service, WAITING[0], None, strict=False)
    wait(service, WAITING[1], End(seconds=9 * HOUR), strict=False)
    post(service, status=409)
    post(service, **{"for": 4 * HOUR}, status=409)
    claimed = post(service, **{"for": 2 * HOUR}, status=201).json
    assert claimed["machines"][0]["node"] == node
    assert states(service, WAITING[:2]) == ["waiting", "waiting"]


def test_who_waits_gets_a_gap_before_a_newcomer(service: Service, now: int) -> None:
    node = service.add_node("n1")
    held = claim(service, [node], End(at=now + HOUR))
    keep(service, [node], now + 4 * HOUR, now + 5 * HOUR)
    wait(service, WAITING[0], End(seconds=HOUR), strict=False)
    service.placement("DELETE", f"/allocations/{held}", status=204)
    assert states(service, WAITING[:1]) == ["claimed"]
    post(service, **{"for": HOUR}, status=409)


def test_several_machines_wait_for_gaps(service: Service, now: int) -> None:
    nodes = [service.add_node(name) for name in ("n1", "n2")]
    held = claim(service, nodes[:1], End(at=now + HOUR))
    keep(service, nodes, now + 4 * HOUR, now + 5 * HOUR)
    for uuid, seconds in ((UUID, 4 * HOUR), (OTHER, 2 * HOUR)):
        post(service, count=2, wait=9000, **{"for": seconds}, consumer={"uuid": uuid}, status=202)
    service.placement("DELETE", f"/allocations/{held}", status=204)
    assert states(service, [UUID, OTHER]) == ["waiting", "claimed"]


# -- changes of ends ---------------------------------------------------------------------------------------------------


def test_an_end_stays_before_the_next_booking(service: Service, now: int, row: Rows) -> None:
    nodes = [service.add_node(name) for name in ("n1", "n2")]
    post(service, count=2, until=text(now + HOUR), consumer={"uuid": UUID}, status=201)
    keep(service, nodes[1:], now + 4 * HOUR, now + 5 * HOUR)
    last = now + 4 * HOUR - T
    for given in ({"until": text(last + 1)}, {"for": 4 * HOUR}, {"until": None}):
        with row(given), unchanged(service):
            assert f"later than {in_words(last)}" in message(change(service, status=409, **given))
    with row("the last moment"):
        assert change(service, until=text(last)).json["until"] == exactly(last)
    with row("earlier, for which it does not matter"):
        service.database.write(
            lambda session: session.execute(update(ClaimEnd).values(ends_at=now + 9 * HOUR)) and None
        )
        assert change(service, until=text(now + 8 * HOUR)).json["until"] == exactly(now + 8 * HOUR)
    with row("given up"):
        drop(service)
        change(service, until=None)


@pytest.mark.parametrize("is_bound", [False, True])
def test_a_plan_gives_way_unless_those_who_wait_do_not(database_url: str, *, is_bound: bool) -> None:
    options = {"turnaround": T, "prolong_while_others_wait": not is_bound}
    with Service(database_url, api={"auth_strategy": "noauth2"}, scheduling=options) as service:
        service.add_conductor("c1")
        now = int(service.database.read(holds.now))
        node = service.add_node("n1")
        post(service, until=text(now + HOUR), consumer={"uuid": UUID}, status=201, headers=MEMBER)
        post(service, count=2, wait=9000, even_if_impossible=True, status=202, headers=MEMBER)
        waiting = service.database.read(lambda session: session.scalar(select(func.max(WaitingRequest.id))))
        keep(service, [node], now + 4 * HOUR, None, waiting=waiting)
        change(service, until=text(now + 5 * HOUR), status=409 if is_bound else 200, headers=MEMBER)
        change(service, until=text(now + 5 * HOUR), headers=OF_SYSTEM)
