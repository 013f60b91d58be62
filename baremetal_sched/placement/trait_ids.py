"""The traits of a provider as one text in its row: sorted ids, separated by commas.

It duplicates the provider's rows of ``provider_traits``. Reads of thousands of providers use this text instead of ten
more rows for each; a search for the providers with a trait uses the rows, which are indexed. Every change of the rows
updates the text in the same transaction, with the provider locked; ``db check`` compares the two.
"""

from collections.abc import Collection
from typing import Any

import orjson
from sqlalchemy import ColumnElement, or_

from baremetal_sched.db.sql_functions import concat, constant


def text_of(ids: Collection[int]) -> str:
    """Return the text of ids (``3,17``); empty without ids."""
    return ",".join(map(str, sorted(ids)))


def ids_in(text: str) -> list[int]:
    """Return the ids of a text, in order."""
    ids: list[int] = orjson.loads(f"[{text}]")
    return ids


def has_any(text: Any, ids: Collection[int]) -> ColumnElement[bool]:
    """Return the SQL condition that ``text``, a column, contains one of the ids. For scans of thousands of providers.

    ',' || text || ',' LIKE '%,17,%' OR …
    """
    padded = concat(",", text, ",")
    found: ColumnElement[bool] = or_(*(padded.like(constant(f"%,{row_id},%")) for row_id in sorted(ids)))
    return found
