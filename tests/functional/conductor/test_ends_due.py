# tier: first
"""Conductors and the ends that are due: what they tell before, who takes them, and conductors that die."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import event, update

from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.models import ClaimEnd, NodeWork, table_of
from baremetal_sched.placement.ends import ENDING, LATE, SET, End
from baremetal_sched.scheduling import ends as sweeping
from tests.database_clock import SettableClock, settable
from tests.functional.compute.world import boot, show
from tests.functional.scheduling.ended import SPAN, Told, claim, end_of, give_end, held, state_of, sweep
from tests.functional.scheduling.test_audit import found as db_check
from tests.service import Service

HOUR, DAY = 3600.0, 86_400.0
INTERVALS = (DAY, HOUR)


@pytest.fixture
def clock(service: Service) -> Iterator[SettableClock]:
    with settable(service.database) as clock:
        yield clock


def step(service: Service, clock: SettableClock, seconds: float) -> None:
    """Let time pass for all but the conductors, and let them sweep."""
    clock.step(seconds)
    for name, conductor in service.conductors.items():
        conductor.beat()
        sweep(service, name)


def intervals(told: Told) -> list[float]:
    """The intervals of which events have told."""
    events = told.next()
    assert {each["type"] for each in events} <= {"scheduling.claim.ends_soon"}
    return [each["data"]["end"]["seconds"] for each in events]


def due_in(service: Service, consumer: str) -> float:
    """How many seconds before the end something is to be done about it."""
    end = end_of(service, consumer)
    assert end is not None
    return end.ends_at - end.due_at


# -- told before -------------------------------------------------------------------------------------------------------


def test_each_interval_is_told_once(service: Service, clock: SettableClock) -> None:
    node = service.add_node("n1")
    consumer, told = claim(service, node, end=End(seconds=2 * DAY, told_before=INTERVALS)), Told(service)
    step(service, clock, DAY - 10)
    assert (intervals(told), due_in(service, consumer)) == ([], DAY)
    step(service, clock, 10)
    (event,) = told.next()
    assert (event["type"], event["subject"]) == ("scheduling.claim.ends_soon", consumer)
    end = event["data"]["end"]
    assert (end["state"], end["node"], end["seconds"], end["reason"]) == (SET, node, DAY, None)
    assert due_in(service, consumer) == HOUR
    step(service, clock, 10)
    assert intervals(told) == []
    step(service, clock, DAY - HOUR)
    assert (intervals(told), due_in(service, consumer)) == ([HOUR], 0)
    step(service, clock, HOUR)
    assert told.types() == ["ended"]


def test_of_intervals_that_nobody_told_only_the_shortest_is_told(service: Service, clock: SettableClock) -> None:
    consumer = claim(service, service.add_node("n1"), end=End(seconds=2 * DAY, told_before=INTERVALS))
    told = Told(service)
    step(service, clock, 2 * DAY - HOUR / 2)
    assert (intervals(told), due_in(service, consumer)) == ([HOUR], 0)
    step(service, clock, 10)
    assert intervals(told) == []


def test_intervals_that_were_over_when_the_end_was_set_are_told_nobody(service: Service, clock: SettableClock) -> None:
    """A later end arms those that lie ahead again."""
    consumer = claim(service, service.add_node("n1"), end=End(seconds=HOUR, told_before=INTERVALS))
    told = Told(service)
    assert due_in(service, consumer) == 0
    table = table_of(ClaimEnd)
    service.database.change(lambda connection: connection.execute(update(table).values(due_at=1.0)))
    step(service, clock, 10)
    assert (intervals(told), due_in(service, consumer)) == ([], 0)
    give_end(service, consumer, End(seconds=DAY, told_before=INTERVALS))
    step(service, clock, DAY - HOUR)
    assert intervals(told) == [HOUR]
    give_end(service, consumer, End(seconds=2 * HOUR, told_before=INTERVALS))
    step(service, clock, 10)
    assert intervals(told) == []
    step(service, clock, HOUR)
    assert (intervals(told), due_in(service, consumer)) == ([HOUR], 0)


def test_one_event_tells_of_all_machines_of_a_claim(service: Service, clock: SettableClock) -> None:
    for name in ("n1", "n2", "n3"):
        service.add_node(name)
    body = {"query": "resources=CUSTOM_GOLD:1", "count": 3, "for": 2 * DAY}
    uuid = service.http.post_json("/scheduling/v1/claims", body, status=201).json["uuid"]
    told = Told(service)
    step(service, clock, DAY)
    (event,) = told.next()
    assert (event["subject"], event["data"]["end"]["node"]) == (uuid, None)


# -- who takes them ----------------------------------------------------------------------------------------------------


def test_nothing_is_sent_while_nothing_is_due(service: Service) -> None:
    claim(service, service.add_node("n1"))
    with service.statements() as seen:
        sweep(service)
    assert [each.split()[0] for each in seen] == ["SELECT"]


def test_only_the_conductor_of_the_node_takes_its_end(service: Service, clock: SettableClock) -> None:
    """Of a group without conductor it stays, and counts as late."""
    service.add_conductor("c2", "far")
    near, far, nobodys = (
        service.add_node(f"n{number}", conductor_group=group) for number, group in enumerate(("", "far", ""))
    )
    consumers = [claim(service, node) for node in (near, far, nobodys)]
    service.set_columns(nobodys, conductor_group="nobody")
    clock.step(SPAN)
    sweep(service, "c2")
    assert [state_of(service, each) for each in consumers] == [SET, None, SET]
    sweep(service, "c1")
    assert [state_of(service, each) for each in consumers] == [None, None, SET]
    counted = 'baremetal_sched_claim_ends{{state="late"}} {}.0'
    assert counted.format(0) in service.http.get("/metrics").text
    clock.step(60)
    assert counted.format(1) in service.http.get("/metrics").text
    service.add_conductor("c3", "nobody")
    sweep(service, "c3")
    assert state_of(service, consumers[2]) is None


def test_two_conductors_that_take_it_at_once_end_it_once(service: Service, clock: SettableClock) -> None:
    """Both have seen that it is due."""
    node = service.add_node("n1")
    consumer, told = claim(service, node), Told(service)
    service.set_columns(node, provision_state="active")
    clock.step(SPAN)
    end = end_of(service, consumer)
    assert end is not None
    number, settings = end.consumer_id, service.app.settings
    threads = [
        threading.Thread(
            target=service.database.write,
            args=(lambda session, name=name: sweeping.settle(session, number, settings, name),),
        )
        for name in ("c1", "c2")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state_of(service, consumer) == ENDING
    service.work()
    sweep(service)
    assert (held(service, consumer), told.types()) == ([], ["ended"])


# -- conductors that die -----------------------------------------------------------------------------------------------


class Died(BaseException):
    """The process is no more."""


@contextmanager
def dying(service: Service, after: int) -> Iterator[None]:
    """The process dies after this many statements: nothing that was not committed is there."""
    seen: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "ROLLBACK")):
            seen.append(statement)
        if len(seen) > after:
            raise Died

    engines = {service.database.engine, service.database.reading_engine}
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        with suppress(Died):
            yield
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize("kind", ["claim", "server"])
def test_a_conductor_that_dies_between_two_statements(service: Service, clock: SettableClock, kind: str) -> None:
    """Another one goes on, and nothing is done twice."""
    node = service.add_node("n1")
    uuid = boot(service)["uuid"] if kind == "server" else claim(service, node)
    service.work()
    if kind == "server":
        give_end(service, uuid)
    told = Told(service)
    clock.step(SPAN)
    deaths, task = 0, next(task for task in PERIODIC_TASKS if task.name == "ends")
    while state_of(service, uuid) == SET:
        assert held(service, uuid) == [node]
        with dying(service, deaths):
            task.run(service.conductors["c1"]._host)
        deaths += 1
    assert deaths > 10
    service.work()
    assert (held(service, uuid), told.types()) == ([], ["ended"])
    assert kind == "claim" or show(service, uuid) == {}


def test_a_conductor_that_dies_while_it_undeploys(service: Service, clock: SettableClock) -> None:
    """The work has failed, so the end is late; the conductor that has the node now tries again."""
    node = service.add_node("n1")
    consumer, told = claim(service, node), Told(service)
    service.set_columns(node, provision_state="active")
    clock.step(SPAN)
    sweep(service)
    assert (state_of(service, consumer), service.node(node)["reservation"]) == (ENDING, "c1")
    begun = update(table_of(NodeWork)).values(claimed_by="its process")
    service.database.change(lambda connection: connection.execute(begun))
    del service.conductors["c1"]
    clock.step(2 * HOUR)
    second = service.add_conductor("c2")
    sweep(service, "c2")
    assert state_of(service, consumer) == ENDING
    next(task for task in PERIODIC_TASKS if task.name == "orphans").run(second._host)
    assert service.node(node)["provision_state"] == "error"
    sweep(service, "c2")
    assert (state_of(service, consumer), held(service, consumer)) == (LATE, [node])
    step(service, clock, 5)
    service.work()
    sweep(service, "c2")
    assert (held(service, consumer), told.types()) == ([], ["late", "ended"])


def test_an_end_that_cannot_be_taken_keeps_no_other_waiting(
    service: Service, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [service.add_node(name) for name in ("n1", "n2")]
    first, second = (claim(service, node) for node in nodes)
    give_back = sweeping.give_back

    def fail(ended: Any) -> str | None:
        if ended.end.uuid == first:
            raise ZeroDivisionError
        return give_back(ended)

    monkeypatch.setattr(sweeping, "give_back", fail)
    clock.step(SPAN)
    sweep(service)
    assert (state_of(service, first), state_of(service, second)) == (SET, None)


def test_db_check_knows_ends(service: Service) -> None:
    consumer = claim(service, service.add_node("n1"))
    table = table_of(ClaimEnd)
    service.database.change(lambda connection: connection.execute(update(table).values(state="odd")))
    assert f"consumer {consumer}: its end is in the unknown state 'odd'" in db_check(service)
