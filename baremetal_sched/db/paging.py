"""Order and pages of lists in SQL, with the same results on every database."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, false, literal, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import InstrumentedAttribute
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.visitors import InternalTraversal

from baremetal_sched.db.models import Base
from baremetal_sched.db.types import AnyRow, Json, Query, Reader, Rows
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.suggestions import did_you_mean

#: Columns that are internal to this service, or that Ironic computes.
_NOT_SORTABLE = ("revision", "allocation_uuid")

#: The number of rows that ``each_row`` reads at a time.
_CHUNK = 1000

#: Creates the error for a UUID that does not exist.
Missing = Callable[[str], SchedulerError]


class SortKey(NamedTuple):
    """A column that a list is sorted by, under the name that clients know."""

    name: str
    descending: bool = False


@dataclass
class Page:
    """A page of a list: at most ``limit`` rows after the one whose ``key`` is ``marker``, in an order.

    Without ``sort`` the oldest come first. ``columns``: the columns for sorting, by the names that clients know; None:
    any column, by its own name. ``within``: a condition on the marker, if callers do not see everything.
    """

    limit: int
    marker: str | None = None
    sort: Sequence[SortKey] = ()
    columns: Mapping[str, InstrumentedAttribute[Any]] | None = None
    key: str = "uuid"
    within: ColumnElement[bool] | None = None


def select_page(session: Session, query: Query, model: type[Base], page: Page, missing: Missing) -> Rows:
    """Return the rows of ``query``, which selects from ``model``, that are on the page.

    Raises the error of ``missing`` for an unknown marker, InvalidValue for an invalid sort key.
    """
    return session.execute(_of_page(session, query, model, page, missing)).all()


def _of_page(session: Session, query: Query, model: Any, page: Page, missing: Missing) -> Query:
    return after_marker(session, query, model, page, missing).order_by(*order(model, page)).limit(page.limit)


def each_row(session: Session, query: Query, model: Any, page: Page, missing: Missing) -> Iterator[AnyRow]:
    """Yield the rows that ``select_page`` returns, and hold only _CHUNK at a time. ``query`` selects
    ``model.id``."""
    ids = session.scalars(_of_page(session, query.with_only_columns(model.id), model, page, missing)).all()
    for start in range(0, len(ids), _CHUNK):
        chunk = ids[start : start + _CHUNK]
        found = {row.id: row for row in session.execute(query.where(model.id.in_(chunk)))}
        yield from (found[each] for each in chunk if each in found)


def order(model: Any, page: Page) -> Sequence[ColumnElement[Any]]:
    """Return the order: nulls first, ties by id; reversed if descending. Raises InvalidValue for an invalid sort
    key."""
    terms: list[ColumnElement[Any]] = []
    for name, descending in page.sort:
        column = _sort_column(model, page, name)
        if column.nullable:
            terms.append(_nulls_first(column.expression, descending))
        elif not _is_row_id(column):
            terms.append(_directed(column.expression, descending))
    terms.append(_directed(model.id.expression, _ends_descending(page)))
    return terms


class _nulls_first(ColumnElement[Any]):  # noqa: N801 - used like a function of SQL
    """A term of ORDER BY: a column, nulls first; last if descending.

    SQLite and MariaDB have nulls first by themselves, and use an index for it, unless the statement says so.
    """

    inherit_cache = True
    _traverse_internals = [("column", InternalTraversal.dp_clauseelement), ("descending", InternalTraversal.dp_boolean)]

    def __init__(self, column: ColumnElement[Any], descending: bool) -> None:
        self.column, self.descending = column, descending


@compiles(_nulls_first)
def _plain(element: _nulls_first, compiler: SQLCompiler, **kw: Any) -> str:
    return f"{compiler.process(element.column, **kw)} {'DESC' if element.descending else 'ASC'}"


@compiles(_nulls_first, "postgresql")
def _in_words(element: _nulls_first, compiler: SQLCompiler, **kw: Any) -> str:
    return f"{_plain(element, compiler, **kw)} NULLS {'LAST' if element.descending else 'FIRST'}"


def after_marker(reader: Reader, query: Query, model: Any, page: Page, missing: Missing) -> Query:
    """Return ``query`` without the rows up to the marker: a > x OR (a = x AND b > y) OR (a = x AND b = y AND id > z)"""
    if page.marker is None:
        return query
    named = [(_sort_column(model, page, name), descending) for name, descending in page.sort]
    keys = [(column, descending) for column, descending in named if not _is_row_id(column)]
    columns = [column for column, _ in keys]
    within = () if page.within is None else (page.within,)
    marker = reader.execute(select(model.id, *columns).where(getattr(model, page.key) == page.marker, *within)).first()
    if marker is None:
        raise missing(page.marker)
    marker_id, *values = marker
    alternatives: list[ColumnElement[bool]] = []
    same: list[ColumnElement[bool]] = []
    for (column, descending), value in zip(keys, values, strict=True):
        alternatives.append(and_(*same, _later(column, value, descending)))
        same.append(column.is_not_distinct_from(value))
    later_id = model.id < marker_id if _ends_descending(page) else model.id > marker_id
    return query.where(or_(*alternatives, and_(*same, later_id)))


def _is_row_id(column: InstrumentedAttribute[Any]) -> bool:
    """Return whether the column is the one that breaks ties."""
    return column.key == "id"


def _ends_descending(page: Page) -> bool:
    return bool(page.sort) and page.sort[-1].descending


def _directed(term: ColumnElement[Any], descending: bool) -> ColumnElement[Any]:
    return term.desc() if descending else term.asc()


def _sort_column(model: Any, page: Page, name: str) -> InstrumentedAttribute[Any]:
    if page.columns is None and _is_sortable(model, name):
        attribute: InstrumentedAttribute[Any] = getattr(model, name)
        return attribute
    columns = page.columns or {}
    if name not in columns:
        sortable = columns or [each.key for each in model.__mapper__.column_attrs if _is_sortable(model, each.key)]
        raise InvalidValue(
            message=f'The sort_key value "{name}" is an invalid field for sorting.{did_you_mean(name, sortable)}'
        )
    return columns[name]


def _is_sortable(model: Any, name: str) -> bool:
    column = model.__mapper__.column_attrs.get(name)
    return column is not None and name not in _NOT_SORTABLE and not isinstance(column.columns[0].type, Json)


def _later(column: InstrumentedAttribute[Any], value: Any, descending: bool) -> ColumnElement[bool]:
    if value is None:
        # Nulls come first; in descending order they come last, followed only by other nulls.
        return false() if descending else column.is_not(None)
    bound = literal(value, column.type)
    if descending:
        earlier: ColumnElement[bool] = column < bound
        return or_(earlier, column.is_(None)) if column.nullable else earlier
    later: ColumnElement[bool] = column > bound
    return later
