"""Which tests ``pytest`` leaves out, and of which it says that they should have the mark ``slow``."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.slowness import Slowness

_SOURCE = pytest.Config.ArgsSource


@pytest.mark.parametrize(
    ("source", "given", "expected"),
    [
        (_SOURCE.TESTPATHS, "", "not slow"),
        (_SOURCE.TESTPATHS, "slow or not slow", "slow or not slow"),
        (_SOURCE.ARGS, "", ""),  # paths were given
        (_SOURCE.ARGS, "slow", "slow"),
    ],
)
def test_slow_tests_are_left_out_only_where_nothing_is_asked_for(source: Any, given: str, expected: str) -> None:
    config: Any = SimpleNamespace(args_source=source, option=SimpleNamespace(markexpr=given))
    Slowness().pytest_configure(config)
    assert config.option.markexpr == expected


@pytest.mark.parametrize(
    ("name", "is_slow"),
    [
        ("tests/fault/test_claims.py::test_a", True),
        ("tests/clients/nova/test_tokens.py::test_a[x]", True),
        ("tests/clients/test_openstack_client.py::test_a", False),
        ("tests/functional/fuzz/test_every_route.py::test_a[x]", True),
        ("tests/unit/test_rules.py::test_a", False),
    ],
)
def test_folders_are_slow(name: str, is_slow: bool) -> None:
    marks: list[Any] = []
    item: Any = SimpleNamespace(nodeid=name, add_marker=marks.append)
    Slowness().pytest_collection_modifyitems([item])
    assert [mark.name for mark in marks] == (["slow"] if is_slow else [])


def test_those_that_take_much_are_named() -> None:
    slowness, lines = Slowness(), list[str]()
    for name, seconds in (("a", 10.5), ("b", 1.0), ("c", 12.0)):
        report: Any = SimpleNamespace(nodeid=name, processor_seconds=seconds)
        slowness.pytest_runtest_logreport(report)
    reporter: Any = SimpleNamespace(section=lambda title: None, line=lines.append)
    slowness.pytest_terminal_summary(reporter)
    assert lines == [" 12.0 s c", " 10.5 s a"]
