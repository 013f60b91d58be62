"""The cost of tests, and limits for a test that do not depend on the machine.

Seconds of a processor are shown, and nothing fails for them. What is counted has limits, for each test or, where it has
subtests, for each row: sleeps that the test itself asks for, applications that it makes, requests, SQL statements.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from baremetal_sched.app import Application
from tests.tiers import MARKS

#: The most of each that a test takes: just above what 999 of 1,000 tests of the first tier take.
LIMITS = {"seconds asleep": 0.12, "applications": 2, "requests": 145, "statements": 1_300}
#: Tests that take more of one, by name, and how much: those of hypothesis take another number each time. The list may
#: only get shorter.
EXCEPTIONS: dict[str, dict[str, float]] = {
    "tests/database/test_built_once.py::test_the_second_database_is_like_the_first": {"applications": 3},
    "tests/database/test_candidate_properties.py::test_both_searches_agree_where_every_provider_stands_alone": {
        "statements": 3_000
    },
    "tests/database/test_candidate_properties.py::test_the_search_finds_what_there_is": {"statements": 5_000},
    "tests/unit/test_slots.py::test_slots_are_neither_lost_nor_made": {"seconds asleep": 0.3},
}

_SHOWN = 25
_LEAST_SHOWN = 0.1
_PROCESSOR = "seconds of a processor"


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
        self._taken: dict[str, float] = {}
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
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
        """Take a reading. The last report has the total, and fails if a limit of the first tier is passed."""
        report = yield
        meter = self._meter
        if meter is None:
            return report
        meter.laps.append(meter.read())
        meter.rows += call.when == "call"
        if call.when == "teardown":
            report.processor = meter.total()[_PROCESSOR]
            complaint = complaint_of(item.nodeid, meter.most()) if self._is_judged(item) else None
            if complaint and report.passed:
                report.outcome, report.longrepr = "failed", complaint
        return report

    def _is_judged(self, item: pytest.Item) -> bool:
        """Return whether the test has limits: it is of the first tier, and runs there."""
        return bool(item.config.option.markexpr == MARKS["first"])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what tests took. Reports come from other processes."""
        if hasattr(report, "processor"):
            self._taken[report.nodeid] = report.processor

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the dearest tests."""
        taken = [pair for pair in self._taken.items() if pair[1] >= _LEAST_SHOWN]
        dearest = sorted(taken, key=lambda pair: -pair[1])[:_SHOWN]
        if dearest:
            terminalreporter.section(f"dearest tests ({_PROCESSOR})")
        for name, seconds in dearest:
            terminalreporter.line(f"{seconds:5.1f} s {name}")


def complaint_of(name: str, taken: Mapping[str, float]) -> str | None:
    """Return why a test, or a row of it, takes too much, if it does."""
    limits = LIMITS | EXCEPTIONS.get(name.partition("[")[0], {})
    for what, most in limits.items():
        if taken[what] > most:
            return (
                f"It took {taken[what]:g} {what}, and {most:g} are allowed: make it cheaper, split it into rows or "
                "tests, inject a clock, or move it to the second tier (tests/tiers.py)"
            )
    return None


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
