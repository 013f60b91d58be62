"""Conditions that a row has all of several related rows, such as tags."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, exists, false, func, or_, select, true


def has_all(own: ColumnElement[bool], things: Sequence[ColumnElement[bool]], most: int) -> ColumnElement[bool]:
    """Return the condition that each of ``things`` is met by a row that meets ``own``.

    No row may meet two of them. ``most``: how many rows there can be; nothing has more.

    EXISTS (SELECT * FROM tags WHERE own AND tag = 'a'), or, of several,
    (SELECT count(*) FROM tags WHERE own AND (tag = 'a' OR tag = 'b')) = 2

    An EXISTS for each would be a join for each: PostgreSQL plans a hundred of these for longer than a request may take.
    """
    if not things:
        return true()
    if len(things) > most:
        return false()
    if len(things) == 1:
        return exists().where(own, things[0])
    return select(func.count()).where(own, or_(*things)).scalar_subquery() == len(things)
