"""INSERT of rows that may exist already, in the three dialects."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, insert
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session

from baremetal_sched.db import compiled
from baremetal_sched.db.results import rows_changed


def insert_missing(writer: Session | Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert the ``rows`` that violate no unique key; existing rows stay unchanged."""
    if rows:
        connection = writer if isinstance(writer, Connection) else writer.connection()
        connection.execute(if_missing(table, connection.dialect.name), rows)


def insert_if_missing(
    connection: Connection, table: Table, row: dict[str, Any], **expressions: ColumnElement[Any] | None
) -> int | None:
    """Insert ``row`` and return its id; if it violates a unique key, change nothing and return None.

    ``expressions`` are those of other columns, by name; ``row`` has their parameters.
    """
    dialect = connection.dialect.name
    returning = dialect in ("sqlite", "postgresql")
    statement = if_missing(table, dialect, returning=returning, **expressions)
    result = compiled.change(connection, statement, row)
    new: int | None = result.scalar() if returning else result.lastrowid if rows_changed(result) else None
    return new


@lru_cache
def if_missing(table: Table, dialect: str, *, returning: bool = False, **expressions: ColumnElement[Any] | None) -> Any:
    """Return the INSERT that does nothing if the row violates a unique key. ``expressions`` as in
    ``insert_if_missing``."""
    match dialect:
        case "sqlite":
            statement: Any = sqlite.insert(table).on_conflict_do_nothing()
        case "postgresql":
            from sqlalchemy.dialects import postgresql  # where it is in use, it has been imported; elsewhere it is dear

            statement = postgresql.insert(table).on_conflict_do_nothing()
        case _:
            statement = insert(table).prefix_with("IGNORE")
    if expressions:
        statement = statement.values(expressions)
    return statement.returning(table.c.id) if returning else statement
