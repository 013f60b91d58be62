"""Which tests ``pytest`` leaves out, and which ones a change needs."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs, tiers
from tests.house import read

ROOT = Path(__file__).parents[2]
_SOURCE = pytest.Config.ArgsSource


def chosen(source: Any = _SOURCE.TESTPATHS, **given: Any) -> Any:
    """The options and arguments of a run for which these options were given."""
    option = SimpleNamespace(**{"tier": None, "markexpr": "", "keyword": "", "paths_changed": None, **given})
    config: Any = SimpleNamespace(args_source=source, option=option, args=["tests"])
    tiers.pytest_configure(config)
    return config


def test_the_first_tier_runs_only_where_nothing_is_asked_for() -> None:
    assert chosen().option.tier == "first"
    assert chosen().option.markexpr == "not slow and not ci"
    for others in ({"markexpr": "not slow"}, {"keyword": "trait"}, {"source": _SOURCE.ARGS}):
        assert chosen(**others).option.tier is None
    assert chosen(tier="ci").option.markexpr == "not slow"


def test_what_a_change_needs() -> None:
    config = chosen(paths_changed=["baremetal_sched/ui/fleet.py", "tests/unit/test_rules.py", "./README.md"])
    assert config.option.tier == "ci"
    assert config.args == [
        "tests/clients/test_readme.py",
        "tests/database/test_doors_properties.py",
        "tests/functional/ui",
        "tests/unit",
        "tests/unit/test_rules.py",
    ]
    assert chosen(paths_changed=["baremetal_sched/ui/fleet.py", "LICENSE"]).args == ["tests"]
    with pytest.raises(pytest.UsageError, match=r"^--for: there is no baremetal_sched/ui/fleets.py, nowhere/$"):
        chosen(paths_changed=["README.md", "baremetal_sched/ui/fleets.py", "nowhere/"])


def test_how_many_tests_a_change_needs_is_said_before() -> None:
    counts = json.loads((ROOT / "tests/counts.json").read_text())
    unit = {file: number for file, number in counts.items() if file.startswith("tests/unit/")}
    said = tiers.pytest_report_header(chosen(paths_changed=["CHANGELOG.md", "tests/unit/test_rules.py"]))
    assert said == (
        f"--for: about {sum(unit.values()):,} tests and rows, in {len(unit)} files of tests/unit, "
        "tests/unit/test_rules.py"
    )
    assert tiers.pytest_report_header(chosen()) is None


def test_each_module_is_known_and_each_need_exists() -> None:
    unknown = [module.path for module in read().values() if tiers.tests_for([module.path]) == []]
    assert unknown == []
    assert [prefix for prefix in needs.NEEDS if not (ROOT / prefix).exists()] == []
    assert [path for paths in needs.NEEDS.values() for path in paths if not (ROOT / path).exists()] == []
    packages = {f"baremetal_sched/{each.name}/" for each in (ROOT / "baremetal_sched").iterdir() if each.is_dir()}
    assert {each for each in packages if list((ROOT / each).glob("*.py"))} - set(needs.NEEDS) == set()


def test_tiers_name_what_there_is() -> None:
    names = [*tiers._FOLDERS, *(name.partition("::")[0] for name in tiers._IN_CI)]
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_marks_of_files_name_a_tier_that_their_folder_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: dict[str, str] = {}
    for file in (ROOT / "tests").rglob("test_*.py"):
        path, lines = file.relative_to(ROOT).as_posix(), file.read_text().split("\n")
        assert not any(line.startswith("# tier") for line in lines[1:]), path
        if lines[0].startswith("# tier"):
            marks[path] = tiers.tier_of(path)
    assert [path for path, tier in marks.items() if tier == tiers.default_tier_of(path)] == []
    monkeypatch.setattr(tiers, "_ROOT", tmp_path)
    for mark in ("# tier: fast", "# tier:ci", "# tier ci"):
        (tmp_path / "test_wrong.py").write_text(f"{mark}\n")
        with pytest.raises(ValueError, match="names no tier"):
            tiers.tier_of("test_wrong.py")


@pytest.mark.parametrize("tier", [None, "first", "ci"])
def test_files_of_later_tiers_are_not_imported(tier: str | None) -> None:
    config: Any = SimpleNamespace(option=SimpleNamespace(tier=tier))
    left_out = {
        path: tiers.pytest_ignore_collect(ROOT / path, config)
        for path in (
            "tests/unit/test_rules.py",
            "tests/clients/test_start.py",
            "tests/clients/test_gunicorn.py",
            "tests/clients/test_nginx.py",
            "tests/clients/nova",
        )
    }
    later = {None: [], "first": [1, 2, 3], "ci": [3]}[tier]
    assert list(left_out.values()) == [True if place in later else None for place in range(5)]


@pytest.mark.parametrize(
    ("name", "own", "expected"),
    [
        ("tests/fault/test_claims.py::test_a", [], "slow"),
        ("tests/fault/test_claims.py::test_no_machine_is_held_twice_and_nothing_is_lost[postgresql]", [], "ci"),
        ("tests/functional/fuzz/test_every_route.py::test_a[x]", [], "ci"),
        ("tests/functional/fuzz/test_every_route.py::test_a[x]", ["slow"], None),
        ("tests/unit/test_rules.py::test_a", [], None),
    ],
)
def test_marks_of_tiers(name: str, own: list[str], expected: str | None) -> None:
    marks: list[str] = []
    item: Any = SimpleNamespace(nodeid=name, add_marker=marks.append, get_closest_marker=own.count)
    tiers.pytest_collection_modifyitems([item])
    assert marks == ([expected] if expected else [])
