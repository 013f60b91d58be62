"""The package costs no more to read than it must; what counts what it costs counts right."""

import json
from pathlib import Path

import pytest

from tests import house

MODULES = {
    "__init__.py": '"""A package."""\n',
    "one.py": '"""One."""\n\nfrom baremetal_sched import two\n\n\nclass Same:\n    """A class."""\n\n\n'
    'def view() -> None:\n    """Begin."""\n    two.help_it()\n    _own()\n\n\ndef _own() -> None:\n    pass\n',
    "two.py": "from typing import Any\n\nfrom baremetal_sched.three import deep\n\nx: Any = 1\n\n\nclass Same:\n"
    "    pass\n\n\ndef help_it() -> None:\n    deep()\n\n\ndef other() -> None:\n"
    "    from baremetal_sched import four\n",
    "three.py": "def deep() -> None:\n    pass\n",
    "four.py": "from baremetal_sched.two import x\n" + "y = x\n" * 30,
}


@pytest.fixture
def modules(tmp_path: Path) -> dict[str, house.Module]:
    (tmp_path / house.PACKAGE).mkdir()
    for name, text in MODULES.items():
        (tmp_path / house.PACKAGE / name).write_text(text)
    return house.read(tmp_path)


def test_the_house_is_within_its_limits() -> None:
    found = house.figures(house.read())
    assert house.too_much(found) == {}
    assert set(house.LIMITS) <= set(found)
    assert found["docstrings"] >= house.LEAST_DOCSTRINGS


def test_figures(modules: dict[str, house.Module]) -> None:
    found = house.figures(modules)
    assert found["statements"] == 7 + 9 + 2 + 31
    assert found["docstrings"] == 4
    assert found["files"] == 5
    assert found["short files"] == 3
    assert found["lines of the longest file"] == 31
    assert found["lines of the longest function"] == 4
    assert found["uses of Any"] == 1
    assert found["class names that are used twice"] == 1


def test_circles_are_found_wherever_the_import_is(modules: dict[str, house.Module]) -> None:
    assert house.circles(modules) == [{"baremetal_sched.two", "baremetal_sched.four"}]


def test_a_figure_is_shown_with_its_limit_or_its_difference_to_the_release() -> None:
    assert house.described({"files": 3, "short files": 0, "docstrings": 7}, {"files": 2, "docstrings": 9}) == [
        "      3  files (+1)",
        "      0  short files (at most 0)",
        "      7  docstrings (-2)",
    ]
    released = json.loads(house.RELEASE.read_text())
    assert set(house.LIMITS) < set(released)


def test_what_is_above_its_limit_is_named() -> None:
    assert house.too_much({"files": 3, "docstrings": 7}, {"files": 2}) == {"files": 3}
    assert house.too_much({"files": 2}, {"files": 2}) == {}
