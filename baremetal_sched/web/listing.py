"""Lists: fields, filters, sorting and paging."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Response
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.db import paging
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.db.types import Rows
from baremetal_sched.documents.fields import Fields
from baremetal_sched.errors import InvalidValue
from baremetal_sched.suggestions import did_you_mean
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import PAGING, Query
from baremetal_sched.web.responses import json_response
from baremetal_sched.web.view import Listing, Resource, View


@dataclass(frozen=True)
class Filter:
    """A filter parameter of a list: its first minor version, how it is parsed, and its condition.

    ``read`` is a method of Query, or a function like one; ``condition`` is called with its result if the parameter is
    given. Without a condition the value is only checked, and the list applies it.
    """

    name: str
    condition: Callable[[Any], ColumnElement[bool]] | None
    since: int = 0
    read: Callable[[Query, str], Any] = Query.text


@dataclass
class Selection:
    """The requested fields; ``named`` are the ones that the link to the next page must name."""

    shown: Sequence[str]
    named: Sequence[str] | None = None


@dataclass
class Listed:
    """A page of a list: its documents, and the marker of the next page, or None."""

    documents: list[orjson.Fragment]
    marker: str | None


def list_all(
    call: Call,
    session: Session,
    resource: Resource,
    *,
    detailed: bool = True,
    filters: Sequence[Filter] = (),
    conditions: Sequence[ColumnElement[bool]] = (),
    sort: Sequence[SortKey] = (),
) -> Response:
    """Return a page of a collection: ``{"<plural>": […], "<plural>_links": [{"rel": "next", "href": …}]}``.

    ``detailed``: all fields that the client knows, instead of only ``list_default``. ``sort``: the default order;
    otherwise the oldest come first. Raises InvalidValue for unknown parameters and invalid values, TooNew, and the
    resource's ``missing`` for an unknown marker.
    """
    query = Query(call, (*PAGING, *(each.name for each in filters)))
    known = resource.fields.visible(call.version)
    view = resource.view(resource, known if detailed else known_defaults(call, resource), call.version, call.base_url)
    found = read(session, view, parse_page(query, resource, sort), *conditions, *narrowed(query, filters))
    document: dict[str, Any] = {resource.plural: found.documents}
    if found.marker is not None:
        document[f"{resource.plural}_links"] = query.next_link(found.marker)
    return json_response(document)


def narrowed(query: Query, filters: Iterable[Filter]) -> list[ColumnElement[bool]]:
    """Return the conditions of the given filters. Raises TooNew, InvalidValue."""
    conditions = []
    for each in filters:
        query.require(each.since, each.name)
        conditions += conditions_of(query, (each,))
    return conditions


def conditions_of(query: Query, filters: Iterable[Filter]) -> list[ColumnElement[bool]]:
    """Return the conditions of the given filters, whatever the microversion. Raises InvalidValue."""
    given = [(each.condition, each.read(query, each.name)) for each in filters if query.has(each.name)]
    return [condition(value) for condition, value in given if condition is not None]


def parse_page(query: Query, resource: Resource, sort: Sequence[SortKey] = ()) -> Page:
    """Return the requested page; ``sort`` is the default order. Raises TooNew, InvalidValue."""
    keys = query.sort(sort)
    for name, _ in keys:
        require_field(query.call, resource.fields, [name])
    return Page(query.limit(), query.text("marker"), keys, resource.sort_columns, resource.key)


def read(session: Session, view: View, page: Page, *conditions: ColumnElement[bool]) -> Listed:
    """Return the documents on the page. Raises the resource's ``missing`` for an unknown marker."""
    resource = view.resource
    statement = view.query.where(*conditions)
    return listed(view, paging.select_page(session, statement, resource.model, page, resource.missing), page)


def listed(view: View, rows: Rows, page: Page) -> Listed:
    """Return rows selected by the query of ``view`` as documents. A full page may have a next page."""
    documents = [view.render(row) for row in rows]
    return Listed(documents, rows[-1][0] if rows and len(rows) == page.limit else None)


def select_fields(call: Call, query: Query, listing: Listing) -> Selection:
    """Return the fields selected by ``fields`` and ``detail``. Raises TooNew, InvalidValue."""
    names = query.names("fields")
    detail = query.flag("detail")
    if query.has("detail") and call.version < listing.detail_since:
        raise InvalidValue(message=f"Invalid query parameter ?detail={detail} received.")
    if detail and names:
        raise InvalidValue(message="Can not specify ?detail=True and fields in the same request.")
    if detail:
        return Selection(listing.fields.visible(call.version))
    if names:
        check_fields(call, names, listing)
    shown = names or known_defaults(call, listing)
    return Selection(shown, shown)


def known_defaults(call: Call, listing: Listing) -> list[str]:
    """Return the default fields of a list that the client knows."""
    return [name for name in listing.list_default if listing.fields[name].since <= call.version]


def check_fields(call: Call, names: Iterable[str], listing: Listing) -> None:
    """Raise InvalidValue for a name that cannot be selected, TooNew for one that is newer than the client."""
    call.require_version(listing.fields_since)
    for name in names:
        newer = name in listing.fields and listing.fields[name].since > call.version
        if name not in listing.fields or not listing.fields[name].selectable or (newer and listing.newer_is_unknown):
            known = [known for known in listing.fields.visible(call.version) if listing.fields[known].selectable]
            raise InvalidValue(message=listing.invalid_field.format(name) + did_you_mean(name, known))
        if newer:
            call.require_version(listing.fields[name].since)


def selected_fields(call: Call, resource: Resource) -> Sequence[str]:
    """Return the fields selected in a request for one resource, which accepts only ``fields``."""
    if not call.query:
        return resource.fields.visible(call.version)
    query = Query(call, ("fields",))
    names = query.names("fields")
    if query.has("fields"):
        check_fields(call, names, resource)
    return names or resource.fields.visible(call.version)


def show(call: Call, session: Session, resource: Resource, key: str) -> Response:
    """Return one resource, or the requested ``fields`` of it. Raises ``missing`` if it does not exist."""
    view = resource.view(resource, selected_fields(call, resource), call.version, call.base_url)
    return json_response(view.fetch(session, key))


def whole(call: Call, resource: Resource) -> View:
    """Return the view with all fields that the client knows."""
    return resource.view(resource, resource.fields.visible(call.version), call.version, call.base_url)


def require_field(call: Call, fields: Fields, names: Iterable[str]) -> None:
    """Raise TooNew, with the microversion that has them all, if one of ``names`` is a newer field."""
    call.require_version(max((fields[name].since for name in names if name in fields), default=0))
