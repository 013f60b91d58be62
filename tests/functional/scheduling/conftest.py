"""Every answer of the scheduling API in these tests is compared with its OpenAPI document."""

from collections.abc import Iterator

import pytest

from tests import openapi


@pytest.fixture(autouse=True)
def described() -> Iterator[set[tuple[str, str, int]]]:
    with openapi.watched() as seen:
        yield seen
