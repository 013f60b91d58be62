"""Nova, for the tests that ask it."""

import os

import pytest

from tests.clients.environments import python_with
from tests.clients.nova.test_sequences import NOVA


@pytest.fixture(scope="module")
def nova(pytestconfig: pytest.Config) -> str:
    """A Python that has Nova."""
    given = os.environ.get("NOVA_PYTHON")
    return given or str(python_with(pytestconfig, "nova", *NOVA))
