"""A node changes, and with it its provider, which another request changes at that moment."""

import pytest

from tests.races.exploring import Explorer
from tests.races.test_doors import require_serial


@pytest.mark.parametrize("other", ["set traits of node's provider", "set traits", "claim node"])
def test_a_projection_that_waits_for_the_provider_sees_its_new_state(explorer: Explorer, other: str) -> None:
    require_serial(explorer, "free", other, "maintenance on")
