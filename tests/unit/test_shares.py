"""Shares of a long run."""

import pytest

from tests.shares import mine

NAMES = [f"test_{number}" for number in range(100)]


def test_shares_are_the_whole_and_none_is_in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for number in range(1, 5):
        monkeypatch.setenv("TEST_SHARE", f"{number}/4")
        found += mine(NAMES, str)
    assert sorted(found) == sorted(NAMES)


def test_what_belongs_together_is_in_one_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_SHARE", "1/2")
    assert len(mine(NAMES, lambda name: "the same")) in (0, len(NAMES))


def test_without_a_share_all_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_SHARE", raising=False)
    assert mine(NAMES, str) == NAMES
