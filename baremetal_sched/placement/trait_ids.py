"""The traits of a provider as one text in its row: sorted ids, separated by commas.

It duplicates the provider's rows of ``provider_traits``. Reads of thousands of providers use this text instead of ten
more rows for each; a search for the providers with a trait uses the rows, which are indexed. Every change of the rows
updates the text in the same transaction, with the provider locked; ``db check`` compares the two.
"""

from collections.abc import Collection, Set
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Integer, any_, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.results import require_changed
from baremetal_sched.db.sql_functions import concat, constant, listed
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
_IS_SET = _SET.returning(PROVIDERS.c.id).cte("changed")
#: The same on PostgreSQL: WITH changed AS (UPDATE resource_providers … RETURNING id), removed AS (DELETE …),
#: added AS (INSERT INTO provider_traits … FROM changed) SELECT count(*) FROM changed
_SET_AT_ONCE = (
    select(func.count(_IS_SET.c.id))
    .add_cte(
        delete(PROVIDER_TRAITS)
        .where(PROVIDER_TRAITS.c.provider_id == bindparam("provider"), select(_IS_SET.c.id).exists())
        .where(PROVIDER_TRAITS.c.trait_id == any_(listed("removed", Integer())))
        .cte("removed")
    )
    .add_cte(
        insert(PROVIDER_TRAITS)
        .from_select(["provider_id", "trait_id"], select(_IS_SET.c.id, func.unnest(listed("added", Integer()))))
        .cte("added")
    )
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
    if connection.dialect.name == "postgresql":
        given |= {"removed": text_of(present - ids), "added": text_of(ids - present)}
        if not compiled.change(connection, _SET_AT_ONCE, given).scalar():
            raise StaleDataError("the provider was changed")
        return True
    require_changed(compiled.change(connection, _SET, given), "the provider was changed")
    for statement, changed in ((_REMOVE, present - ids), (_ADD, ids - present)):
        rows = [{"provider_id": provider, "trait_id": trait} for trait in sorted(changed)]
        compiled.change_all(connection, statement, rows)
    return True
