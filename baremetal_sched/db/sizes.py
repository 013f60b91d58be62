"""Limits of row sizes, so that all stored data can be read on every database.

MariaDB sends and accepts at most ``max_allowed_packet`` bytes at a time, 16 MiB by default: a longer statement fails,
and a longer text is returned as NULL, as if the row did not exist. Lists select one text per row.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from sqlalchemy import inspect
from sqlalchemy.orm import Session

from baremetal_sched.db.sealing import SealedJson, Unreadable, sealed_size, seals
from baremetal_sched.db.types import LARGEST_TEXT, SMALL_TEXT, Json, dump_json, size_of
from baremetal_sched.errors import DocumentTooLarge

#: Maximum bytes of JSON in a row. The rest of a packet is for its other columns, and for small changes: columns up to
#: SMALL_TEXT are not checked, since there are not enough of them to fill the rest.
_LARGEST_ROW = LARGEST_TEXT


def check_flush(session: Session, *_: Any) -> None:
    """Raise DocumentTooLarge if a row that is about to be written is too large to be read (a listener of sessions)."""
    for entity in (*session.new, *session.dirty):
        state = inspect(entity)
        changed = state.committed_state if state.persistent else state.dict
        columns = _json_columns(state.mapper)
        if any(_size(state.dict.get(name)) > SMALL_TEXT for name in columns if name in changed):
            require_row(columns, state.dict, seals(session.get_bind().dialect))


def require_row(columns: Mapping[str, bool], row: Mapping[str, Any], grow: bool) -> None:
    """Raise DocumentTooLarge for a row that is too large to be read. ``columns`` are its JSON columns, and whether each
    may be encrypted; ``grow``: they are."""
    sizes = ((_size(row.get(name)), sealed) for name, sealed in columns.items())
    total = sum(sealed_size(size) if sealed and grow else size for size, sealed in sizes)
    if total > _LARGEST_ROW:
        raise DocumentTooLarge(size=total, limit=_LARGEST_ROW)


@cache
def _json_columns(mapper: Any) -> dict[str, bool]:
    return json_columns((attribute.key, attribute.columns[0]) for attribute in mapper.column_attrs)


def json_columns(columns: Iterable[tuple[str, Any]]) -> dict[str, bool]:
    """Return the names of the JSON columns among named ones, and whether each may be encrypted."""
    return {name: isinstance(each.type, SealedJson) for name, each in columns if isinstance(each.type, Json)}


def _size(value: Any) -> int:
    if isinstance(value, Unreadable):
        return len(value.stored)
    try:
        return 0 if value is None else size_of(dump_json(value))
    except RecursionError:
        return 0  # it is nested too deeply, which the write reports
