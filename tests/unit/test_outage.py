"""A conductor without its database: what it logs, and how often it tries."""

from unittest.mock import Mock, call

import pytest

from baremetal_sched.conductor import outage
from baremetal_sched.conductor.outage import Outage, pause_after
from baremetal_sched.errors import DatabaseAway


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Mock:
    log = Mock()
    monkeypatch.setattr(outage, "log", log)
    return log


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_line_when_it_begins_and_one_when_it_is_over(log: Mock, clock: Clock) -> None:
    one = Outage("c1", 0.1, clock)
    one.works("work")
    one.failed("work", DatabaseAway())
    for _ in range(100):
        one.failed("work", "something else")
        one.failed("heartbeat", "something else")
        one.failed(None, "something else")
    clock.now += 30
    one.works("work")
    assert log.info.call_args_list == []  # nothing can be written yet
    one.works("heartbeat")
    one.works("work")
    assert log.warning.call_args_list == [call("conductor waits", conductor="c1", reason=str(DatabaseAway()))]
    assert log.info.call_args_list == [call("conductor continues", conductor="c1", waited_seconds=30)]
    one.failed("work", "again")
    assert len(log.warning.call_args_list) == 2


def test_who_will_not_be_back_soon_does_not_prolong_it(log: Mock, clock: Clock) -> None:
    one = Outage("c1", 0.1, clock)
    one.failed(None, "away")
    one.works("work")
    assert (log.warning.call_count, log.info.call_count) == (1, 1)


def test_pauses_grow(log: Mock, clock: Clock) -> None:
    one = Outage("c1", 0.1, clock)
    assert one.pause == 0.1
    one.failed("work", "away")
    attempts, pauses = 0, [one.pause]
    while clock.now < 130:
        clock.now += pauses[-1]
        attempts += 1
        pauses.append(one.pause)
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (0.1, 2.0)
    assert attempts < 30
    one.works("work")
    assert one.pause == 0.1


def test_pauses_of_one_attempt_after_the_other() -> None:
    assert [pause_after(failures, 0.1) for failures in (1, 2, 3, 4, 5, 6, 1000)] == [0.1, 0.2, 0.4, 0.8, 1.6, 2, 2]
    assert pause_after(1000, 5) == 5
