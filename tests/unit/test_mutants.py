"""Planted defects fit the package as it is: each changes one place, and names a file of tests that exists."""

from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits(mutant: Mutant) -> None:
    assert (ROOT / "baremetal_sched" / mutant.file).read_text().count(mutant.text) == 1
    assert mutant.replacement != mutant.text
    assert (ROOT / "tests" / mutant.tests.partition("::")[0]).is_file()


def test_names_are_unique() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert sorted(set(names)) == sorted(names)
