"""A decision reads a resource and its parts at one moment."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial


@pytest.mark.parametrize(
    ("state", "user", "change"),
    [
        ("free", "boot picky", "delete picky image"),
        ("server", "server rebuild picky", "delete picky image"),
        ("free", "boot", "patch image"),
        ("free", "boot", "delete flavor"),
        ("free", "boot", "set spec"),
        ("free", "boot", "remove trait"),
        ("free", "allocate by trait", "remove trait"),
        ("free", "boot", "patch template"),
    ],
)
def test_a_machine_is_given_to_what_was_asked_for(explorer: Explorer, state: str, user: str, change: str) -> None:
    require_serial(explorer, state, user, change)


def test_steps_of_a_runbook_are_read_with_the_traits_that_approve_them(explorer: Explorer) -> None:
    readings = [point for point in explorer.points("manageable", "node clean") if "runbook_traits" in point]
    assert readings
    assert all("runbooks.steps" in point for point in readings)
