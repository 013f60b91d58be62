"""The tiers of tests, and what a test of the first may take.

``pytest`` without paths is the first tier. ``.ci/run`` also runs tests with the mark ``ci``, and those in
``databases.ON_SERVERS`` on servers; ``.ci/extended`` runs what has the mark ``slow``. Folders whose tests start
processes or compute for long are slow as a whole, but for the files and tests that are named here.
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FIRST_TIER = "not slow and not ci"

_SLOW = ("tests/agents/", "tests/clients/", "tests/emulators/", "tests/fault/", "tests/functional/fuzz/")
#: Of these folders, what is in the first tier: it shows that a real client works.
_NOT_SLOW = (
    "tests/clients/test_openstack_client.py",
    "tests/fault/test_claim_journal.py",
    "tests/fault/test_journal.py",
    "tests/fault/test_lifetimes.py",
    "tests/fault/test_waiting_journal.py",
)
#: Of these folders, what is in the second.
_IN_CI = (
    "tests/clients/osc/test_guide.py",
    "tests/clients/test_boot_story.py::test_a_flavor_and_an_image_choose_the_machine",
    "tests/clients/test_gunicorn.py::test_requests_under_way_are_finished",
    "tests/clients/test_images.py::test_import_with_the_library",
    "tests/clients/test_images.py::test_members_tags_and_pages_with_the_library",
    "tests/clients/test_osc_placement.py::test_allocations",
    "tests/clients/test_osc_placement.py::test_candidates",
    "tests/clients/test_parallel_claims.py::test_parallel_claims[postgresql]",
    "tests/clients/test_provisioning_commands.py::test_life_of_a_machine",
    "tests/clients/test_readme.py",
    "tests/clients/test_start.py",
    "tests/clients/test_waiting_allocations.py::test_the_command_gets_the_machine_that_is_undeployed",
    "tests/fault/test_claims.py::test_no_machine_is_held_twice_and_nothing_is_lost[postgresql]",
    "tests/fault/test_conductors.py::test_nothing_is_stuck_doubled_or_lost[mariadb]",
    "tests/fault/test_releases.py::test_an_upgrade_that_needs_no_stop[postgresql]",
    "tests/fault/test_waiting_claims.py::test_machines_go_to_those_who_wait_whatever_is_killed[postgresql]",
    "tests/functional/fuzz/test_every_route.py",
)

#: Seconds of a processor that a test of the first tier may take, on one that adds up a million numbers in
#: ``_MILLION`` seconds; on a slower one, as many times more. Child processes that have ended are included.
_MOST_PROCESSOR = 2.0
_MILLION = 0.04
#: Seconds for which it may sleep itself, in all threads together: clocks and intervals are injected.
_MOST_SLEEP = 0.3
#: The number of waits that are shown, and the shortest one.
_SHOWN, _SHORTEST = 25, 0.3

_SLEEPS = [0.0]


class _Meter:
    """What a test has taken since it began."""

    def __init__(self) -> None:
        self._began = self._now()
        self._shared, self._is_paused = [0.0, 0.0, 0.0], False

    @staticmethod
    def _now() -> list[float]:
        return [processor_seconds(), time.perf_counter(), _SLEEPS[0]]

    def read(self) -> list[float]:
        """Return seconds of a processor, of a clock, and of ``time.sleep``, without what other tests use, too."""
        return [now - began - shared for now, began, shared in zip(self._now(), self._began, self._shared, strict=True)]

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Do not count what happens meanwhile."""
        before = self.read()
        yield
        self._shared = [
            shared + now - then for shared, now, then in zip(self._shared, self.read(), before, strict=True)
        ]


class Slowness:
    """A plug-in for pytest."""

    def __init__(self) -> None:
        self._waits: dict[str, float] = {}
        self._meter: _Meter | None = None
        self._slower = 1.0

    def pytest_sessionstart(self) -> None:
        """Measure the processor."""
        self._slower = times_slower()

    def pytest_configure(self, config: pytest.Config) -> None:
        """Run the first tier, unless it was said which tests are to run."""
        if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
            config.option.markexpr = FIRST_TIER

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark the tests of slow folders."""
        for item in items:
            if item.nodeid.startswith(_SLOW) and not item.nodeid.startswith(_NOT_SLOW):
                item.add_marker(pytest.mark.ci if item.nodeid.startswith(_IN_CI) else pytest.mark.slow)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin to measure."""
        self._meter = _Meter()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
        """Do not count fixtures that tests share for the test that happens to be the first."""
        if fixturedef.scope == "function" or self._meter is None:
            return (yield)
        with self._meter.pause():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
        """Put the wait into the last report of a test, which fails if it took too much for the first tier.

        Reports come from other processes.
        """
        report = yield
        if call.when == "teardown" and self._meter is not None:
            processor, clock, slept = self._meter.read()
            report.waited = clock - processor
            if self._is_judged(item) and (complaint := complaint_of(processor, slept, self._slower)) and report.passed:
                report.outcome, report.longrepr = "failed", complaint
        return report

    def _is_judged(self, item: pytest.Item) -> bool:
        """Return whether the test has to be a quick one. Real clients are not; beside other work nothing is."""
        return item.config.option.markexpr == FIRST_TIER and not item.nodeid.startswith(_SLOW)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember how long tests waited."""
        if hasattr(report, "waited"):
            self._waits[report.nodeid] = report.waited

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests that waited longest: nothing fails for it."""
        waits = [pair for pair in self._waits.items() if pair[1] >= _SHORTEST]
        longest = sorted(waits, key=lambda pair: -pair[1])[:_SHOWN]
        if longest:
            terminalreporter.section("longest waits (seconds of a clock without those of a processor)")
        for name, seconds in longest:
            terminalreporter.line(f"{seconds:5.1f} s {name}")


def times_slower() -> float:
    """Return how many times slower than usual this processor is now; at least 1."""
    best = math.inf
    for _ in range(3):
        began = time.process_time()
        sum(number + 1 for number in range(1_000_000))
        best = min(best, time.process_time() - began)
    return max(1.0, best / _MILLION)


def complaint_of(processor: float, slept: float, slower: float = 1.0) -> str | None:
    """Return why a test takes too much for the first tier, if it does. ``slower``: how slow the processor is."""
    advice = "make it cheaper, or give it the mark ci or slow (see tests/slowness.py)"
    most = _MOST_PROCESSOR * slower
    if processor > most:
        return f"It took {processor:.1f} s of a processor, and {most:.1f} are allowed: {advice}"
    if slept > _MOST_SLEEP:
        return f"It slept for {slept:.2f} s, and {_MOST_SLEEP:g} are allowed: inject a clock, or {advice}"
    return None


def count_sleeps() -> Iterator[None]:
    """Add up what tests ask ``time.sleep`` for, in any thread.

    Pauses of the service are left out: how often it tries again depends on what else the machine has to do.
    """
    sleep = time.sleep

    def counted(seconds: float) -> None:
        if sys._getframe(1).f_globals.get("__name__", "").startswith("tests."):
            _SLEEPS[0] += seconds
        sleep(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", counted)
        yield


def processor_seconds() -> float:
    """Return what this process and its children that have ended have taken of processors."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
