"""A machine that becomes free meets claims that wait for it, that are cancelled, and whose time is over."""

import pytest

from tests.races.exploring import Explorer
from tests.races.states import NAMES
from tests.races.test_doors import require_serial
from tests.races.test_several import leave_out_events


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
        ("waiting-beside", "claim node", "claim with others"),
        ("waiting-beside", "claim node", "sweep"),
        ("waiting-beside", "boot", "allocate"),
        ("claims-waiting-beside", "boot", "allocate"),
        ("waiting-beside", "claim node", "delete allocation"),
        ("claims-waiting-beside", "delete claim", "allocate"),
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
    leave_out_events(monkeypatch)
    require_serial(explorer, "held", one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("wait as new consumer", "claim provider"), ("claim provider", "wait as new consumer")]
)
def test_a_uuid_belongs_to_the_first_that_takes_it(explorer: Explorer, one: str, other: str) -> None:
    """The second is refused, also if neither sees the other."""
    require_serial(explorer, "held", one, other)


@pytest.mark.parametrize(
    ("state", "first", "door"),
    [
        *(("waiting-beside", "allocation", door) for door in ("claim node", "claim with others", "allocate", "boot")),
        # The UUID of the first two doors belongs to a claim that waits there.
        *(("claims-waiting-beside", "instance", door) for door in ("allocate", "boot")),
    ],
)
def test_newcomers_do_not_overtake(explorer: Explorer, state: str, first: str, door: str) -> None:
    """A free machine goes to the waiting claim, whichever newcomer meets it."""
    explorer.points(state, door)
    holders = explorer.service.placement("GET", f"/resource_providers/{NAMES['node']}/allocations").json["allocations"]
    assert list(holders) == [NAMES[first]]
