# tier: first
"""Ends that have come while the machine cannot be given back."""

from collections.abc import Iterator

import pytest

from baremetal_sched.placement.ends import ENDING, LATE
from tests.database_clock import SettableClock, settable
from tests.functional.compute.world import boot, show
from tests.functional.scheduling.ended import SPAN, Told, claim, end_of, give_end, held, history, state_of, sweep
from tests.functional.scheduling.test_events import HOLDS
from tests.restored import Rows
from tests.service import Service

GOLD = "resources=CUSTOM_GOLD:1"


@pytest.fixture
def clock(service: Service) -> Iterator[SettableClock]:
    with settable(service.database) as clock:
        yield clock


def late(service: Service, consumer: str) -> tuple[int, float, str]:
    """How often it was tried, in how many seconds it is tried again, and why it is late."""
    end = end_of(service, consumer)
    assert end is not None
    assert (end.state, end.late_since is not None) == (LATE, True)
    return end.tries, round(end.due_at - end.ends_at - SPAN), end.reason or ""


def test_what_is_late_is_tried_again_less_and_less_often(service: Service, clock: SettableClock) -> None:
    """There is one event when it becomes late, and one when the machine is given back."""
    node = service.add_node("n1")
    consumer, told = claim(service, node), Told(service)
    service.set_columns(node, provision_state="deploying", reservation="c1")
    clock.step(SPAN)
    pauses = []
    for _ in range(8):
        sweep(service)
        sweep(service)  # nothing is due
        end = end_of(service, consumer)
        assert end is not None
        assert (end.state, end.tries) == (LATE, len(pauses) + 1)
        pauses.append(5.0 * 2 ** len(pauses))
        clock.step(min(pauses[-1], 300) - 1)
        sweep(service)
        assert state_of(service, consumer) == LATE
        clock.step(1)
        if sum(pauses) > 1000:
            service.conductors["c1"].beat()
    (event,) = told.next()
    said = f"Conductor c1 is at work on node {node}, which is deploying."
    assert (event["type"], event["data"]["end"]["reason"]) == ("scheduling.claim.late", said)
    assert history(service, node) == [
        f"The claim {consumer} ended at {event['data']['end']['at']}. The machine cannot be given back yet: {said}"
    ]
    service.set_columns(node, provision_state="active", reservation=None)
    sweep(service)
    assert (state_of(service, consumer), service.node(node)["provision_state"]) == (ENDING, "deleting")
    service.work()
    sweep(service)
    assert (held(service, consumer), service.candidates(GOLD)) == ([], {node})
    assert told.types() == ["ended"]


REFUSED = {
    "cleaning": {"provision_state": "cleaning", "reservation": "c1"},
    "clean wait": {"provision_state": "clean wait"},
    "clean failed": {"provision_state": "clean failed"},
    "adopt failed": {"provision_state": "adopt failed"},
    "deploy hold": {"provision_state": "deploy hold"},
    "available": {"provision_state": "available", "reservation": "c1"},
    "active": {"provision_state": "active", "reservation": "somebody"},
}


def test_states_that_do_not_allow_it(service: Service, row: Rows) -> None:
    for state, columns in REFUSED.items():
        with row(state), settable(service.database) as clock:
            node = service.add_node("n1")
            consumer = claim(service, node)
            service.set_columns(node, **columns)
            clock.step(SPAN)
            sweep(service)
            tries, _, reason = late(service, consumer)
            assert (tries, state in reason, held(service, consumer)) == (1, True, [node])


ALLOWED = ("active", "wait call-back", "deploy failed", "error", "rescue", "unrescue failed", "service failed")


def test_states_that_allow_it(service: Service, row: Rows) -> None:
    for state in ALLOWED:
        with row(state), settable(service.database) as clock:
            node = service.add_node("n1")
            consumer = claim(service, node)
            service.set_columns(node, provision_state=state, maintenance=True, maintenance_reason="a hold")
            clock.step(SPAN)
            sweep(service)
            assert (state_of(service, consumer), service.node(node)["provision_state"]) == (ENDING, "deleting")


def test_a_lockout_stops_it_until_it_is_released(service: Service, clock: SettableClock) -> None:
    node = service.add_node("n1")
    consumer = claim(service, node)
    service.set_columns(node, provision_state="active")
    hold = service.http.post_json(HOLDS.format(node), {"type": "lockout", "reason": "someone is in it"}).json["uuid"]
    clock.step(SPAN)
    sweep(service)
    assert hold in late(service, consumer)[2]
    service.http.delete(f"{HOLDS.format(node)}/{hold}")
    clock.step(5)
    sweep(service)
    assert state_of(service, consumer) == ENDING


def test_a_drain_begins_with_the_end(service: Service, clock: SettableClock) -> None:
    """Other holds do not stop an end."""
    node = service.add_node("n1")
    consumer = claim(service, node)
    service.set_columns(node, provision_state="active")
    service.http.post_json(HOLDS.format(node), {"type": "window", "reason": "fan", "drain": True})
    clock.step(SPAN)
    sweep(service)
    service.work()
    sweep(service)
    assert (held(service, consumer), service.candidates(GOLD)) == ([], set())


@pytest.mark.parametrize("respects", [False, True])
def test_protection_stops_it_only_if_the_settings_say_so(database_url: str, respects: bool) -> None:
    with Service(database_url, scheduling={"ends_respect_protected": respects}) as service:
        service.add_conductor("c1")
        node = service.add_node("n1")
        consumer = claim(service, node)
        service.set_columns(node, provision_state="active", protected=True, protected_reason="mine")
        with settable(service.database) as clock:
            clock.step(SPAN)
            sweep(service)
            shown = service.node(node)
            found = (state_of(service, consumer), shown["provision_state"], shown["protected"])
            assert found == ((LATE, "active", True) if respects else (ENDING, "deleting", False))
            if respects:
                assert "protected" in late(service, consumer)[2]


def test_a_server_that_is_being_deployed_is_late_until_that_has_ended(service: Service, clock: SettableClock) -> None:
    """Its deletion was requested, and follows by itself."""
    node = service.add_node("n1")
    uuid = boot(service)["uuid"]
    give_end(service, uuid)
    told = Told(service)
    clock.step(SPAN)
    sweep(service)
    assert "which is deploying, has ended" in late(service, uuid)[2]
    assert show(service, uuid)["task_state"] == "deleting"
    service.work()
    assert (show(service, uuid), service.candidates(GOLD)) == ({}, {node})
    assert told.types() == ["late", "ended"]


def test_cleaning_that_fails_at_the_end_is_late(service: Service, clock: SettableClock) -> None:
    node = service.add_node("n1")
    consumer, told = claim(service, node), Told(service)
    service.set_columns(node, provision_state="active")
    clock.step(SPAN)
    sweep(service)
    service.set_columns(node, provision_state="clean failed", reservation=None, last_error="The disk is full.")
    sweep(service)
    assert "is clean failed: The disk is full." in late(service, consumer)[2]
    clock.step(5)
    sweep(service)
    assert (late(service, consumer)[0], held(service, consumer)) == (2, [node])
    service.set_columns(node, provision_state="manageable")
    clock.step(10)
    sweep(service)
    assert held(service, consumer) == []
    assert told.types() == ["late", "ended"]
