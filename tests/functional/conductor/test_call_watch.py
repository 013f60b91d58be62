"""How a conductor notices that a driver call or work is waiting."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import update

from baremetal_sched.conductor import call_watch
from baremetal_sched.conductor.call_watch import CallWatch
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.outage import Outage
from baremetal_sched.conductor.wake_pipe import WakePipe
from baremetal_sched.db.models import NodeWork
from tests.functional.conductor.test_driver_calls import write_down
from tests.service import Service
from tests.waiting import PATIENCE, wait_until

NEVER = 3600.0


class Watched:
    """What a watch has reported, and how often it has read the database."""

    def __init__(self) -> None:
        self.calls, self.work, self.looks = threading.Event(), threading.Event(), 0

    def forget(self) -> None:
        """Forget what was reported."""
        self.calls.clear()
        self.work.clear()


@contextmanager
def watching(service: Service, pipe: WakePipe | None = None) -> Iterator[Watched]:
    """A watch that runs, and has reported what may have been requested before it began."""
    watched, stop = Watched(), threading.Event()
    host = ConductorHost("c1", service.database, service.app.settings)
    watch = CallWatch(host, watched.calls.set, watched.work.set, Outage("c1", 0.01), pipe)
    look = watch._look

    def count(connection: object) -> float:
        seconds = look(connection)
        watched.looks += 1
        return seconds

    watch._look = count  # type: ignore[method-assign]
    thread = threading.Thread(target=watch.run, args=(stop,))
    thread.start()
    try:
        wait_until(lambda: watched.looks, "the first look")
        watched.forget()
        yield watched
    finally:
        stop.set()
        if pipe is not None:
            pipe.wake()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_watch, "_LONGEST", 0.05)
    monkeypatch.setattr(call_watch, "_SHORTEST", 0.05)


@pytest.fixture
def pipe() -> Iterator[WakePipe]:
    made = WakePipe()
    yield made
    for end in (made._read, made._write):
        os.close(end)


def request_power(service: Service) -> None:
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"})


def postpone(service: Service, until: float) -> None:
    """Postpone all work; ``until`` is in seconds since 1970."""
    service.database.write(lambda session: session.execute(update(NodeWork).values(not_before=until)))


def test_a_call_is_noticed(service: Service, node: str) -> None:
    with watching(service) as watched:
        write_down(service)
        assert watched.calls.wait(PATIENCE)


def test_work_is_noticed(service: Service, node: str) -> None:
    with watching(service) as watched:
        request_power(service)
        assert watched.work.wait(PATIENCE)


def test_work_is_noticed_when_it_is_due(service: Service, node: str) -> None:
    """Until then the database has nothing to report."""
    request_power(service)
    postpone(service, 99999999999)
    with watching(service) as watched:
        before = watched.looks
        wait_until(lambda: watched.looks > before, "another look")
        assert not watched.work.is_set()
        postpone(service, 1)
        assert watched.work.wait(PATIENCE)


class Losable:
    """A connection that its thread finds lost. No other thread may close it: SQLite crashes if it is in use then."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._is_lost = connection, False

    def __getattr__(self, name: str) -> Any:
        if self._is_lost and name != "close":
            raise OSError("The connection is lost.")
        return getattr(self._connection, name)

    def lose(self) -> None:
        """Lose it, and wake a thread that waits for it to be readable."""
        if hasattr(self._connection, "pgconn"):
            with socket.socket(fileno=os.dup(self._connection.fileno())) as ours:
                ours.shutdown(socket.SHUT_RDWR)
        self._is_lost = True


def test_a_lost_connection_is_replaced(service: Service, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connections: list[Losable] = []
    connect = call_watch._connect

    def keep(host: ConductorHost) -> object:
        connections.append(Losable(connect(host)))
        return connections[-1]

    monkeypatch.setattr(call_watch, "_connect", keep)
    with watching(service) as watched:
        connections[0].lose()
        wait_until(lambda: len(connections) > 1, "another connection")
        watched.forget()
        request_power(service)
        assert watched.work.wait(PATIENCE)


def test_a_failure_without_a_text_is_survived(service: Service, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, failures = call_watch._connect, [TimeoutError()]

    def fail_once(host: ConductorHost) -> object:
        if failures:
            raise failures.pop()
        return connect(host)

    monkeypatch.setattr(call_watch, "_connect", fail_once)
    with watching(service) as watched:
        request_power(service)
        assert watched.work.wait(PATIENCE)


def test_a_request_wakes_the_conductor_of_its_service(
    service: Service, node: str, pipe: WakePipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its database is not read for that."""
    if service.database.engine.dialect.name != "sqlite":
        pytest.skip("other databases have other processes, too")
    monkeypatch.setattr(call_watch, "_LONGEST", NEVER)
    with watching(service, pipe) as watched:
        service.database.on_work = pipe.wake
        request_power(service)
        assert watched.calls.wait(PATIENCE)
        assert watched.work.wait(PATIENCE)
        watched.forget()
        write_down(service, reserves=False)
        assert watched.calls.wait(PATIENCE)
        assert watched.looks == 1


def test_a_service_with_a_pipe_looks_for_postponed_work(service: Service, node: str, pipe: WakePipe) -> None:
    if service.database.engine.dialect.name != "sqlite":
        pytest.skip("other databases have other processes, too")
    request_power(service)
    postpone(service, 1)
    with watching(service, pipe) as watched:
        assert watched.work.wait(PATIENCE)


def test_a_pipe_remembers_that_it_was_woken(pipe: WakePipe) -> None:
    """However often, and without waiting for its reader."""
    assert not pipe.wait(0)
    for _ in range(100_000):
        pipe.wake()
    while pipe.wait(0):
        pass
    pipe.wake()
    assert pipe.wait(NEVER)
