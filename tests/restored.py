"""Rows of a table that change the database: each begins with the database as it was before the table."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Engine, Table, insert, select, text, update

from baremetal_sched.db.models import Base, Conductor
from tests.built_once import driver, overwrite
from tests.databases import TestDatabase
from tests.service import Service, end_polling

_TABLES = Base.metadata.sorted_tables
_LONGEST = 200


@contextmanager
def restored(service: Service) -> Iterator[None]:
    """Give the database the rows that it has now when this ends; what is remembered of it is forgotten."""
    copy = _Copy(service.database.engine)
    try:
        yield
    finally:
        copy.put_back()
        service.database._memory.clear()


class Rows:
    """Of one test: ``with row(*values):`` is a row of its table, a subtest with the values as its name.

    The database is then as it was at the first row, and the last heartbeats of conductors are as long ago. What is not
    in the database (stubs, monkeypatch) stays.
    """

    def __init__(self, subtests: pytest.Subtests, database: TestDatabase) -> None:
        self._subtests, self._engine = subtests, database._engine
        self._copy: _Copy | None = None

    @contextmanager
    def __call__(self, *values: Any) -> Iterator[None]:
        """Run a row."""
        if self._copy is None:
            self._copy = _Copy(self._engine)
        else:
            self._copy.put_back()
        with self._subtests.test(msg=", ".join(map(repr, values))[:_LONGEST]):
            yield


class _Copy:
    """The contents of the database at a moment."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._made_at = engine, time.monotonic()
        if engine.dialect.name == "sqlite":
            self._file = sqlite3.connect(":memory:", check_same_thread=False)
            with driver(engine) as connection:
                connection.backup(self._file)
        else:
            self._rows = _rows(engine)

    def put_back(self) -> None:
        """Let the database have that again, and ids, which no thread may still have in mind."""
        end_polling()
        if self._engine.dialect.name == "sqlite":
            overwrite(self._engine, self._file)
        else:
            _write(self._engine, self._rows)
        since = time.monotonic() - self._made_at
        with self._engine.begin() as connection:
            connection.execute(update(Conductor).values(heartbeat_at=Conductor.heartbeat_at + since))


def _rows(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    with engine.connect() as connection:
        return {
            table.name: [dict(row) for row in connection.execute(select(*_stored(table))).mappings()]
            for table in _TABLES
        }


def _stored(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if column.computed is None]


def _write(engine: Engine, before: dict[str, list[dict[str, Any]]]) -> None:
    changed = {name for name, rows in _rows(engine).items() if rows != before[name]}
    tables = [table for table in _TABLES if table.name in changed]
    with engine.begin() as connection:
        _check_keys(connection, False)
        for table in reversed(tables):
            connection.execute(table.delete())
        for table in tables:
            if before[table.name]:
                connection.execute(insert(table), before[table.name])
        _check_keys(connection, True)


def _check_keys(connection: Connection, checked: bool) -> None:
    """Foreign keys are checked, or not: rows of a tree refer to each other."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL session_replication_role = {'origin' if checked else 'replica'}"))
    else:
        connection.execute(text(f"SET FOREIGN_KEY_CHECKS = {int(checked)}"))
