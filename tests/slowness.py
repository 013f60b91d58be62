"""The cost of tests: what is dear is named at the end of a run, and fails nothing.

Seconds of a processor are shown, and what is counted for each test or, where it has subtests, for its dearest row:
sleeps that the test itself asks for, applications that it makes, requests, SQL statements. Even the number of
statements is not the same on each machine.
"""

import os
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from baremetal_sched.app import Application

#: What 999 of 1,000 tests of the first tier stay below. A test that takes more is marked: make it cheaper, split it
#: into rows or tests, inject a clock, or move it to the second tier (tests/README.md).
LIMITS = {"seconds asleep": 0.12, "applications": 2, "requests": 145, "statements": 1_300}

#: How many tests are named, and the least that is worth a line.
_PROCESSOR = "seconds of a processor"
_SHOWN = {_PROCESSOR: 25, **dict.fromkeys(LIMITS, 10)}
_LEAST_SHOWN = {_PROCESSOR: 0.1}


class Meter:
    """The processor time of this process so far."""

    counted: dict[str, float] = dict.fromkeys(LIMITS, 0)

    def __init__(self) -> None:
        self._shared = dict.fromkeys((_PROCESSOR, *LIMITS), 0.0)
        #: Readings at the start and at each report of the test: a row of it has one of its own.
        self.laps = [self.read()]
        self.rows = 0

    def read(self) -> dict[str, float]:
        """Return the figures without what other tests use, too."""
        now = {_PROCESSOR: processor_seconds(), **self.counted}
        return {name: number - self._shared[name] for name, number in now.items()}

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count what happens meanwhile."""
        before = self.read()
        yield
        for name, number in self.read().items():
            self._shared[name] += number - before[name]

    def total(self) -> dict[str, float]:
        """Return what the test has taken in all."""
        return _difference(self.laps[0], self.laps[-1])

    def most(self) -> dict[str, float]:
        """Return what the test has taken, or the most that one of its rows has."""
        if self.rows < 2:
            return self.total()
        parts = [_difference(*pair) for pair in zip(self.laps, self.laps[1:], strict=False)]
        return {name: max(part[name] for part in parts) for name in parts[0]}


class Slowness:
    """A plug-in for pytest."""

    def __init__(self) -> None:
        self._taken: dict[str, Mapping[str, float]] = {}
        self._meter: Meter | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin to measure."""
        self._meter = Meter()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
        """Do not count fixtures that tests share for the test that happens to be the first."""
        if fixturedef.scope == "function" or self._meter is None:
            return (yield)
        with self._meter.paused():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Take a reading. The last report of a test has what it took."""
        report = yield
        meter = self._meter
        if meter is None:
            return report
        meter.laps.append(meter.read())
        meter.rows += call.when == "call"
        if call.when == "teardown":
            report.taken = {**meter.most(), _PROCESSOR: meter.total()[_PROCESSOR]}
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what tests took. Reports come from other processes."""
        if hasattr(report, "taken"):
            self._taken[report.nodeid] = report.taken

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the dearest tests, and mark those above a limit."""
        for what, most in _SHOWN.items():
            limit = LIMITS.get(what)
            taken = [(each[what], name) for name, each in self._taken.items() if each[what] > _LEAST_SHOWN.get(what, 0)]
            if taken:
                title = f"dearest tests: {what}"
                terminalreporter.section(title if limit is None else f"{title} (limit: {limit:,})")
            for number, name in sorted(taken, reverse=True)[:most]:
                mark = "  above the limit" if limit is not None and number > limit else ""
                terminalreporter.line(f"{round(number, 2):8,.6g} {name}{mark}")


def counting() -> Iterator[None]:
    """Count what tests take while this generator is suspended.

    Sleeps are those of the tests themselves, in any thread: how often the service tries again depends on what else the
    machine does.
    """
    counted, sleep, make, call = Meter.counted, time.sleep, Application.__init__, Application.__call__

    def sleeping(seconds: float) -> None:
        if sys._getframe(1).f_globals.get("__name__", "").startswith("tests."):
            counted["seconds asleep"] += seconds
        sleep(seconds)

    def making(app: Application, *parts: Any) -> None:
        counted["applications"] += 1
        make(app, *parts)

    def calling(app: Application, environ: Any, start_response: Any) -> Any:
        counted["requests"] += 1
        return call(app, environ, start_response)

    def executing(*_: Any) -> None:
        counted["statements"] += 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", sleeping)
        patch.setattr(Application, "__init__", making)
        patch.setattr(Application, "__call__", calling)
        event.listen(Engine, "before_cursor_execute", executing)
        yield
        event.remove(Engine, "before_cursor_execute", executing)


def processor_seconds() -> float:
    """Return what this process and its children that have ended have taken of processors."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    return {name: after[name] - before[name] for name in before}
