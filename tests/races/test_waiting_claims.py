"""A machine that becomes free meets those who wait for it, who cancel, and whose time is over."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial


@pytest.mark.parametrize(
    ("state", "one", "other"),
    [
        ("waiting", "release", "delete allocation"),
        ("waiting", "delete allocation", "release"),
        ("waiting", "delete server", "release"),
        ("claims-waiting", "release", "sweep"),
        ("claims-waiting", "release", "delete claim"),
        ("claims-waiting", "delete claim", "release"),
        ("waiting-maintenance", "maintenance off", "delete allocation"),
        ("waiting-maintenance", "maintenance off", "delete node"),
        ("overdue", "sweep", "delete allocation"),
        ("overdue", "sweep", "delete server"),
        ("overdue", "release", "sweep"),
    ],
)
def test_one_comes_after_the_other(explorer: Explorer, state: str, one: str, other: str) -> None:
    require_serial(explorer, state, one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("release", "allocate and wait"), ("allocate and wait", "release"), ("boot and wait", "release")]
)
def test_who_begins_to_wait_while_a_release_commits_is_served_by_the_sweep(
    explorer: Explorer, monkeypatch: pytest.MonkeyPatch, one: str, other: str
) -> None:
    """The release does not see yet who waits, and who looks again does not see yet what is free."""
    monkeypatch.setattr(explorer, "afterwards", "sweep")
    require_serial(explorer, "held", one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("wait as new consumer", "claim provider"), ("claim provider", "wait as new consumer")]
)
def test_a_uuid_belongs_to_the_first_that_takes_it(explorer: Explorer, one: str, other: str) -> None:
    """The second is refused, also if neither sees the other."""
    require_serial(explorer, "held", one, other)
