"""Boots in a server group meet each other, moves of machines, and the deletion of the group."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial
from tests.races.test_several import leave_out_events


@pytest.mark.parametrize(
    ("state", "one", "other"),
    [
        ("group-server", "boot in group", "boot in group"),
        ("group-server", "boot in group", "delete server group"),
        ("group-server", "delete server group", "boot in group"),
        ("group-server", "boot in group", "put node2 into switch"),
        ("group-server", "put node2 into switch", "boot in group"),
        ("group-server", "boot in group", "put node into rack2"),
        ("group-server", "boot in group", "delete server"),
        ("group-server", "delete server", "boot in group"),
        ("group-waiting", "release", "boot in group"),
        ("group-waiting", "boot in group", "release"),
        ("group-waiting", "release", "put node2 into switch"),
        ("group-waiting", "put node2 into switch", "release"),
        ("group-waiting", "release", "delete server group"),
        ("group-waiting", "delete server group", "release"),
        ("group-waiting", "release", "boot plain"),
    ],
)
def test_one_comes_after_the_other(explorer: Explorer, state: str, one: str, other: str) -> None:
    require_serial(explorer, state, one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("boot in group and wait", "release"), ("release", "boot in group and wait")]
)
def test_it_begins_to_wait_while_a_release_commits(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, one: str, other: str
) -> None:
    monkeypatch.setattr(explorer, "afterwards", "sweep")
    monkeypatch.setattr(explorer, "_serial", {})
    leave_out_events(monkeypatch)
    require_serial(explorer, "group-held", one, other)


def test_a_boot_waits_for_the_row_of_the_group(explorer: Explorer) -> None:
    last = len(explorer.points("group-server", "boot in group"))
    run, end = explorer.meet("group-server", ["boot in group", "boot in group"], last)
    assert (run.paused_before, run.waited, end.statuses) == ("COMMIT", (True,), (202, 202))
