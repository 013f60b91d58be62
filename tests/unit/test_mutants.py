"""Planted defects fit the package as it is: each changes one place, and names a file of tests that exists."""

from functools import cache
from pathlib import Path

from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parents[2]

_read = cache(Path.read_text)


def test_mutants_fit() -> None:
    assert {mutant.name: wrong for mutant in MUTANTS if (wrong := _misfit(mutant))} == {}


def _misfit(mutant: Mutant) -> str | None:
    """Return why a mutant cannot be planted, or None."""
    if (times := _read(ROOT / "baremetal_sched" / mutant.file).count(mutant.text)) != 1:
        return f"its text is in {mutant.file} {times} times"
    if mutant.replacement == mutant.text:
        return "it changes nothing"
    for each in mutant.tests.split():
        file, _, test = each.partition("::")
        if not (tests := ROOT / "tests" / file).is_file():
            return f"there is no file {file}"
        if test and f"def {test.partition('[')[0]}(" not in _read(tests):
            return f"there is no test {each}"
    return None


def test_names_are_unique() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert sorted(set(names)) == sorted(names)
