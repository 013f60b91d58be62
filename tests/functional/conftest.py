"""Fixtures for functional tests of all APIs."""

import pytest

from tests.databases import TestDatabase
from tests.restored import Rows


@pytest.fixture
def row(subtests: pytest.Subtests, test_database: TestDatabase) -> Rows:
    """``with row(*values):`` is a row of a table: a subtest that does not see what the rows before it changed."""
    return Rows(subtests, test_database)
