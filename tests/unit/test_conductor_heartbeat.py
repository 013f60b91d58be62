"""A heart notices when it was interrupted; until it has beaten for a time-out since, others may only seem dead."""

import threading
from collections.abc import Iterator

import pytest

from baremetal_sched.conductor import host
from baremetal_sched.conductor.host import ConductorHeartbeat

TIMEOUT = 10.0


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


class Waits(threading.Event):
    """A stop that never comes: instead of waiting, ``steps`` say what the clock shows next."""

    def __init__(self, clock: Clock, steps: Iterator[float]) -> None:
        super().__init__()
        self._clock = clock
        self._steps = steps

    def wait(self, timeout: float | None = None) -> bool:
        later = next(self._steps, None)
        if later is None:
            return True
        self._clock.now = later
        return False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(host, "time", made)
    return made


def steadiness(clock: Clock, *beats: float, works: bool = True) -> list[bool]:
    """Whether it was steady just before each of the beats."""
    seen: list[bool] = []
    beating = ConductorHeartbeat(lambda: works, interval=1, retry=0.2, timeout=TIMEOUT)

    def steps() -> Iterator[float]:
        for beat in beats:
            clock.now = beat
            seen.append(beating.is_uninterrupted())
            yield beat

    beating.run(Waits(clock, steps()))
    return seen


def test_who_has_just_started_waits_for_the_heartbeats_of_others(clock: Clock) -> None:
    beats = [100.0 + second for second in range(1, 13)]
    assert steadiness(clock, *beats) == [beat > 100 + TIMEOUT for beat in beats]


def test_who_was_interrupted_waits_again(clock: Clock) -> None:
    before = [100.0 + second for second in range(1, 13)]
    after = [130.0 + second for second in range(12)]
    assert steadiness(clock, *before, *after)[len(before) :] == [beat > 130 + TIMEOUT for beat in after]


def test_who_cannot_beat_is_not_steady(clock: Clock) -> None:
    assert not any(steadiness(clock, *(100.0 + second for second in range(1, 30)), works=False))
