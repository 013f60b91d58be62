"""Which tests are named as the dearest, and that none fails for what it takes."""

import ast
import re
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests import conftest, counts, slowness, tiers
from tests.slowness import LIMITS, Meter, Slowness

NOTHING = dict.fromkeys(("seconds of a processor", *LIMITS), 0.0)


def summary(taken: dict[str, dict[str, float]]) -> list[str]:
    """The titles and lines at the end of a run whose tests took this."""
    plugin, lines = Slowness(), list[str]()
    for name, numbers in taken.items():
        report: Any = SimpleNamespace(nodeid=name, taken={**NOTHING, **numbers})
        plugin.pytest_runtest_logreport(report)
    reporter: Any = SimpleNamespace(section=lines.append, line=lines.append)
    plugin.pytest_terminal_summary(reporter)
    return lines


def test_the_dearest_are_named() -> None:
    processor = (0.01, *range(30))
    lines = summary({f"t{number}": {"seconds of a processor": float(number)} for number in processor})
    assert lines[:3] == ["dearest tests: seconds of a processor", "      29 t29", "      28 t28"]
    assert len(lines) == 1 + 25


def test_ten_of_each_are_named_and_what_is_above_a_limit_is_marked() -> None:
    lines = summary({f"t{number}": {"statements": number * 500.0} for number in range(13)})
    assert lines[0] == "dearest tests: statements (limit: 1,300)"
    assert (lines[1], lines[-1]) == ("   6,000 t12  above the limit", "   1,500 t3  above the limit")
    assert len(lines) == 1 + 10
    assert summary({"t": {"statements": 1300.0}})[1] == "   1,300 t"


def test_a_test_that_takes_much_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Meter, "counted", dict(NOTHING))
    plugin = Slowness()
    item, call, given = (SimpleNamespace(**parts) for parts in ({}, {"when": "teardown"}, {"outcome": "passed"}))
    plugin.pytest_runtest_setup(item)  # type: ignore[arg-type]
    Meter.counted.update(dict.fromkeys(LIMITS, 5_000.0))
    hook: Any = plugin.pytest_runtest_makereport(item, call)  # type: ignore[arg-type]
    next(hook)
    with pytest.raises(StopIteration) as end:
        hook.send(given)
    assert end.value.value is given
    assert given.taken["statements"] == 5_000
    assert given.outcome == "passed"


def options_read(module: ModuleType) -> set[str]:
    """The options of pytest that a module of the tests reads."""
    text = ast.unparse(ast.parse(Path(str(module.__file__)).read_text()))
    return {name for found in re.findall(r"\boption\.(\w+)|getoption\('(\w+)'", text) for name in found if name}


def test_no_judgement_needs_a_run_without_options() -> None:
    """What ``pytest`` judges, ``pytest --tier`` judges as well: nothing fails only for those who give no option."""
    assert {module.__name__: options_read(module) for module in (conftest, tiers, slowness, counts)} == {
        # how many examples properties have
        "tests.conftest": {"markexpr"},
        # which tests run
        "tests.tiers": {"tier", "markexpr", "keyword", "paths_changed"},
        # fails nothing
        "tests.slowness": set(),
        # fails a whole tier in which tests are missing
        "tests.counts": {"tier", "keyword", "paths_changed", "maxfail"},
    }


def test_each_tier_has_its_tests_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TEST_EVERY_DATABASE", "TEST_SHARE", "WRITE_COUNTS"):
        monkeypatch.delenv(name, raising=False)
    for given, servers, tier in [(None, "", "first"), ("first", "", "first"), ("ci", "postgresql: mariadb:", "ci")]:
        monkeypatch.setenv("TEST_DATABASE_URLS", servers)
        option = SimpleNamespace(tier=given, markexpr="", keyword="", paths_changed=None, maxfail=0)
        config: Any = SimpleNamespace(option=option, args_source=pytest.Config.ArgsSource.TESTPATHS)
        tiers.pytest_configure(config)
        assert counts._tier(config) == tier


def test_the_dearest_row_of_a_test_counts() -> None:
    whole, rows = Meter(), Meter()
    for meter, reports in ((whole, 1), (rows, 3)):
        meter.rows = reports
        meter.laps = [{**NOTHING, "requests": number} for number in (0, 10, 30, 35)]
    assert (whole.most()["requests"], rows.most()["requests"]) == (35, 20)
    assert whole.total() == rows.total()


def test_what_other_tests_use_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Meter, "counted", dict(NOTHING))
    meter = Meter()
    with meter.paused():
        Meter.counted["statements"] += 7
    Meter.counted["statements"] += 2
    assert meter.read()["statements"] == 2


def test_sleeps_are_counted() -> None:
    before = slowness.Meter.counted["seconds asleep"]
    time.sleep(0.01)
    assert slowness.Meter.counted["seconds asleep"] - before == pytest.approx(0.01)
