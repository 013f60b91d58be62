"""Rows of a table that change the database: each begins with the database as it was before the table."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from sqlalchemy import Column, Connection, Table, insert, select, text

from baremetal_sched.db.models import Base
from tests.built_once import driver, overwrite
from tests.service import Service

_TABLES = Base.metadata.sorted_tables


@contextmanager
def restored(service: Service) -> Iterator[None]:
    """Give the database the rows that it has now when this ends; what is remembered of it is forgotten."""
    if service.database.engine.dialect.name == "sqlite":
        with closing(sqlite3.connect(":memory:")) as copy:
            with driver(service) as connection:
                connection.backup(copy)
            try:
                yield
            finally:
                overwrite(service, copy)
    else:
        before = _rows(service)
        try:
            yield
        finally:
            _write(service, {name: rows for name, rows in _rows(service).items() if rows != before[name]}, before)
    service.database._memory.clear()


def _rows(service: Service) -> dict[str, list[dict[str, Any]]]:
    with service.database.engine.connect() as connection:
        return {
            table.name: [dict(row) for row in connection.execute(select(*_stored(table))).mappings()]
            for table in _TABLES
        }


def _stored(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if column.computed is None]


def _write(service: Service, changed: dict[str, Any], before: dict[str, list[dict[str, Any]]]) -> None:
    tables = [table for table in _TABLES if table.name in changed]
    with service.database.engine.begin() as connection:
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
