"""Time that goes by at once."""

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest


class Clock:
    """Stands for ``time`` in a module: its clocks are those of the machine, put forward. Sleeping puts them forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def go_on(self, seconds: float) -> None:
        """Let that time go by."""
        self._ahead += seconds

    sleep = go_on

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def time(self) -> float:
        return time.time() + self._ahead


class StoppedClock(Clock):
    """One that does not run by itself."""

    def monotonic(self) -> float:
        return self._ahead


class ClockWithTimers(Clock):
    """As well, timers that are started by it end when it is put forward as far as they wait, and not by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self._timers: list[_Timer] = []

    def replace(self, monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
        """Let a module use this clock, and its timers."""
        monkeypatch.setattr(module, "time", self)
        monkeypatch.setattr(module, "threading", SimpleNamespace(Timer=self._start, Thread=threading.Thread))

    def _start(self, seconds: float, function: Callable[[], object]) -> "_Timer":
        self._timers.append(_Timer(self.monotonic() + seconds, function))
        return self._timers[-1]

    def go_on(self, seconds: float) -> None:
        super().go_on(seconds)
        for timer in self._timers:
            timer.look(self.monotonic())


class _Timer:
    daemon = False

    def __init__(self, due: float, function: Callable[[], object]) -> None:
        self._due, self._function = due, function
        self._is_started = False

    def start(self) -> None:
        self._is_started = True

    def cancel(self) -> None:
        self._is_started = False

    def look(self, now: float) -> None:
        if self._is_started and now >= self._due:
            self._is_started = False
            self._function()
