"""What a statement that changes something tells about it."""

from typing import Any, cast

from sqlalchemy import CursorResult, Result


def rows_changed(result: Result[Any]) -> int:
    """How many rows an UPDATE or a DELETE met."""
    return cast(CursorResult[Any], result).rowcount


def new_id(result: Result[Any]) -> int:
    """The id of the row that an INSERT made."""
    key: Any = cast(CursorResult[Any], result).inserted_primary_key
    return cast(int, key[0])
