"""Every answer of the scheduling API in these tests is compared with its OpenAPI document."""

from collections.abc import Iterator

import pytest

from tests import openapi
from tests.service import Service


@pytest.fixture(autouse=True)
def described() -> Iterator[set[tuple[str, str, int]]]:
    with openapi.watched() as seen:
        yield seen


@pytest.fixture
def served(service: Service) -> Service:
    """The service with a conductor."""
    service.add_conductor("r1")
    return service
