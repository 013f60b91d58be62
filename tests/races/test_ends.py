"""Ends of claims meet prolongings, releases, holds, deletions, and claims that get the machine next."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial


@pytest.mark.parametrize(
    ("state", "one", "other"),
    [
        ("end-ahead", "prolong", "prolong"),
        ("end-ahead", "prolong", "take the end away"),
        ("end-ahead", "prolong", "release"),
        ("end-ahead", "release", "prolong"),
        ("end-ahead", "prolong", "move claim"),
        ("end-ahead", "move claim", "prolong"),
        ("end-ahead", "move claim", "release"),
        ("end-ahead", "release", "move claim"),
        ("end-ahead", "prolong", "assert planned hold"),
        ("end-ahead", "assert planned hold", "prolong"),
        ("end-ahead", "move claim", "assert planned hold"),
        ("end-ahead", "prolong", "claim again"),
        ("end-ahead", "claim again", "prolong"),
        ("held", "prolong", "prolong"),
        ("held", "prolong", "release"),
        ("held", "prolong", "take the end away"),
        ("free", "claim for a while", "claim node"),
        ("free", "claim node", "claim for a while"),
        ("free", "claim for a while", "assert planned hold"),
        ("free", "assert planned hold", "claim for a while"),
        ("free", "claim for a while", "delete node"),
        ("end-waiting", "release", "assert planned hold"),
        ("end-waiting", "release", "delete claim"),
        ("end-ahead-maintenance", "prolong", "delete node"),
        ("end-ahead-maintenance", "delete node", "prolong"),
        ("end-ahead-maintenance", "move claim", "delete node"),
    ],
)
def test_one_comes_after_the_other(explorer: Explorer, state: str, one: str, other: str) -> None:
    require_serial(explorer, state, one, other)
