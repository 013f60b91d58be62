"""Fixtures for functional tests of all APIs."""

from collections.abc import Iterator

import pytest

from tests.databases import TestDatabase
from tests.receiver import Receiver
from tests.restored import Rows
from tests.service import Service


@pytest.fixture
def row(subtests: pytest.Subtests, test_database: TestDatabase) -> Rows:
    """``with row(*values):`` is a row of a table: a subtest that does not see what the rows before it changed."""
    return Rows(subtests, test_database)


@pytest.fixture
def uuid(service: Service) -> str:
    """The UUID of n1, which is available."""
    return service.add_node("n1")


@pytest.fixture
def node(uuid: str) -> str:
    """The same, where a test calls it so."""
    return uuid


@pytest.fixture
def secured(database_url: str) -> Iterator[Service]:
    """A service with a conductor, whose callers say in headers who they are."""
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        yield service


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Takes every event."""
    with Receiver() as made:
        yield made
