"""How many tests and rows each file has: none is lost by accident.

When the second tier has run whole, on both servers, no file may have fewer than in ``tests/counts.json``: a row is a
subtest, and one that did not run, because the test ended before it, is missing. WRITE_COUNTS=1 writes the numbers of
the run. A line is a file, so two branches disagree only where both change the tests of one file.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.slowness import processor_seconds

_FILE = Path(__file__).with_name("counts.json")


class Counts:
    """A plug-in for pytest, for the process that has the workers."""

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()
        self._processor = 0.0
        self._complaints: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note each item once, and each of its rows."""
        self._found[report.nodeid] += isinstance(report, pytest.SubtestReport)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Add what a worker has taken of a processor."""
        self._processor += getattr(node, "workeroutput", {}).get("processor_seconds", 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Compare the numbers, if a whole tier has run; fewer are a failure."""
        config = session.config
        if hasattr(config, "workeroutput"):
            config.workeroutput["processor_seconds"] = processor_seconds()
            return
        own = os.times()
        self._processor += own.user + own.system
        if _tier(config) != "ci" or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        found = by_file(self._found)
        if "WRITE_COUNTS" in os.environ:
            _FILE.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
            return
        self._complaints = differences(json.loads(_FILE.read_text()), found)
        if self._complaints:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the run took of a processor, and which files have fewer tests."""
        terminalreporter.line(f"{self._processor:.0f} s of a processor")
        if self._complaints:
            terminalreporter.section("Numbers of tests: WRITE_COUNTS=1 writes those of this run")
        for complaint in self._complaints:
            terminalreporter.line(complaint)


def _tier(config: pytest.Config) -> str | None:
    """Return the tier that ran, if it was a whole one, with the databases that it has."""
    option = config.option
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS or option.keyword or option.paths_changed:
        return None
    has_servers = len(os.environ.get("TEST_DATABASE_URLS", "").split()) == 2
    is_whole = not option.maxfail and not {"TEST_EVERY_DATABASE", "TEST_SHARE"} & os.environ.keys()
    tier: str | None = option.tier
    return tier if (tier == "ci") == has_servers and is_whole else None


def by_file(rows: Mapping[str, int]) -> dict[str, int]:
    """Return the number of tests and rows of each file, given the number of rows of each test."""
    found: Counter[str] = Counter()
    for name, number in rows.items():
        found[name.partition("::")[0]] += 1 + number
    return dict(found)


def differences(known: dict[str, int], found: dict[str, int]) -> list[str]:
    """Return what is missing, in words. More than there were are not lost."""
    return [
        f"{file}: {found.get(file, 0)} instead of {number}"
        for file, number in sorted(known.items())
        if found.get(file, 0) < number
    ]
