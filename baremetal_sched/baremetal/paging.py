"""Order and pages of lists as SQL: the part of a list after a marker, the same on every database."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, case, false, literal, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import InstrumentedAttribute

from baremetal_sched.db.models import Base
from baremetal_sched.db.types import Json, Query, Rows
from baremetal_sched.errors import InvalidValue, SchedulerError

#: Columns that are ours, or that Ironic works out.
_NOT_SORTABLE = ("revision", "allocation_uuid")

#: Makes the error that says that the thing with this UUID does not exist.
Missing = Callable[[str], SchedulerError]


@dataclass
class Page:
    """Which part of the list: at most ``limit`` things after the one with UUID ``marker``, in this order."""

    limit: int
    marker: str | None = None
    sort_key: str = "id"
    descending: bool = False


def select_page(session: Session, query: Query, model: type[Base], page: Page, missing: Missing) -> Rows:
    """The rows of ``query``, which selects from ``model``, that are on the page.

    Raises what ``missing`` makes if there is no such marker, InvalidValue for a sort key that cannot be one.
    """
    query = after_marker(session, query, model, page, missing)
    return session.execute(query.order_by(*order(model, page)).limit(page.limit)).all()


def order(model: Any, page: Page) -> Sequence[ColumnElement[Any]]:
    """Nulls first, ties by id; the other way round when descending. Raises InvalidValue for a bad sort key."""
    column = _sort_column(model, page.sort_key)
    terms: list[ColumnElement[Any]] = []
    if column.nullable:
        terms.append(_not_null(column))
    if page.sort_key != "id":
        terms.append(column.expression)
    terms.append(model.id.expression)
    return [term.desc() if page.descending else term.asc() for term in terms]


def after_marker(session: Session, query: Query, model: Any, page: Page, missing: Missing) -> Query:
    """``query`` without what comes up to the marker."""
    if page.marker is None:
        return query
    column = _sort_column(model, page.sort_key)
    marker = session.execute(select(model.id, column).where(model.uuid == page.marker)).first()
    if marker is None:
        raise missing(page.marker)
    marker_id, value = marker
    later_id = model.id < marker_id if page.descending else model.id > marker_id
    if page.sort_key == "id":
        return query.where(later_id)
    return query.where(or_(_later(column, value, page.descending), and_(column.is_not_distinct_from(value), later_id)))


def _sort_column(model: Any, name: str) -> InstrumentedAttribute[Any]:
    column = model.__mapper__.column_attrs.get(name)
    if column is None or name in _NOT_SORTABLE or isinstance(column.columns[0].type, Json):
        raise InvalidValue(message=f'The sort_key value "{name}" is an invalid field for sorting')
    attribute: InstrumentedAttribute[Any] = getattr(model, name)
    return attribute


def _not_null(column: InstrumentedAttribute[Any]) -> ColumnElement[int]:
    return case((column.is_(None), 0), else_=1)


def _later(column: InstrumentedAttribute[Any], value: Any, descending: bool) -> ColumnElement[bool]:
    if value is None:
        # Nulls come first; when descending they come last, and only other nulls follow.
        return false() if descending else column.is_not(None)
    bound = literal(value, column.type)
    if descending:
        earlier: ColumnElement[bool] = column < bound
        return or_(earlier, column.is_(None)) if column.nullable else earlier
    later: ColumnElement[bool] = column > bound
    return later
