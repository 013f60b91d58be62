"""SELECTs whose rows are texts of JSON: the key of a row, its document, and other texts."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, select, type_coerce

from baremetal_sched.db import compiled
from baremetal_sched.db.json_text import PrecompiledText
from baremetal_sched.db.models import Base, table_of
from baremetal_sched.db.sql_functions import constant
from baremetal_sched.db.types import Json, Query, Reader, as_text, connection_of


@lru_cache(maxsize=512)
def texts_of(model: type[Base], *columns: ColumnElement[Any]) -> Query:
    """SELECT COALESCE(uuid, ''), COALESCE(…, ''), … FROM …"""
    nothing = constant("")
    texts = [PrecompiledText(func.coalesce(column, nothing)) for column in columns]
    return select(*texts).select_from(table_of(model))


def fetch(
    reader: Reader,
    query: Query,
    key: ColumnElement[Any],
    value: str,
    conditions: Sequence[ColumnElement[bool]],
    values: Mapping[str, Any],
) -> Any:
    """Return the row of ``query`` whose ``key`` has this value, if the conditions hold; None if there is none.

    ``values`` are other parameters of the query.
    """
    query, connection, given = _with_key(query, key), connection_of(reader), {**values, "key": value}
    if conditions:
        return connection.execute(query.where(*conditions), given).first()
    return compiled.run(connection, query, given).first()


@lru_cache(maxsize=512)
def _with_key(query: Query, key: ColumnElement[Any]) -> Query:
    """SELECT … FROM … WHERE uuid = :key. Cached, because creating it takes longer than running it."""
    return query.where(key == bindparam("key"))


def array_or_empty(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a Json column that holds an array, as ``[]`` if it is NULL."""
    return type_coerce(func.coalesce(as_text(column), "[]"), Json)


def uuid_of_parent(model: type[Base], own_key: Any) -> ColumnElement[Any]:
    """(SELECT uuid FROM <model> WHERE id = <own_key>)"""
    parent: Any = model
    return select(parent.uuid).where(parent.id == own_key).scalar_subquery()
