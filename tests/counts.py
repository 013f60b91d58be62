"""How many tests there are, by folder: no test is lost by accident.

When a whole tier has run, the number of its items is compared with ``tests/counts.json``. A change that adds or removes
tests writes the new numbers with WRITE_COUNTS=1, so that they are in its difference.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.slowness import FIRST_TIER, processor_seconds

_FILE = Path(__file__).with_name("counts.json")
_DEPTH = 3
#: Marks that select a tier.
_TIERS = {FIRST_TIER: "pytest", "not slow": "ci"}


class Counts:
    """A plug-in for pytest, for the process that has the workers."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._processor = 0.0
        self._complaints: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note each item once."""
        self._seen.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Add what a worker has taken of a processor."""
        self._processor += getattr(node, "workeroutput", {}).get("processor_seconds", 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Compare the numbers, if a whole tier has run; a difference is a failure."""
        config = session.config
        if hasattr(config, "workeroutput"):
            config.workeroutput["processor_seconds"] = processor_seconds()
            return
        own = os.times()
        self._processor += own.user + own.system
        tier = _tier(config)
        if tier is None or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        found = by_folder(self._seen)
        known = json.loads(_FILE.read_text()) if _FILE.exists() else {}
        if "WRITE_COUNTS" in os.environ:
            _FILE.write_text(json.dumps({**known, tier: found}, indent=2, sort_keys=True) + "\n")
            return
        self._complaints = differences(known.get(tier, {}), found)
        if self._complaints:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what the run took of a processor, and which folders have other numbers of tests."""
        terminalreporter.line(f"{self._processor:.0f} s of a processor")
        if self._complaints:
            terminalreporter.section("Numbers of tests: WRITE_COUNTS=1 writes those of this run")
        for complaint in self._complaints:
            terminalreporter.line(complaint)


def _tier(config: pytest.Config) -> str | None:
    """Return the tier that ran, if it was a whole one, with the databases that it has."""
    option = config.option
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS or option.keyword or option.maxfail:
        return None
    tier = _TIERS.get(option.markexpr)
    has_servers = len(os.environ.get("TEST_DATABASE_URLS", "").split()) == 2
    is_whole = not {"TEST_EVERY_DATABASE", "TEST_SHARE"} & os.environ.keys()
    return tier if (tier == "ci") == has_servers and is_whole else None


def by_folder(names: set[str]) -> dict[str, int]:
    """Return the number of items in each folder."""
    return dict(Counter("/".join(name.partition("::")[0].split("/")[:-1][:_DEPTH]) for name in names))


def differences(known: dict[str, int], found: dict[str, int]) -> list[str]:
    """Return what differs, in words."""
    folders = sorted(known.keys() | found.keys())
    return [
        f"{folder}: {found.get(folder, 0)} instead of {known.get(folder, 0)}"
        for folder in folders
        if found.get(folder, 0) != known.get(folder, 0)
    ]
