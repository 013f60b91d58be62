"""A claim of two machines in different racks meets releases, moves, holds and claims; a group meets its growth."""

import pytest

from tests.races import contents
from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial


def leave_out_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events tell in which order things were: a claim of several is served after the commit of what frees machines."""
    monkeypatch.setattr(contents, "_UNCOMPARED", (*contents._UNCOMPARED, "event_notes"))


@pytest.mark.parametrize(
    ("state", "one", "other"),
    [
        ("pair", "claim both", "put node into rack2"),
        ("pair", "put node into rack2", "claim both"),
        ("pair", "claim both", "claim node"),
        ("pair", "claim node", "claim both"),
        ("pair", "claim both", "boot"),
        ("pair", "claim both", "assert hold"),
        ("pair", "assert hold", "claim both"),
        ("pair", "claim both", "delete node"),
        ("pair", "delete node", "claim both"),
        ("several", "delete claim", "grow"),
        ("several", "release one", "grow"),
        ("several", "release one", "delete claim"),
        ("several", "delete claim", "release one"),
        ("several", "delete claim", "claim one packed"),
        ("several-less-one", "grow", "delete claim"),
        ("several-less-one", "delete claim", "grow"),
        ("several-less-one", "grow", "claim node"),
        ("several-less-one", "grow", "put node into rack2"),
        ("several-waiting", "release", "delete claim"),
        ("several-waiting", "delete claim", "release"),
        ("several-waiting", "release", "put node into rack2"),
        ("several-waiting", "put node into rack2", "release"),
        ("several-waiting", "release", "assert hold"),
        ("several-waiting", "release", "sweep"),
        # A machine is freed while the claim is tried, by the sweep or after another commit.
        ("several-waiting", "sweep", "release"),
        ("several-waiting-for-both", "release", "delete picky claim"),
        ("several-waiting-for-both", "delete picky claim", "release"),
    ],
)
def test_one_comes_after_the_other(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, state: str, one: str, other: str
) -> None:
    # What becomes possible while the first request of the queue is looked at is left to the sweep.
    monkeypatch.setattr(explorer, "afterwards", "sweep")
    if state.startswith("several-waiting"):
        leave_out_events(monkeypatch)
    require_serial(explorer, state, one, other)


@pytest.mark.parametrize(("one", "other"), [("claim both and wait", "release"), ("release", "claim both and wait")])
def test_it_begins_to_wait_while_a_release_commits(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, one: str, other: str
) -> None:
    monkeypatch.setattr(explorer, "afterwards", "sweep")
    monkeypatch.setattr(explorer, "_serial", {})
    leave_out_events(monkeypatch)
    require_serial(explorer, "held-pair", one, other)
