"""Two who move a node, or what it is in, at the same moment."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("put node into rack2", "put node into switch"),
        ("put node into switch", "put node into rack2"),
        ("put node into rack2", "put node into rack2"),
        ("put node into rack2", "take node out of row"),
        ("put node into rack2", "delete rack2"),
        ("delete rack2", "put node into rack2"),
        ("put node into rack2", "put rack2 below row"),
        ("put rack2 below row", "put node into rack2"),
        ("put node into rack2", "delete node"),
        ("delete node", "put node into rack2"),
        ("racks from property", "put node into switch"),
        ("put node into switch", "racks from property"),
        ("racks from property", "delete rack2"),
        ("put rack2 below row", "delete rack2"),
        ("put rack2 below row", "put node2 into switch"),
    ],
)
def test_one_comes_after_the_other(explorer: Explorer, one: str, other: str) -> None:
    require_serial(explorer, "free", one, other)


def test_no_circle_comes_about(explorer: Explorer) -> None:
    require_serial(explorer, "free", "put rack2 below row", "put row below rack2")
    require_serial(explorer, "free", "put row below rack2", "put rack2 below row")
