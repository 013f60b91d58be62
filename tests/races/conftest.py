"""Explorers of the databases on servers: SQLite has one writer at a time, and so none of these races."""

from collections.abc import Iterator

import pytest

from tests.races.exploring import Explorer


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out SQLite."""
    left = [item for item in items if "[sqlite" in item.nodeid and item.nodeid.startswith("tests/races/")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def explorers() -> Iterator[dict[str, Explorer]]:
    """By URL of the database. The states that one has made once, it puts back later."""
    made: dict[str, Explorer] = {}
    yield made
    for explorer in made.values():
        explorer.close()


@pytest.fixture
def explorer(database_url: str, explorers: dict[str, Explorer]) -> Explorer:
    """An explorer of the database, which is empty."""
    if database_url not in explorers:
        explorers[database_url] = Explorer(database_url)
    explorers[database_url].look_again()
    return explorers[database_url]
