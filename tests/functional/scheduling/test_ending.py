# tier: first
"""At the end of a claim its machine goes back, as its owner would give it."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.db.models import NodeHistory
from baremetal_sched.placement.ends import ENDING, LATE, SET
from tests.database_clock import SettableClock, settable
from tests.functional.compute.world import boot, show
from tests.functional.scheduling.ended import SPAN, claim, end_of, give_end, held, stubborn, sweep
from tests.functional.scheduling.test_events import Reader
from tests.service import Service

GOLD = "resources=CUSTOM_GOLD:1"


@pytest.fixture
def clock(service: Service) -> Iterator[SettableClock]:
    with settable(service.database) as clock:
        yield clock


def state_of(service: Service, consumer: str) -> Any:
    end = end_of(service, consumer)
    return None if end is None else end.state


def ends_told(reader: Reader) -> list[str]:
    """The events of ends."""
    told = (each["type"].removeprefix("scheduling.claim.") for each in reader.next())
    return [each for each in told if each in ("ends_soon", "late", "ended")]


@pytest.mark.parametrize("state", ["available", "manageable", "enroll"])
def test_a_machine_on_which_nothing_is_deployed_is_released_at_once(
    service: Service, clock: SettableClock, state: str
) -> None:
    node = service.add_node("n1")
    consumer, reader = claim(service, node), Reader(service)
    service.set_columns(node, provision_state=state)
    sweep(service)
    assert (state_of(service, consumer), held(service, consumer)) == (SET, {node: {"CUSTOM_GOLD": 1}})
    clock.step(SPAN)
    sweep(service)
    assert (state_of(service, consumer), held(service, consumer)) == (None, {})
    assert ends_told(reader) == ["ended"]
    assert service.candidates(GOLD) == ({node} if state == "available" else set())


def test_the_node_of_a_claim_is_undeployed_and_cleaned_before_it_is_released(
    service: Service, clock: SettableClock
) -> None:
    node = service.add_node("n1")
    consumer, reader = claim(service, node), Reader(service)
    service.set_columns(node, provision_state="active", instance_uuid=consumer)
    clock.step(SPAN)
    sweep(service)
    assert (state_of(service, consumer), service.node(node)["provision_state"]) == (ENDING, "deleting")
    sweep(service)
    service.work()
    assert (service.node(node)["provision_state"], service.candidates(GOLD)) == ("available", set())
    assert held(service, consumer) == {node: {"CUSTOM_GOLD": 1}}
    sweep(service)
    assert (held(service, consumer), service.candidates(GOLD)) == ({}, {node})
    assert ends_told(reader) == ["ended"]


def test_a_server_is_deleted(service: Service, clock: SettableClock) -> None:
    node = service.add_node("n1")
    uuid = boot(service)["uuid"]
    service.work()
    give_end(service, uuid)
    service.compute("POST", f"/servers/{uuid}/action", {"lock": None})
    reader = Reader(service)
    clock.step(SPAN)
    sweep(service)
    assert (state_of(service, uuid), show(service, uuid)["task_state"]) == (ENDING, "deleting")
    service.work()
    assert (show(service, uuid), held(service, uuid)) == ({}, {})
    assert ends_told(reader) == ["ended"]
    assert service.candidates(GOLD) == {node}


def test_a_machine_whose_deletion_fails_twice_is_neither_given_away_nor_forgotten(
    service: Service, clock: SettableClock
) -> None:
    node = service.add_node("n1")
    uuid = boot(service)["uuid"]
    service.work()
    give_end(service, uuid)
    reader = Reader(service)
    clock.step(SPAN)
    with stubborn():
        for pause in (5, 10):
            sweep(service)
            service.work()
            assert (state_of(service, uuid), service.node(node)["provision_state"]) == (ENDING, "error")
            sweep(service)
            end = end_of(service, uuid)
            assert end is not None
            assert (end.state, "does not answer" in (end.reason or "")) == (LATE, True)
            assert (held(service, uuid), service.candidates(GOLD)) == ({node: {"CUSTOM_GOLD": 1}}, set())
            clock.step(pause - 1)
            sweep(service)
            assert state_of(service, uuid) == LATE
            clock.step(1)
    assert ends_told(reader) == ["late"]
    sweep(service)
    service.work()
    assert (show(service, uuid), service.candidates(GOLD)) == ({}, {node})
    assert ends_told(reader) == ["ended"]


def history(service: Service, node: str) -> list[str]:
    query = select(NodeHistory.event).order_by(NodeHistory.id)
    return [*service.database.read(lambda session: session.scalars(query).all())]
