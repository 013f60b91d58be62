"""Claims, releases and deletions through every door that meet: a dozen pairs, and what clients are told."""

import pytest

from tests.races.exploring import Explorer


def require_serial(explorer: Explorer, state: str, *names: str) -> None:
    """Fail unless the operations end like one after the other, wherever the first is paused."""
    assert [str(finding) for finding in explorer.explore(state, names)] == []


@pytest.mark.parametrize("claim", ["claim node", "claim with others", "claim node as old client"])
def test_the_deletion_of_a_node_waits_for_a_claim_and_is_refused(explorer: Explorer, claim: str) -> None:
    last = len(explorer.points("free", claim))
    run, end = explorer.meet("free", [claim, "delete node"], last)
    assert (run.paused_before, run.waited) == ("COMMIT", (True,))
    assert end.statuses == (204, 409)
    assert end.contents == explorer.serial("free", [claim]).contents


@pytest.mark.parametrize(
    ("state", "claim"),
    [
        ("free", "claim node"),
        ("free", "claim with others"),
        ("free", "allocate"),
        ("free", "boot"),
        ("children", "claim child"),
        ("held", "move claim"),
    ],
)
def test_a_node_is_claimed_or_deleted(explorer: Explorer, state: str, claim: str) -> None:
    require_serial(explorer, state, claim, "delete node")
    require_serial(explorer, state, "delete node", claim)


def test_a_node_that_is_created_again_has_no_claim_of_the_former(explorer: Explorer) -> None:
    require_serial(explorer, "free", "claim node", "delete node", "create node again")
    require_serial(explorer, "free", "delete node", "create node again", "claim node")


def test_a_node_in_maintenance_is_deleted_with_what_is_claimed_of_it(explorer: Explorer) -> None:
    require_serial(explorer, "held-maintenance", "delete node", "release")
    require_serial(explorer, "held-maintenance", "release", "delete node")
    require_serial(explorer, "held-maintenance", "delete node", "claim again")


def test_a_deletion_asks_who_has_the_node_when_nobody_can_claim_it_any_more(explorer: Explorer) -> None:
    points = explorer.points("free", "delete node")
    locks = next(place for place, point in enumerate(points) if "FROM resource_providers" in point)
    asks = next(place for place, point in enumerate(points) if "DISTINCT consumers.uuid" in point)
    assert "FOR UPDATE" in points[locks]
    assert locks < asks


def test_the_deletion_of_an_allocation_spares_the_next(explorer: Explorer) -> None:
    run, end = explorer.meet("allocated", ["delete allocation", "delete allocation", "allocate"], 2)
    assert (run.waited, end.statuses) == ((False, False), (404, 204, 201))
    assert end.contents == explorer.serial("allocated", ["delete allocation", "allocate"]).contents


@pytest.mark.parametrize("door", ["delete allocation", "delete allocation of node", "release allocation"])
def test_an_allocation_is_deleted_and_the_node_allocated_anew(explorer: Explorer, door: str) -> None:
    require_serial(explorer, "allocated", door, "delete allocation", "allocate")


@pytest.mark.parametrize(
    ("state", "one", "other"),
    [
        ("free", "claim provider", "delete provider"),
        ("free", "claim provider", "set inventories to none"),
        ("free", "claim node", "allocate"),
        ("free", "boot", "claim node"),
        ("free", "claim node", "maintenance on"),
        ("free", "claim node", "create child"),
        ("free", "delete class", "add inventory"),
        ("free", "delete class", "delete class"),
        ("free", "delete class", "rename class"),
        ("free", "rename class", "delete class"),
        ("free", "rename class", "rename class"),
        ("free", "delete trait", "delete trait"),
        ("children", "claim child", "delete child"),
        ("children", "free child", "claim node and child"),
        ("server", "delete server", "release server"),
        ("deployed", "backfill", "release"),
    ],
)
def test_one_comes_after_the_other(explorer: Explorer, state: str, one: str, other: str) -> None:
    require_serial(explorer, state, one, other)
