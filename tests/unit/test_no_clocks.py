"""No test of the first two tiers says how long anything may take: that depends on the machine.

Whatever comes from a clock, also by way of a variable or of a function of the module, may be on the larger side of a
comparison that is asserted: at least as much time has gone by. It may not be on the smaller one.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import tiers

TESTS = Path(__file__).parents[1]
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
CLOCKS |= {f"{name}_ns" for name in CLOCKS}


def test_no_test_knows_how_fast_the_machine_is() -> None:
    found = [f"{path.relative_to(TESTS)}:{line}" for path in files() for line in limits_in(path.read_text())]
    assert found == [], "say what must not happen instead (api-ref/contributing/luck.rst)"


def files() -> Iterator[Path]:
    """The modules with tests of the first two tiers, and what they use."""
    paths = sorted(TESTS.rglob("*.py"))
    return (path for path in paths if tiers.first_tier_of(path.relative_to(TESTS.parent).as_posix()) != "slow")


def limits_in(source: str) -> list[int]:
    """The lines in which a module asserts that a time is not too long."""
    if "\npytestmark = pytest.mark.slow\n" in source or not any(f"time.{clock}" in source for clock in CLOCKS):
        return []
    module = ast.parse(source)
    helpers = {
        each.name
        for each in ast.walk(module)
        if isinstance(each, ast.FunctionDef)
        for back in ast.walk(each)
        if isinstance(back, ast.Return) and back.value is not None and _Times(set(), set()).has(back.value)
    }
    found: list[int] = []
    for statement in module.body:
        _look(statement, helpers, set(), found)
    return found


def _look(node: ast.AST, helpers: set[str], names: set[str], found: list[int]) -> None:
    """Look into a function, or a statement outside of one. ``names`` are those of the functions around it."""
    if _is_slow(node):
        return
    inner = list(_within(node))
    times = _Times(helpers, names | {each for one in inner for each in _assigned(one, _Times(helpers, set()))})
    while more := {each for one in inner for each in _assigned(one, times)} - times.names:
        times = _Times(helpers, times.names | more)
    found += [one.lineno for one in inner if isinstance(one, ast.Assert) and any(map(times.limits, ast.walk(one.test)))]
    for one in inner:
        if isinstance(one, ast.FunctionDef | ast.ClassDef) and one is not node:
            _look(one, helpers, times.names, found)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function, down to other functions in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield child
        else:
            yield from _within(child)


def _is_slow(node: ast.AST) -> bool:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return any(ast.unparse(each).startswith("pytest.mark.slow") for each in decorators)


def _assigned(node: ast.AST, times: "_Times") -> Iterator[str]:
    """The names to which a time is given."""
    value = getattr(node, "value", None)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and value and times.has(value):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


class _Times:
    """Expressions that come from a clock: calls of it, and of ``helpers``, and ``names``."""

    def __init__(self, helpers: set[str], names: set[str]) -> None:
        self._helpers = helpers
        self.names = names

    def has(self, expression: ast.AST) -> bool:
        """Whether an expression has a time in it."""
        return any(map(self._is_time, ast.walk(expression)))

    def limits(self, node: ast.AST) -> bool:
        """Whether a comparison has a time on its smaller side."""
        if not isinstance(node, ast.Compare):
            return False
        sides = [node.left, *node.comparators]
        return any(
            (isinstance(operator, ast.Lt | ast.LtE) and self.has(left))
            or (isinstance(operator, ast.Gt | ast.GtE) and self.has(right))
            for operator, left, right in zip(node.ops, sides, sides[1:], strict=False)
        )

    def _is_time(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.names
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute):
            return ast.unparse(node.func.value) == "time" and node.func.attr in CLOCKS
        return isinstance(node.func, ast.Name) and node.func.id in self._helpers


LIMITS = {
    "directly": "def test():\n    began = time.monotonic()\n    assert time.monotonic() - began < 5\n",
    "the other way round": "def test():\n    began = time.time()\n    assert 5 >= time.time() - began\n",
    "a window": "def test():\n    began = time.perf_counter()\n    assert 1 < time.perf_counter() - began < 2\n",
    "a variable": "def test():\n    b = time.process_time()\n    took = now() - b\n    assert took <= 1\n",
    "a helper": "def took():\n    return time.monotonic() - 1\ndef test():\n    assert took() < 1\n",
    "around it": "def test():\n    b = time.monotonic()\n    def inner():\n        assert now() - b < 1\n    inner()\n",
    "in a method": "class A:\n    def test(self):\n        assert time.monotonic() < 1\n",
}
OTHERS = {
    "at least": "def test():\n    began = time.monotonic()\n    assert time.monotonic() - began >= 5\n",
    "another clock": "def test():\n    assert clock.monotonic() < 5\n",
    "for real": "@pytest.mark.slow\ndef test():\n    b = time.monotonic()\n    assert time.monotonic() - b < 5\n",
    "a slow module": "\npytestmark = pytest.mark.slow\ndef test():\n    assert time.time() < 5\n",
    "another function": "def one():\n    b = time.monotonic()\ndef test(b):\n    assert b < 5\n",
}


def test_limits_are_found(subtests: pytest.Subtests) -> None:
    for name, source in LIMITS.items():
        with subtests.test(name):
            assert len(limits_in(source)) == 1
    for name, source in OTHERS.items():
        with subtests.test(name):
            assert limits_in(source) == []
