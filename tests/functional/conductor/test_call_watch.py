"""How soon a conductor notices that a call of a driver is waiting."""

import threading
import time
from collections.abc import Iterator

import pytest

from baremetal_sched.conductor import call_watch
from baremetal_sched.conductor.call_watch import CallWatch
from baremetal_sched.conductor.host import ConductorHost
from tests.functional.conductor.test_driver_calls import calls, write_down
from tests.service import Service


@pytest.fixture
def told() -> threading.Event:
    return threading.Event()


#: Seconds after which calls are looked for in any case: as many as a test may take, or more than it can.
SHORT, LONG = 0.1, 3600.0


@pytest.fixture
def watch(service: Service, told: threading.Event, monkeypatch: pytest.MonkeyPatch) -> Iterator[CallWatch]:
    monkeypatch.setattr(call_watch, "_LONGEST", SHORT)
    service.add_node("n1")
    watching = CallWatch(ConductorHost("c1", service.database, service.app.settings))
    watching.wait(told)  # SQLite has something new for it at first
    yield watching
    watching.close()


def waited(watch: CallWatch, told: threading.Event) -> float:
    begun = time.monotonic()
    watch.wait(told)
    return time.monotonic() - begun


def test_a_call_is_noticed_at_once(
    service: Service, watch: CallWatch, told: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL tells of it, which is not the watch's business."""
    if watch._dialect == "postgresql":
        pytest.skip("there is a listener for that")
    monkeypatch.setattr(call_watch, "_LONGEST", LONG)
    threading.Timer(0.1, lambda: write_down(service)).start()
    watch.wait(told)
    assert calls(service) == 1


def test_nothing_is_looked_for_while_nothing_happens(watch: CallWatch, told: threading.Event) -> None:
    assert waited(watch, told) >= SHORT


def test_somebody_tells(watch: CallWatch, told: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_watch, "_LONGEST", LONG)
    told.set()
    watch.wait(told)
    assert not told.is_set()


def test_a_connection_that_is_lost_is_made_again(
    watch: CallWatch, told: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    if watch._dialect == "postgresql":
        pytest.skip("it has no connection")
    monkeypatch.setattr(call_watch, "_LONGEST", LONG)
    watch._connection.close()
    watch.wait(told)
    monkeypatch.setattr(call_watch, "_LONGEST", SHORT)
    waited(watch, told)
    assert waited(watch, told) >= SHORT


def test_work_is_noticed_too(
    service: Service, watch: CallWatch, told: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As often as it is looked for, while nobody takes it; what a driver is called for is not work."""
    if watch._dialect == "postgresql":
        pytest.skip("there is a listener for that")
    noticed = threading.Event()
    watch.wait(told, noticed.set)
    assert not noticed.is_set()
    service.baremetal("PUT", "/nodes/n1/states/power", {"target": "power off"})
    if watch._dialect == "sqlite":  # which cannot know whether it is a call: it looks at once
        monkeypatch.setattr(call_watch, "_LONGEST", LONG)
    watch.wait(told, noticed.set)
    assert noticed.is_set()
