"""Results of statements that change rows."""

from typing import Any, cast

from sqlalchemy import CursorResult, Result


def rows_changed(result: Result[Any]) -> int:
    """Return the number of rows that an UPDATE or DELETE matched."""
    return cast(CursorResult[Any], result).rowcount


def new_id(result: Result[Any]) -> int:
    """Return the id of an inserted row."""
    key: Any = cast(CursorResult[Any], result).inserted_primary_key
    return cast(int, key[0])
