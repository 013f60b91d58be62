"""A release whose machine another transaction has locked waits for it, and hands over; and who begins to wait while a
release commits is not missed."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import select

from baremetal_sched.db.models import Node
from tests.functional.scheduling.test_handover import held, state, wait
from tests.races.exploring import Explorer
from tests.races.test_several import leave_out_events
from tests.races.waiting import LockWaits
from tests.service import Service


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, database={"lock_timeout": 30}) as running:
        running.add_conductor("c1")
        yield running


@contextmanager
def locked(service: Service, node: str) -> Iterator[threading.Event]:
    """Another transaction has locked the node's row, until the event is set or the context ends."""
    has_it, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        def work(session: object) -> None:
            session.execute(select(Node.id).where(Node.uuid == node).with_for_update())  # type: ignore[attr-defined]
            has_it.set()
            let_go.wait(60)

        service.database.write(work)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert has_it.wait(60)
        yield let_go
    finally:
        let_go.set()
        thread.join()


def test_a_release_waits_for_who_has_locked_the_machine(service: Service, database_url: str) -> None:
    """Guide: 'If another request has locked the machine at that moment, the release waits for that request.' It is
    handed over in the transaction that releases it: it is never free."""
    node, holder = service.add_node("n1"), str(uuid.uuid4())
    service.claim(holder, node)
    waiting = wait(service)
    statuses: list[int] = []
    with locked(service, node) as let_go, LockWaits(database_url) as waits:
        release = threading.Thread(
            target=lambda: statuses.append(service.placement("DELETE", f"/allocations/{holder}", status="*").status_int)
        )
        release.start()
        while release.is_alive() and not waits.count():
            release.join(0.02)
        assert release.is_alive(), "it has not waited"
        assert service.candidates("resources=CUSTOM_GOLD:1") == set()
        let_go.set()
        release.join()
    assert statuses == [204]
    assert held(service, waiting) == [node]


def test_a_machine_that_stays_locked_is_released_and_left_to_the_sweep(database_url: str) -> None:
    """Guide: 'After that time it commits without a hand-over; it succeeds either way.'"""
    with Service(database_url, database={"lock_timeout": 1}) as service:
        service.add_conductor("c1")
        node, holder = service.add_node("n1"), str(uuid.uuid4())
        service.claim(holder, node)
        waiting = wait(service)
        with locked(service, node):
            service.placement("DELETE", f"/allocations/{holder}", status=204)
            assert state(service, waiting) == "waiting"
        assert list(service.placement("GET", f"/resource_providers/{node}/allocations").json["allocations"]) == []


@pytest.mark.parametrize("other", ["allocate and wait", "boot and wait"])
def test_who_begins_to_wait_before_a_release_commits_is_served(
    explorer: Explorer, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guide: 'After its commit a release looks once more for claims that began to wait meanwhile.' It does not see
    what is free yet, and the release has looked for who waits before: it looks again."""
    leave_out_events(monkeypatch)
    points = explorer.points("held", "release")
    place = max(place for place, point in enumerate(points, 1) if point == "COMMIT")
    run, end = explorer.meet("held", ["release", other], place)
    assert (run.paused_before, end.statuses[0]) == ("COMMIT", 204)
    assert end.contents == explorer.serial("held", ["release", other]).contents
