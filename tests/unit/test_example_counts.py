"""How many examples properties are tried with."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import examples


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = examples._times
    yield
    examples.choose(few=before < 0.5)


def test_the_first_tier_tries_few(subtests: pytest.Subtests) -> None:
    for few, expected in [(True, (50, 10, 20)), (False, (125, 12, 50))]:
        with subtests.test(few=few):
            examples.choose(few=few)
            assert (examples.examples(250), examples.examples(25), settings.default.max_examples) == expected


def test_more_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLES_TIMES", "8")
    examples.choose(few=False)
    assert (examples.examples(250), settings.default.max_examples) == (2000, 800)
    assert list(examples.parts(3)) == [0, 1, 2]
    monkeypatch.delenv("EXAMPLES_TIMES")
    examples.choose(few=False)
    assert list(examples.parts(3)) == [0]
