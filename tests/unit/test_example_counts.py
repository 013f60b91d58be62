"""How many examples properties are tried with."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import examples


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    were_few = examples._are_few
    yield
    examples.choose(few=were_few)


@pytest.mark.parametrize(("few", "expected"), [(True, (50, 10, 20)), (False, (250, 25, 100))])
def test_plain_pytest_tries_few(few: bool, expected: tuple[int, int, int]) -> None:
    examples.choose(few=few)
    assert (examples.examples(250), examples.examples(25), settings.default.max_examples) == expected
