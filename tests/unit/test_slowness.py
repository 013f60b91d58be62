"""The limits of a test, whatever the machine is, and which tests are named."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests import slowness
from tests.slowness import EXCEPTIONS, LIMITS, Meter, Slowness, complaint_of
from tests.tiers import MARKS

NOTHING = dict.fromkeys(LIMITS, 0.0)


def test_the_dearest_are_named() -> None:
    plugin, lines = Slowness(), list[str]()
    for number in (0.01, *range(30)):
        report: Any = SimpleNamespace(nodeid=f"t{number}", processor=float(number))
        plugin.pytest_runtest_logreport(report)
    reporter: Any = SimpleNamespace(section=lambda title: None, line=lines.append)
    plugin.pytest_terminal_summary(reporter)
    assert lines[:2] == [" 29.0 s t29", " 28.0 s t28"]
    assert len(lines) == 25


def test_limits_are_of_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert complaint_of("a", {**LIMITS, "seconds of a processor": 1e9}) is None
    for what, most in LIMITS.items():
        complaint = complaint_of("a", {**NOTHING, what: most + 1})
        assert complaint is not None
        assert f"{most + 1:g} {what}, and {most:g} are allowed" in complaint
    monkeypatch.setitem(EXCEPTIONS, "a", {"requests": 500})
    assert complaint_of("a[x]", {**NOTHING, "requests": 500}) is None
    assert complaint_of("a", {**NOTHING, "requests": 501}) is not None


def test_each_row_has_the_limits_of_a_test() -> None:
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


@pytest.mark.parametrize(("marks", "expected"), [(MARKS["first"], True), (MARKS["ci"], False), ("", False)])
def test_the_first_tier_has_limits(marks: str, expected: bool) -> None:
    item: Any = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(markexpr=marks)))
    assert Slowness()._is_judged(item) == expected


def test_sleeps_are_counted() -> None:
    before = slowness.Meter.counted["seconds asleep"]
    time.sleep(0.01)
    assert slowness.Meter.counted["seconds asleep"] - before == pytest.approx(0.01)
