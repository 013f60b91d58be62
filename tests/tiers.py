"""The tiers of tests, and which tests a change needs: a plug-in that pytest loads first (see pyproject.toml).

``pytest`` alone is the first tier: files of later tiers are not even imported. ``--tier ci`` is the first and the
second one, as in ``.ci/run``; ``--for PATHS`` is what a change to these paths needs of both. Everything else finds all
tests: paths, ``-m``, ``-k``.
"""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from tests.needs import NEEDS

#: The selection among the tests of the files that are imported.
MARKS = {"first": "not slow and not ci", "ci": "not slow"}
_RANKS = {"first": 0, "ci": 1, "slow": 2}
_ROOT = Path(__file__).parent.parent

#: The tier of the files in a folder, unless their first line is ``# tier: NAME``; the longest prefix counts.
_FOLDERS = {
    "tests/": "first",
    "tests/conformance/": "ci",
    "tests/database/": "ci",
    "tests/functional/": "ci",
    "tests/moving/": "ci",
    "tests/races/": "ci",
    "tests/recipes/": "ci",
    "tests/agents/": "slow",
    "tests/clients/": "slow",
    "tests/emulators/": "slow",
    "tests/fault/": "slow",
    "tests/functional/fuzz/": "slow",
}
#: Tests of the second tier in slow files.
_IN_CI = (
    "tests/clients/test_boot_story.py::test_a_flavor_and_an_image_choose_the_machine",
    "tests/clients/test_gunicorn.py::test_requests_under_way_are_finished",
    "tests/clients/test_images.py::test_import_with_the_library",
    "tests/clients/test_images.py::test_members_tags_and_pages_with_the_library",
    "tests/clients/test_osc_placement.py::test_allocations",
    "tests/clients/test_osc_placement.py::test_candidates",
    "tests/clients/test_parallel_claims.py::test_parallel_claims[postgresql]",
    "tests/clients/test_provisioning_commands.py::test_life_of_a_machine",
    "tests/clients/test_waiting_allocations.py::test_the_command_gets_the_machine_that_is_undeployed",
    "tests/fault/test_claims.py::test_no_machine_is_held_twice_and_nothing_is_lost[postgresql]",
    "tests/fault/test_conductors.py::test_nothing_is_stuck_doubled_or_lost[mariadb]",
    "tests/fault/test_releases.py::test_an_upgrade_that_needs_no_stop[postgresql]",
    "tests/fault/test_waiting_claims.py::test_machines_go_to_those_who_wait_whatever_is_killed[postgresql]",
)
_FILES_IN_CI = frozenset(name.partition("::")[0] for name in _IN_CI)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that select tests."""
    group = parser.getgroup("baremetal-sched")
    group.addoption("--tier", choices=list(MARKS), help="run a whole tier (default: the first one)")
    group.addoption("--for", dest="paths_changed", nargs="+", metavar="PATH", help="run what a change here needs")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the first tier, unless something else was asked for. Workers are told what was chosen.

    Raises UsageError for a changed path that is not there: for a file that was deleted, give its folder.
    """
    option = config.option
    if option.paths_changed:
        missing = [path for path in option.paths_changed if not (_ROOT / path).exists()]
        if missing:
            raise pytest.UsageError(f"--for: there is no {', '.join(missing)}")
        option.tier = option.tier or "ci"
        config.args[:] = tests_for(option.paths_changed)
    elif config.args_source is pytest.Config.ArgsSource.TESTPATHS and not option.markexpr and not option.keyword:
        option.tier = option.tier or "first"
    if option.tier:
        option.markexpr = MARKS[option.tier]


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say how many tests ``--for`` runs, before it does, as far as they have been counted (``tests/counts.py``)."""
    if not config.option.paths_changed:
        return None
    number, files = counted(config.args)
    return f"--for: about {number:,} tests and rows, in {files:,} files of {', '.join(config.args)}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of later tiers before they are imported."""
    tier = config.option.tier
    if not tier or not collection_path.name.startswith("test_") or not collection_path.is_relative_to(_ROOT):
        return None
    path = collection_path.relative_to(_ROOT).as_posix()
    return True if _RANKS[first_tier_of(path)] > _RANKS[tier] else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the mark of its file's tier, unless it has one of its own."""
    for item in items:
        tier = "ci" if item.nodeid.startswith(_IN_CI) else tier_of(item.nodeid.partition("::")[0])
        if tier != "first" and not any(item.get_closest_marker(mark) for mark in ("ci", "slow")):
            item.add_marker(tier)


@cache
def tier_of(path: str) -> str:
    """Return the tier of a file's tests: ``first``, ``ci`` or ``slow``. A folder is a path, too.

    Raises ValueError for a first line that begins like a mark and names no tier.
    """
    file = _ROOT / path
    first_line = file.read_text().partition("\n")[0] if file.is_file() else ""
    if not first_line.startswith("# tier"):
        return default_tier_of(path)
    tier = first_line.removeprefix("# tier: ")
    if tier not in _RANKS:
        raise ValueError(f"{path}: {first_line!r} names no tier; there are: {', '.join(_RANKS)}")
    return tier


def default_tier_of(path: str) -> str:
    """Return the tier of a file without a mark: that of its folder."""
    return _FOLDERS[max((folder for folder in _FOLDERS if path.startswith(folder)), key=len)]


def first_tier_of(path: str) -> str:
    """Return the first tier in which a test of this file runs."""
    return "ci" if path in _FILES_IN_CI else tier_of(path)


def counted(paths: Iterable[str]) -> tuple[int, int]:
    """Return how many tests and rows the files and folders of tests had when they were last counted, and in how many
    files."""
    numbers: dict[str, int] = json.loads((_ROOT / "tests/counts.json").read_text())
    chosen = {file for file in numbers for path in paths if file == path or file.startswith(f"{path}/")}
    return sum(numbers[file] for file in chosen), len(chosen)


def tests_for(paths: Iterable[str]) -> list[str]:
    """Return the files and folders of tests that a change to ``paths`` needs; all of them if one is not known.

    The longest prefix in ``needs.NEEDS`` counts. A file of tests needs itself.
    """
    found: set[str] = set()
    for path in paths:
        name = path.removeprefix("./")
        if name.startswith("tests/") and Path(name).name.startswith("test_"):
            found.add(name)
            continue
        known = [prefix for prefix in NEEDS if name.startswith(prefix)]
        if not known:
            return ["tests"]
        found.update(NEEDS[max(known, key=len)])
    return sorted(found)
