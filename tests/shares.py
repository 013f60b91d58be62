"""Shares of a long run: TEST_SHARE=2/4 is the second quarter, which is always the same one."""

import os
from collections.abc import Callable, Sequence
from typing import TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")


def mine(things: Sequence[T], key: Callable[[T], str]) -> list[T]:
    """Return this run's share of ``things``: all of them without TEST_SHARE. Equal keys stay together."""
    number, of = map(int, os.environ.get("TEST_SHARE", "1/1").split("/"))
    return [thing for thing in things if crc32(key(thing).encode()) % of == number - 1]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the items of other shares. Modules stay whole, as their tests may share what takes long to start."""
    kept = mine(items, lambda item: item.nodeid.partition("::")[0])
    if len(kept) < len(items):
        others = [item for item in items if item not in set(kept)]
        config.hook.pytest_deselected(items=others)
        items[:] = kept
