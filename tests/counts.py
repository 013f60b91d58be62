"""How many tests there are, by folder, and how many rows they have: none is lost by accident.

When a whole tier has run, no number may be less than that in ``tests/counts.json``: a row is a subtest, and one that
did not run, because the test ended before it, is missing. WRITE_COUNTS=1 writes the new numbers, so that a change that
adds or removes tests has them in its difference.
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
_DEPTH = 3


class Counts:
    """A plug-in for pytest, for the process that has the workers."""

    def __init__(self) -> None:
        self._items: set[str] = set()
        self._rows: Counter[str] = Counter()
        self._processor = 0.0
        self._complaints: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note each item once, and each of its rows."""
        self._items.add(report.nodeid)
        self._rows[report.nodeid] += isinstance(report, pytest.SubtestReport)

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
        tier = _tier(config)
        if tier is None or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        found = by_folder(Counter(self._items)) | by_folder(self._rows, " (rows)")
        known = json.loads(_FILE.read_text()) if _FILE.exists() else {}
        if "WRITE_COUNTS" in os.environ:
            _FILE.write_text(json.dumps({**known, tier: found}, indent=2, sort_keys=True) + "\n")
            return
        self._complaints = differences(known.get(tier, {}), found)
        if self._complaints:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the run took of a processor, and which folders have fewer tests."""
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


def by_folder(numbers: Mapping[str, int], suffix: str = "") -> dict[str, int]:
    """Return the sum of the numbers of tests in each folder, without zeros."""
    found: Counter[str] = Counter()
    for name, number in numbers.items():
        found["/".join(name.partition("::")[0].split("/")[:-1][:_DEPTH]) + suffix] += number
    return {folder: number for folder, number in found.items() if number}


def differences(known: dict[str, int], found: dict[str, int]) -> list[str]:
    """Return what is missing, in words. More than there were are not lost."""
    return [
        f"{folder}: {found.get(folder, 0)} instead of {number}"
        for folder, number in sorted(known.items())
        if found.get(folder, 0) < number
    ]
