"""Rows as JSON: the columns of a view, and how a row becomes a document, without entities or schemas."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement
from sqlalchemy.orm.attributes import InstrumentedAttribute

from baremetal_sched.db import json_rows
from baremetal_sched.db.json_text import members
from baremetal_sched.db.paging import Missing
from baremetal_sched.db.types import Reader
from baremetal_sched.documents.fields import FieldKind, Fields
from baremetal_sched.documents.json_template import Template, part

Render = Callable[[Any], Any]
#: What to select for a field, and how to convert its value to JSON; None: the database does so, by the column's type.
#: The value is a text, and empty for NULL.
Column = tuple[ColumnElement[Any], Render | None]

EMPTY_OBJECT = orjson.Fragment(b"{}")

#: Parameters of a query without any.
NO_VALUES: Mapping[str, Any] = {}

#: Stands for the key in links.
ANY = part(0)

NO_LINKS = Template({}, braces=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Listing:
    """The options of lists of one resource.

    ``list_default``: the default fields of a list. ``invalid_field`` is the message for unknown fields. ``detail``:
    whether the list has that parameter. ``fields_since`` and ``detail_since``: the first versions with these
    parameters. ``newer_is_unknown``: whether newer fields are reported as unknown.
    """

    fields: Fields
    list_default: tuple[str, ...]
    invalid_field: str = 'Field(s) "{}" are not valid'
    detail: bool = True
    fields_since: int = 0
    detail_since: int = 0
    newer_is_unknown: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Resource(Listing):
    """The common part of the views of one collection.

    ``path``: that of the collection, also in links; ``plural``: the name of a list in bodies. ``key``: the column of
    ``model`` that identifies a resource in paths and markers, with characters that neither JSON nor a URL escapes.
    ``sort_columns``: columns for sorting, by the names that clients know; None: any column. ``any_marker``: a marker
    that is not a UUID is reported as not found.
    """

    path: str
    plural: str
    model: Any
    missing: Missing
    view: "type[View]"
    key: str = "uuid"
    sort_columns: Mapping[str, InstrumentedAttribute[Any]] | None = None
    any_marker: bool = False

    @property
    def key_column(self) -> ColumnElement[Any]:
        """The column of ``key``."""
        expression: ColumnElement[Any] = getattr(self.model, self.key).expression
        return expression


class View:
    """Some ``fields`` of a resource for a client of the minor version ``version``; ``base`` is what links begin with.

    Most fields come out of the database as one text of JSON, which goes out as it is; what Python must look at, and
    the links, are put behind it. A resource with fields of Kind.COMPUTED or MASKED has a subclass whose ``column``
    knows them, one with links a subclass whose ``links`` does. ``more``: columns that a subclass asks for besides.
    """

    def __init__(
        self,
        resource: Resource,
        fields: Iterable[str],
        version: int,
        base: str,
        *,
        more: tuple[ColumnElement[str], ...] = (),
    ) -> None:
        names = tuple(fields)
        self.resource = resource
        self._layout = _layout(type(self), resource, names, version)  # type: ignore[arg-type] # classes can be hashed
        #: SELECT key, (the JSON text), others, more FROM (the resource's table); only texts.
        self.query = json_rows.texts_of(resource.model, *self._layout.columns, *more)
        self.template = self.links(resource, names, base)

    @classmethod
    def links(cls, resource: Resource, names: tuple[str, ...], base: str) -> Template:
        """Return the members that depend only on the key, which is ``ANY`` in them: the links."""
        return NO_LINKS

    @classmethod
    def column(cls, name: str, resource: Resource, version: int) -> Column | None:
        """Return the expression to select for a field; None if the field is added otherwise."""
        kind = resource.fields[name].kind
        if kind in (FieldKind.LINKS, FieldKind.NESTED_LINKS):
            return None
        expression: ColumnElement[Any] = getattr(resource.model, name).expression
        return json_rows.array_or_empty(expression) if kind is FieldKind.ARRAY else expression, None

    def computed(self, row: Sequence[str]) -> dict[str, Any]:
        """Return the fields that are not JSON yet, from a row of ``query``."""
        return {name: render(row[index]) for name, index, render in self._layout.renders}

    def text(self, row: Sequence[str]) -> str:
        """Return the document of a row of ``query`` as JSON text."""
        key, plain = row[:2]
        computed = orjson.dumps(self.computed(row))[1:-1].decode()
        links = self.template.fill(key)
        if plain and computed and links:
            return f"{{{plain},{computed},{links}}}"
        return f"{{{','.join(filter(None, (plain, computed, links)))}}}"

    def render(self, row: Sequence[str]) -> orjson.Fragment:
        """Return the document of a row, for inclusion in another."""
        return orjson.Fragment(self.text(row))

    def fetch_text(
        self, reader: Reader, key: str, *conditions: ColumnElement[bool], values: Mapping[str, Any] = NO_VALUES
    ) -> str:
        """Return ``text`` of the resource with this key, if the conditions hold; ``values`` are other parameters of the
        query. Raises ``missing``."""
        row = json_rows.fetch(reader, self.query, self.resource.key_column, key, conditions, values)
        if row is None:
            raise self.resource.missing(key)
        return self.text(row)

    def fetch(
        self, reader: Reader, key: str, *conditions: ColumnElement[bool], values: Mapping[str, Any] = NO_VALUES
    ) -> orjson.Fragment:
        """Return ``render`` of the resource with this key. Raises like ``fetch_text``."""
        return orjson.Fragment(self.fetch_text(reader, key, *conditions, values=values))


class _Layout(NamedTuple):
    """The columns of a view (the key, the JSON text, others), and where each of the others goes."""

    columns: list[ColumnElement[Any]]
    renders: list[tuple[str, int, Render]]


@lru_cache(maxsize=512)
def _layout(view: type[View], resource: Resource, names: tuple[str, ...], version: int) -> _Layout:
    """Cached, because SQLAlchemy takes longer to create these expressions than the database to find the row."""
    plain: list[tuple[str, ColumnElement[Any]]] = []
    rest: list[ColumnElement[Any]] = []
    renders: list[tuple[str, int, Render]] = []
    for name in names:
        match view.column(name, resource, version):
            case (expression, None):
                plain.append((name, expression))
            case (expression, render):
                renders.append((name, 2 + len(rest), render))
                rest.append(expression)
    return _Layout([resource.key_column, members(plain), *rest], renders)


def document(entity: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return some columns of an entity as JSON, for resources that are few."""
    values = {name: getattr(entity, name) for name in names}
    return {name: timestamp(value) if isinstance(value, datetime) else value for name, value in values.items()}


def timestamp(value: datetime | None) -> str | None:
    """Return a time stamp in the API's format, in UTC."""
    return None if value is None else value.isoformat() + "+00:00"
