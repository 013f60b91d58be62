"""Holds that are asserted, released, begin and end meet claims through each door, deletions, and the flag."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial

_DOORS = ("claim node", "claim with others", "allocate", "boot")


@pytest.mark.parametrize("door", _DOORS)
@pytest.mark.parametrize("kind", [pytest.param("hold", marks=pytest.mark.slow), "draining hold", "planned hold"])
def test_a_claim_comes_before_a_hold_or_is_refused(explorer: Explorer, door: str, kind: str) -> None:
    require_serial(explorer, "free", door, f"assert {kind}")
    require_serial(explorer, "free", f"assert {kind}", door)


def test_nothing_is_given_while_a_hold_is_asserted(explorer: Explorer) -> None:
    """The claim waits for the row that the hold closes, and looks at the time when it has it."""
    last = len(explorer.points("free", "assert draining hold"))
    run, end = explorer.meet("free", ["assert draining hold", "claim node"], last)
    assert (run.paused_before, run.waited) == ("COMMIT", (True,))
    assert end.statuses == (201, 409)


@pytest.mark.parametrize(
    ("state", "one", "other"),
    [
        ("due-hold", "sweep holds", "claim node"),
        ("due-hold", "release holds", "claim node"),
        ("due-hold", "release hold", "sweep holds"),
        ("due-hold", "sweep holds", "maintenance off"),
        ("due-hold", "sweep holds", "delete node"),
        ("ending-hold", "sweep holds", "maintenance off"),
        ("ending-hold", "maintenance off", "sweep holds"),
        ("ending-hold", "sweep holds", "maintenance on"),
        ("ending-hold", "sweep holds", "assert hold"),
        ("ending-hold", "sweep holds", "release holds"),
        ("ending-hold", "sweep holds", "allocate"),
        ("draining-hold", "release", "sweep holds"),
        ("draining-hold", "sweep holds", "release"),
        ("draining-hold", "release", "release hold"),
        ("draining-hold", "release hold", "sweep holds"),
        ("draining-server", "delete server", "sweep holds"),
        ("draining-server", "sweep holds", "delete server"),
        ("waiting-hold", "release holds", "delete allocation"),
        ("waiting-hold", "release holds", "sweep holds"),
        ("waiting-hold", "sweep holds", "release holds"),
        ("due-hold", "extend hold", "release hold"),
        ("due-hold", "release hold", "extend hold"),
        ("due-hold", "extend hold", "sweep holds"),
        ("due-hold", "sweep holds", "extend hold"),
        ("due-hold", "extend hold", "claim node"),
        ("due-hold", "extend hold", "shorten hold"),
        ("due-hold", "extend hold", "assert planned hold"),
        ("due-hold", "assert planned hold", "extend hold"),
        ("ending-hold", "extend hold", "sweep holds"),
        ("ending-hold", "sweep holds", "extend hold"),
        ("waiting-hold", "release holds", "extend hold"),
        ("waiting-hold", "extend hold", "release holds"),
        ("maintenance", "assert hold", "maintenance off"),
        ("maintenance", "release holds", "assert lockout"),
    ],
)
def test_one_comes_after_the_other(explorer: Explorer, state: str, one: str, other: str) -> None:
    require_serial(explorer, state, one, other)


@pytest.mark.parametrize("kind", ["hold", "planned hold", "lockout"])
def test_of_two_that_are_the_same_one_is_refused(explorer: Explorer, kind: str) -> None:
    require_serial(explorer, "free", f"assert {kind}", f"assert {kind}")


@pytest.mark.parametrize(
    ("state", "one", "other"),
    [
        ("free", "assert hold", "assert hold of another reason"),
        ("free", "assert hold", "assert hold or take it"),
        ("free", "assert hold or take it", "assert hold"),
        ("due-hold", "rename hold", "release hold"),
        ("many-holds", "assert hold", "assert hold of another reason"),
        ("many-holds", "assert hold", "assert holds"),
    ],
)
def test_holds_beside_each_other(explorer: Explorer, state: str, one: str, other: str) -> None:
    """Two reasons are two holds; the last hold that a project may have of a node is one of them."""
    require_serial(explorer, state, one, other)
