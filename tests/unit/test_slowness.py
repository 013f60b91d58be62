"""Which tests ``pytest`` leaves out, and what the others may take."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests import slowness
from tests.slowness import FIRST_TIER, Slowness, complaint_of

_SOURCE = pytest.Config.ArgsSource


@pytest.mark.parametrize(
    ("source", "given", "expected"),
    [
        (_SOURCE.TESTPATHS, "", "not slow and not ci"),
        (_SOURCE.TESTPATHS, "slow or not slow", "slow or not slow"),
        (_SOURCE.ARGS, "", ""),  # paths were given
        (_SOURCE.ARGS, "slow", "slow"),
    ],
)
def test_the_first_tier_runs_only_where_nothing_is_asked_for(source: Any, given: str, expected: str) -> None:
    config: Any = SimpleNamespace(args_source=source, option=SimpleNamespace(markexpr=given))
    Slowness().pytest_configure(config)
    assert config.option.markexpr == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tests/fault/test_claims.py::test_a", ["slow"]),
        ("tests/clients/nova/test_tokens.py::test_a[x]", ["slow"]),
        ("tests/clients/test_openstack_client.py::test_a", []),
        ("tests/functional/fuzz/test_every_route.py::test_a[x]", ["ci"]),
        ("tests/unit/test_rules.py::test_a", []),
    ],
)
def test_tiers_of_folders(name: str, expected: list[str]) -> None:
    marks: list[Any] = []
    item: Any = SimpleNamespace(nodeid=name, add_marker=marks.append)
    Slowness().pytest_collection_modifyitems([item])
    assert [mark.name for mark in marks] == expected


def test_those_that_waited_longest_are_named() -> None:
    plugin, lines = Slowness(), list[str]()
    for name, seconds in (("a", 10.5), ("b", 0.2), ("c", 12.0)):
        report: Any = SimpleNamespace(nodeid=name, waited=seconds)
        plugin.pytest_runtest_logreport(report)
    reporter: Any = SimpleNamespace(section=lambda title: None, line=lines.append)
    plugin.pytest_terminal_summary(reporter)
    assert lines == [" 12.0 s c", " 10.5 s a"]


@pytest.mark.parametrize(
    ("processor", "slept", "expected"),
    [(1.9, 0.3, None), (2.1, 0, "2.1 s of a processor"), (0, 0.31, "slept for 0.31 s"), (3, 3, "3.0 s of a processor")],
)
def test_what_the_first_tier_may_take(processor: float, slept: float, expected: str | None) -> None:
    complaint = complaint_of(processor, slept)
    assert (complaint is None) == (expected is None)
    assert expected is None or expected in str(complaint)


def test_on_a_slow_processor_a_test_may_take_more() -> None:
    assert slowness.times_slower() >= 1
    assert complaint_of(3.9, 0, 2.0) is None
    assert complaint_of(4.1, 0, 2.0) is not None


@pytest.mark.parametrize(
    ("expression", "name", "expected"),
    [
        (FIRST_TIER, "tests/unit/test_a.py::test_a", True),
        (FIRST_TIER, "tests/clients/test_openstack_client.py::test_a", False),
        ("not slow", "tests/unit/test_a.py::test_a", False),
    ],
)
def test_what_has_to_be_quick(expression: str, name: str, expected: bool) -> None:
    item: Any = SimpleNamespace(nodeid=name, config=SimpleNamespace(option=SimpleNamespace(markexpr=expression)))
    assert Slowness()._is_judged(item) == expected


def test_sleeps_are_counted() -> None:
    before = slowness._SLEEPS[0]
    time.sleep(0.01)
    assert slowness._SLEEPS[0] - before == pytest.approx(0.01)
