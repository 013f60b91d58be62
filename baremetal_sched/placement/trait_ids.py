"""The traits of a provider as one text of its row: ids in order, with commas between them.

It says what the provider's rows of ``provider_traits`` say. Who tells about thousands of providers reads this instead
of ten rows more of each; who asks whether somebody has a trait asks those rows, which have an index for it. Whoever
changes them changes the text in the same transaction, with the provider locked; ``db check`` compares the two.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, or_

from baremetal_sched.db.packing import concatenated, constant


def text_of(ids: Collection[int]) -> str:
    """``3,17``; nothing for no ids."""
    return ",".join(map(str, sorted(ids)))


def texts_in(text: str) -> list[str]:
    """Each id of a text, as a text."""
    return text.split(",") if text else []


def ids_in(text: str) -> list[int]:
    """The ids of a text, in order."""
    return [int(row_id) for row_id in texts_in(text)]


def has_any(text: Any, ids: Collection[int]) -> ColumnElement[bool]:
    """SQL condition: one of the ids is in ``text``, a column. For scans of thousands of providers.

    ',' || text || ',' LIKE '%,17,%' OR …
    """
    padded = concatenated(",", text, ",")
    found: ColumnElement[bool] = or_(*(padded.like(constant(f"%,{row_id},%")) for row_id in sorted(ids)))
    return found
