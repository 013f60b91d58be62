# tier: first
"""Requests with an end prefer machines for which no hold is planned before it; strict ones take no others."""

from dataclasses import replace
from typing import Any

import pytest

from baremetal_sched.baremetal.holds import holds
from baremetal_sched.baremetal.matching.node_request import NodeRequest
from baremetal_sched.baremetal.matching.request import MachineContext, MachineRequest
from baremetal_sched.baremetal.matching.several import choose_many
from baremetal_sched.baremetal.matching.spreading import Several
from baremetal_sched.baremetal.matching.tree_request import QUERY_VERSION, TreeRequest
from baremetal_sched.placement import waiting_requests
from baremetal_sched.placement.ends import End
from baremetal_sched.placement.waiting_requests import CLAIM, NewWaitingRequest
from baremetal_sched.scheduling.audit import audit
from baremetal_sched.scheduling.queue import next_for, request_of
from tests.functional.scheduling.test_claims import show
from tests.functional.scheduling.test_earliest import HOUR, hold
from tests.restored import Rows
from tests.service import Service

QUERY = "resources=CUSTOM_GOLD%3A1"
REQUESTS: dict[str, MachineRequest] = {
    "allocation": NodeRequest("gold"),
    "query": TreeRequest(QUERY, served=False, version=QUERY_VERSION),
    "server": TreeRequest(QUERY),
}
CONSUMER = "cccccccc-0000-4000-8000-000000000001"


@pytest.fixture
def service(service: Service) -> Service:
    service.add_conductor("c1")
    return service


@pytest.fixture
def now(service: Service) -> int:
    """The present second."""
    return int(service.database.read(holds.now))


def chosen(service: Service, request: MachineRequest, end: End | None) -> list[str]:
    """The names of the machines that the request would get."""

    def choose(session: Any) -> list[str]:
        context = MachineContext(session, service.app.settings, end=end)
        if request.several is not None:
            return sorted(host.node.name for host in choose_many(context, request) or ())
        host = request.choose(context)
        return [] if host is None else [host.node.name]

    return service.database.write(choose)


def test_machines_that_are_not_held_before_the_end_come_first(service: Service, now: int, row: Rows) -> None:
    for number in range(6):
        service.add_node(f"held-{number}")
        hold(service, f"held-{number}", now + HOUR)
    service.add_node("later")
    hold(service, "later", now + 3 * HOUR)
    for name, request in REQUESTS.items():
        strict = replace(request, strict_end=True)
        with row(name):
            for end in (End(at=now + 3 * HOUR), End(seconds=2 * HOUR)):
                assert chosen(service, request, end) == chosen(service, strict, end) == ["later"]
            for end in (End(at=now + 3 * HOUR + 1), End(seconds=4 * HOUR)):
                assert len(chosen(service, request, end)) == 1
                assert chosen(service, strict, end) == []
            assert len(chosen(service, strict, None)) == 1


def test_several_machines(service: Service, now: int, row: Rows) -> None:
    for number in range(4):
        service.add_node(f"held-{number}")
        hold(service, f"held-{number}", now + HOUR)
    for name in ("n1", "n2"):
        service.add_node(name)
    end = End(seconds=2 * HOUR)
    for name, request in REQUESTS.items():
        two, three = (replace(request, several=Several(count)) for count in (2, 3))
        with row(name):
            assert chosen(service, two, end) == ["n1", "n2"]
            assert len(chosen(service, three, end)) == 3
            assert chosen(service, replace(three, strict_end=True), end) == []


def test_documents_say_that_an_end_is_strict_only_if_it_is(row: Rows) -> None:
    for name, request in REQUESTS.items():
        with row(name):
            assert "strict_end" not in request.document()
            strict = replace(request, strict_end=True)
            assert strict.document() == {**request.document(), "strict_end": True}
            assert request_of(strict.document()).strict_end
            assert not request_of(request.document()).strict_end


def wait(service: Service, uuid: str, end: End | None, *, strict: bool) -> None:
    """Have a claim that waits."""
    request = TreeRequest(QUERY, served=False, version=QUERY_VERSION, strict_end=strict)
    new = NewWaitingRequest(uuid, CLAIM, "CUSTOM_GOLD", request.document(), "p", "u", seconds=9 * HOUR, end=end)
    service.database.write(lambda session: waiting_requests.enter(session, new, most=9) and None)


def test_of_an_entry_the_first_is_served_whose_end_allows_the_machine(service: Service, now: int) -> None:
    node = service.add_node("n1")
    hold(service, "n1", now + 3 * HOUR)
    service.claim(CONSUMER, node)
    ends = {
        "3f2504e0-4f89-41d3-9a0c-000000000001": (End(seconds=4 * HOUR), True),
        "3f2504e0-4f89-41d3-9a0c-000000000002": (End(at=now + 4 * HOUR), True),
        "3f2504e0-4f89-41d3-9a0c-000000000003": (End(at=now + 2 * HOUR), True),
        "3f2504e0-4f89-41d3-9a0c-000000000004": (End(seconds=HOUR), True),
        "3f2504e0-4f89-41d3-9a0c-000000000005": (End(seconds=4 * HOUR), False),
    }
    for uuid, (end, strict) in ends.items():
        wait(service, uuid, end, strict=strict)
    _, _, third, fourth, loose = ends

    def states() -> list[str]:
        return [show(service, uuid)["state"] for uuid in ends]

    def next_one() -> str | None:
        found = service.database.read(lambda session: next_for(session, node, "CUSTOM_GOLD", service.app.settings))
        return None if found is None else found.uuid

    assert next_one() == third
    for held, after in ((CONSUMER, fourth), (third, loose), (fourth, None)):
        service.placement("DELETE", f"/allocations/{held}", status=204)
        assert next_one() == after
    assert states() == ["waiting", "waiting", "released", "released", "claimed"]
    service.placement("DELETE", f"/allocations/{loose}", status=204)
    assert states()[:2] == ["waiting", "waiting"]
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    assert service.database.read(lambda session: audit(session, service.app.settings)) == []
    # A newcomer without end passes them.
    service.claim(CONSUMER, node)
