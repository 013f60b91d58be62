"""What functional tests of the bare metal API share."""

from collections.abc import Iterator

import pytest

from tests.functional.baremetal.fleet import Fleet, shared


@pytest.fixture
def fleet(database_url: str) -> Iterator[Fleet]:
    """A fleet that several projects share."""
    with shared(database_url) as fleet:
        yield fleet
