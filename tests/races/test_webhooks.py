"""Two who make or change webhooks at the same moment."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("create webhook", "create other webhook"),
        ("create webhook", "create webhook"),
        ("create webhook", "change webhook"),
        ("change webhook", "create webhook"),
        ("change webhook", "resume webhook"),
        ("resume webhook", "delete webhook"),
        ("skip an event", "skip an event"),
        ("skip an event", "change webhook"),
        ("delete webhook", "resume webhook"),
        ("renew secret", "delete webhook"),
    ],
)
def test_one_comes_after_the_other(explorer: Explorer, one: str, other: str) -> None:
    require_serial(explorer, "free", one, other)
