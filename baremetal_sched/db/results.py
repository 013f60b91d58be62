"""Helpers for changes: how many rows a statement changed, and which entities a flush will change."""

from typing import Any, cast

from sqlalchemy import CursorResult, Result, inspect
from sqlalchemy.orm.attributes import History
from sqlalchemy.orm.base import PASSIVE_NO_INITIALIZE
from sqlalchemy.orm.exc import StaleDataError


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
