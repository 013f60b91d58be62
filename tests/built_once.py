"""Worlds that are built once in a process: on SQLite all other tests get a copy of the database as it was then.

For objects that are the same in each test of a module, for example a fleet that is only read.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, TypeVar

from sqlalchemy import Engine

from tests.service import Service

T = TypeVar("T")

#: By code of the function and conductors: a copy of the database, and what the function returned.
_BUILT: dict[tuple[Any, ...], tuple[sqlite3.Connection, Any]] = {}


def built_once(service: Service, build: Callable[[Service], T]) -> T:
    """Return ``build(service)``, or what it returned the first time, with the database as it was then.

    The database has nothing but the conductors of ``service`` before, and ``build`` changes only the database.
    """
    if service.database.engine.dialect.name != "sqlite":
        return build(service)
    key = (build.__code__, *service.conductors)
    if key not in _BUILT:
        result, copy = build(service), sqlite3.connect(":memory:", check_same_thread=False)
        with driver(service.database.engine) as connection:
            connection.backup(copy)
        _BUILT[key] = copy, result
    else:
        copy, result = _BUILT[key]
        overwrite(service.database.engine, copy)
        for conductor in service.conductors.values():
            conductor.beat()
    return deepcopy(result)


def forget() -> None:
    """Close the copies."""
    while _BUILT:
        _BUILT.popitem()[1][0].close()


def overwrite(engine: Engine, copy: sqlite3.Connection) -> None:
    """Make the database what ``copy`` is."""
    with driver(engine) as connection:
        version = connection.execute("PRAGMA schema_version").fetchone()[0]
        copy.backup(connection)
        # The schema is the same, so connections need not read it again.
        connection.execute(f"PRAGMA schema_version = {version}").close()


@contextmanager
def driver(engine: Engine) -> Iterator[sqlite3.Connection]:
    """A connection of the driver's, from the pool."""
    pooled = engine.raw_connection()
    try:
        yield pooled.driver_connection  # type: ignore[misc]
    finally:
        pooled.close()
