"""Helpers for changes: INSERT of rows that may exist already, in the three dialects; how many rows a statement changed,
and which entities a flush will change."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, CursorResult, Result, Table, insert, inspect
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import History
from sqlalchemy.orm.base import PASSIVE_NO_INITIALIZE
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled


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


def rows_changed(result: Result[Any]) -> int:
    """Return the number of rows that an UPDATE or DELETE matched."""
    return cast(CursorResult[Any], result).rowcount


def require_changed(result: Result[Any], reason: str) -> None:
    """Raise StaleDataError if an UPDATE or DELETE matched no row, as another transaction was faster."""
    if not rows_changed(result):
        raise StaleDataError(reason)


def new_id(result: Result[Any]) -> int:
    """Return the id of an inserted row."""
    key: Any = cast(CursorResult[Any], result).inserted_primary_key
    return cast(int, key[0])


def history_of(entity: Any, name: str) -> History:
    """Return the history of one attribute, without reading anything.

    ``inspect(entity).attrs`` would create an object for every attribute.
    """
    history: History = inspect(entity).get_history(name, PASSIVE_NO_INITIALIZE)
    return history
