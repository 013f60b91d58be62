"""How the demo waits for its service: as long as the processes live, and it says what it waits for."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from baremetal_sched.cli.demo import client, service
from baremetal_sched.cli.demo.client import DemoAnswer, DemoClient, DemoFailed
from baremetal_sched.cli.demo.service import Process, Service


class Clock:
    """A clock that goes on only while its user sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Popen:
    """A process that ends when the clock says so."""

    def __init__(self, clock: Clock, ends_at: float = float("inf")) -> None:
        self._clock, self._ends_at = clock, ends_at

    def poll(self) -> int | None:
        return 3 if self._clock.now >= self._ends_at else None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(service, "time", clock)
    monkeypatch.setattr(client, "time", clock)
    return clock


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def make(tmp_path: Path, clock: Clock, said: list[str]) -> Callable[..., Service]:
    """Make a service with one process."""

    def make(log: str = "", ends_at: float = float("inf")) -> Service:
        (tmp_path / "serve.log").write_text(log)
        process = Process("serve", Popen(clock, ends_at), tmp_path / "serve.out", tmp_path / "serve.log")  # type: ignore[arg-type]
        return Service(tmp_path, say=said.append, processes=[process])

    return make


def test_a_start_that_takes_long_is_waited_for_and_said(
    make: Callable[..., Service], clock: Clock, said: list[str]
) -> None:
    started = make()._await(lambda: clock.now > 250, "serve")
    assert started
    assert [line.split(",")[0] for line in said] == ["Waiting for serve to start"] * 24
    assert "for 10 seconds" in said[0]
    assert "for 240 seconds" in said[-1]


def test_a_quick_start_says_nothing(make: Callable[..., Service], clock: Clock, said: list[str]) -> None:
    assert make()._await(lambda: clock.now > 5, "serve")
    assert not said


def test_a_process_that_ends_is_said_at_once(make: Callable[..., Service], clock: Clock, said: list[str]) -> None:
    running = make("Cannot listen on 127.0.0.1:6385: Address already in use.", ends_at=2)
    with pytest.raises(DemoFailed, match=r"(?s)serve ended with status 3.*Address already in use"):
        running._await(lambda: False, "serve")
    assert clock.now == pytest.approx(2, abs=0.2)
    assert not said


def test_a_start_is_given_up_after_five_minutes(make: Callable[..., Service], clock: Clock) -> None:
    with pytest.raises(DemoFailed, match=r"Waited 300 seconds for serve, which had not ended\. The machine may be"):
        make()._await(lambda: False, "serve")
    assert clock.now == pytest.approx(300, abs=0.2)


def test_what_is_ready_when_it_ends_has_started(make: Callable[..., Service]) -> None:
    assert make(ends_at=0)._await(lambda: SimpleNamespace(), "serve")


def test_a_request_is_repeated_while_the_service_is_too_busy(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    free_at = 20.0
    monkeypatch.setattr(
        DemoClient, "_send_once", lambda *given: DemoAnswer(503 if clock.now < free_at else 202, {"sent": given[1:3]})
    )
    demo = DemoClient("http://demo.invalid")
    answer = demo.baremetal("PUT", "/nodes/n1/states/provision")
    assert (answer.status, answer.body["sent"]) == (202, ("PUT", "/baremetal/v1/nodes/n1/states/provision"))
    free_at = 1000.0
    assert demo.baremetal("PUT", "/nodes/n1/states/provision").status == 503
    assert clock.now < 400
