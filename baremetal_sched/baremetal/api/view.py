"""Rows as JSON: which columns a view needs, and how a row becomes a document. No entity, no schema per row."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Row, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import secrets
from baremetal_sched.baremetal.api.links import links
from baremetal_sched.baremetal.fields import Fields, Kind
from baremetal_sched.baremetal.paging import Missing
from baremetal_sched.db.models import Base
from baremetal_sched.db.types import as_text, dump_json

Render = Callable[[Any], Any]
Column = tuple[ColumnElement[Any], Render | None]

EMPTY_OBJECT = orjson.Fragment(b"{}")
EMPTY_ARRAY = orjson.Fragment(b"[]")


@dataclass(frozen=True)
class Resource:
    """What the views of one collection have in common.

    ``path``: below /v1, also in links; ``plural``: what a list is called in bodies; ``list_default``: the fields that a
    list shows. ``model`` has a column ``uuid``. ``invalid_field`` is the complaint about a name that is no field.
    ``detail``: does the list have that parameter? ``newer_is_unknown``: is a field that the client cannot know just no
    field to it, when it is asked for?
    """

    path: str
    plural: str
    model: Any
    fields: Fields
    list_default: tuple[str, ...]
    missing: Missing
    view: "type[View]"
    invalid_field: str = 'Field(s) "{}" are not valid'
    detail: bool = True
    newer_is_unknown: bool = False


class View:
    """Some ``fields`` of a resource for a client of microversion 1.``version``; ``base`` is what links begin with.

    A resource with fields of Kind.COMPUTED has a subclass whose ``column`` knows them.
    """

    def __init__(
        self, resource: Resource, fields: Iterable[str], version: int, base: str, *, with_links: bool = True
    ) -> None:
        self.resource = resource
        self.version = version
        self._base = base
        self._names = tuple(fields)
        self._with_links = with_links
        self._links = [
            (name, resource.fields[name].kind is Kind.NESTED_LINKS)
            for name in self._names
            if name != "links" and resource.fields[name].kind in (Kind.LINKS, Kind.NESTED_LINKS)
        ]
        #: What to select for ``render``; the UUID comes first.
        self.columns: list[ColumnElement[Any]] = [resource.model.uuid.expression]
        self._renders: list[tuple[str, int, Render | None]] = []
        for name in self._names:
            column = self.column(name)
            if column is not None:
                self._renders.append((name, len(self.columns), column[1]))
                self.columns.append(column[0])

    def column(self, name: str) -> Column | None:
        """The column to select for a field, and what makes JSON of its value; None for what comes in another way."""
        kind = self.resource.fields[name].kind
        if kind in (Kind.LINKS, Kind.NESTED_LINKS):
            return None
        expression: ColumnElement[Any] = getattr(self.resource.model, name).expression
        match kind:
            case Kind.JSON:
                return as_text(expression), _object
            case Kind.ARRAY:
                return as_text(expression), _array
            case Kind.MASKED:
                return as_text(expression), masked
            case Kind.TIME:
                return expression, timestamp
            case _:
                return expression, None

    def render(self, row: Row[Any]) -> dict[str, Any]:
        """The document of one row."""
        uuid = row[0]
        document: dict[str, Any] = {}
        for name, index, convert in self._renders:
            value = row[index]
            document[name] = convert(value) if convert else value
        if self._with_links:
            document["links"] = links(self._base, self.resource.path, uuid)
        for name, nested in self._links:
            found = links(self._base, self.resource.path, uuid, name)
            document[name] = [found] if nested else found
        return document

    def fetch(self, session: Session, uuid: str) -> dict[str, Any]:
        """The document of the thing with this UUID. Raises what ``missing`` of the resource makes."""
        row = session.execute(select(*self.columns).where(self.resource.model.uuid == uuid)).first()
        if row is None:
            raise self.resource.missing(uuid)
        return self.render(row)


def uuid_of_parent(model: type[Base], own_key: Any) -> ColumnElement[Any]:
    """(SELECT uuid FROM <model> WHERE id = <own_key>)"""
    parent: Any = model
    return select(parent.uuid).where(parent.id == own_key).scalar_subquery()


def _object(text: str | None) -> Any:
    return orjson.Fragment(text) if text else EMPTY_OBJECT


def _array(text: str | None) -> Any:
    return orjson.Fragment(text) if text else EMPTY_ARRAY


def masked(text: str | None, *, instance: bool = False) -> Any:
    """A JSON object with its secrets masked; ``instance``: it is an instance_info."""
    if not text or text == "{}":
        return EMPTY_OBJECT
    return orjson.Fragment(dump_json(secrets.mask(json.loads(text), instance=instance)))


def timestamp(value: datetime | None) -> str | None:
    """A time stamp as the API shows it, in UTC."""
    return None if value is None else value.isoformat() + "+00:00"
