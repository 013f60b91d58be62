"""Ends of claims meet prolongings, releases, holds, deletions, and claims that get the machine next."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial

#: What may meet the end of a claim.
_OTHERS = (
    *("end claims", "prolong", "take the end away", "release", "move claim", "claim node", "claim for a while"),
    *("assert planned hold", "assert lockout", "maintenance on", "delete node", "claim again", "claim another instead"),
)


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
        ("claimed", "prolong", "prolong"),
        ("claimed", "prolong", "release"),
        ("claimed", "prolong", "take the end away"),
        ("free", "claim for a while", "claim node"),
        ("free", "claim node", "claim for a while"),
        ("free", "claim for a while", "assert planned hold"),
        ("free", "assert planned hold", "claim for a while"),
        ("free", "claim for a while", "delete node"),
        ("end-waiting", "release", "assert planned hold"),
        ("end-waiting", "release", "delete claim"),
        *(("ended", *pair) for other in _OTHERS for pair in (("end claims", other), (other, "end claims"))),
        *(("waiting-ended", "end claims", other) for other in ("delete claim", "sweep", "release", "claim node")),
        ("deployed-ended", "end claims", "node deleted"),
        ("deployed-ended", "node deleted", "end claims"),
        ("server-ended", "end claims", "delete server"),
        ("server-ended", "delete server", "end claims"),
        ("allocation-ended", "end claims", "delete allocation"),
        ("allocation-ended", "delete allocation", "end claims"),
        ("end-ahead-maintenance", "prolong", "delete node"),
        ("end-ahead-maintenance", "delete node", "prolong"),
        ("end-ahead-maintenance", "move claim", "delete node"),
    ],
)
def test_one_comes_after_the_other(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, state: str, one: str, other: str
) -> None:
    """What a conductor did not see yet is left to its next sweep."""
    if "end claims" in (one, other):
        monkeypatch.setattr(explorer, "afterwards", "end claims")
    require_serial(explorer, state, one, other)


@pytest.mark.parametrize("state", ["ended", "deployed-ended"])
def test_a_machine_that_was_given_back_before_is_left_alone(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr(explorer, "afterwards", "end claims")
    require_serial(explorer, state, "end claims", "claim another instead", "claim node")
