"""The traits of a provider as one text in its row: sorted ids, separated by commas.

It duplicates the provider's rows of ``provider_traits``. Reads of thousands of providers use this text instead of ten
more rows for each; a search for the providers with a trait uses the rows, which are indexed. Every change of the rows
updates the text in the same transaction, with the provider locked; ``db check`` compares the two.
"""

from collections.abc import Collection, Set
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, or_, update
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.sql_functions import concat, constant
from baremetal_sched.placement.tables import PROVIDER_TRAITS, PROVIDERS

_SET = (
    update(PROVIDERS)
    .where(PROVIDERS.c.id == bindparam("provider"), PROVIDERS.c.generation == bindparam("before"))
    .values(generation=PROVIDERS.c.generation + 1, trait_ids=bindparam("text"), updated_at=bindparam("now"))
)
_ADD = insert(PROVIDER_TRAITS)
_REMOVE = delete(PROVIDER_TRAITS).where(
    PROVIDER_TRAITS.c.provider_id == bindparam("provider_id"), PROVIDER_TRAITS.c.trait_id == bindparam("trait_id")
)


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


def replace(connection: Connection, provider: int, generation: int, text: str, ids: Set[int]) -> bool:
    """Give the provider exactly the traits with these ids, and a new generation if that changes anything; return
    whether it does.

    ``generation`` and ``text`` are its own as read. The UPDATE says whether they are still the same, so nothing has to
    be locked before. Raises StaleDataError if they are not.
    """
    present = set(ids_in(text))
    if ids == present:
        return False
    given = {"provider": provider, "before": generation, "text": text_of(ids), "now": utcnow()}
    if not rows_changed(compiled.change(connection, _SET, given)):
        raise StaleDataError("the provider was changed")
    for statement, changed in ((_REMOVE, present - ids), (_ADD, ids - present)):
        rows = [{"provider_id": provider, "trait_id": trait} for trait in sorted(changed)]
        compiled.change_all(connection, statement, rows)
    return True
