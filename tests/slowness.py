"""Which tests are slow: ``pytest`` without paths leaves them out, and says which others should have the mark.

Folders whose tests start processes or compute for long are slow as a whole, but for a few files, such as one that shows
that the real client works.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest

_SLOW = ("tests/clients/", "tests/emulators/", "tests/fault/", "tests/functional/fuzz/")
_NOT_SLOW = (
    "tests/clients/test_openstack_client.py",
    "tests/fault/test_claim_journal.py",
    "tests/fault/test_journal.py",
)

#: Seconds of a processor that a test without the mark may take; child processes that have ended are included. They are
#: not those of a clock, as the machine may have other things to do.
_MUCH = 10.0

_BEGUN = pytest.StashKey[float]()


class Slowness:
    """A plug-in for pytest."""

    def __init__(self) -> None:
        self._unmarked: dict[str, float] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        """Leave slow tests out, unless it was said which tests are to run."""
        if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
            config.option.markexpr = "not slow"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark the tests of slow folders."""
        for item in items:
            if item.nodeid.startswith(_SLOW) and not item.nodeid.startswith(_NOT_SLOW):
                item.add_marker(pytest.mark.slow)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Look at the processor's clock."""
        item.stash[_BEGUN] = _processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
        """Put into the last report of a test without the mark what it took: reports come from other processes."""
        report = yield
        if call.when == "teardown" and item.get_closest_marker("slow") is None:
            report.processor_seconds = _processor_seconds() - item.stash[_BEGUN]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember tests that took much."""
        seconds = getattr(report, "processor_seconds", 0.0)
        if seconds > _MUCH:
            self._unmarked[report.nodeid] = seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests that took much: nothing fails for it."""
        if self._unmarked:
            terminalreporter.section(f"more than {_MUCH:g} s of a processor, and not marked as slow")
        for name, seconds in sorted(self._unmarked.items(), key=lambda pair: -pair[1]):
            terminalreporter.line(f"{seconds:5.1f} s {name}")


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
