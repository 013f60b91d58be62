"""What requests about the resources of this API have in common: lists, single things, creation and PATCH."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response
from marshmallow import Schema
from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import paging, patch
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.errors import TooNew
from baremetal_sched.baremetal.api.query import PAGING, Query
from baremetal_sched.baremetal.api.view import Listing, Resource, View
from baremetal_sched.baremetal.fields import Fields
from baremetal_sched.baremetal.identifiers import canonical_uuid
from baremetal_sched.baremetal.paging import Page
from baremetal_sched.baremetal.schemas.base import load
from baremetal_sched.db.types import Rows
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.responses import json_response

PATCH_ESCAPES_SINCE = 98

#: The conditions that the filters in a query string stand for.
Narrow = Callable[[Query], Sequence[ColumnElement[bool]]]


@dataclass
class Selection:
    """The fields that a request asks for; ``named`` are those that its ``next`` has to name."""

    shown: Sequence[str]
    named: Sequence[str] | None = None


def list_all(
    call: BaremetalCall,
    session: Session,
    resource: Resource,
    *,
    detailed: bool = False,
    path: str | None = None,
    filters: Mapping[str, int] | None = None,
    narrow: Narrow = lambda query: (),
) -> Response:
    """A page of a collection, at ``path`` (that of the resource if not given).

    ``detailed``: this is the address ending in /detail. ``filters``: the parameters of the filters with the first
    microversion of each; ``narrow`` makes conditions of them. The order of checks: versions, fields, page, filters.
    """
    filters = filters or {}
    selecting = () if detailed else ("fields", "detail") if resource.detail else ("fields",)
    query = Query(call, (*filters, *PAGING, *selecting))
    selection = Selection(resource.fields.visible(call.version)) if detailed else select_fields(call, query, resource)
    for name, since in filters.items():
        query.require(since, name)
    page = parse_page(call, query, resource.fields, any_marker=resource.any_marker)
    view = resource.view(resource, selection.shown, call.version, call.base_url)
    statement = view.query.where(*narrow(query))
    rows = paging.select_page(session, statement, resource.model, page, resource.missing)
    return page_response(call, query, view, rows, page, path or resource.path, selection)


def select_fields(call: BaremetalCall, query: Query, listing: Listing) -> Selection:
    """The fields that ``fields`` and ``detail`` of a list ask for. Raises TooNew, InvalidValue."""
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
    shown = names or [name for name in listing.list_default if listing.fields[name].since <= call.version]
    return Selection(shown, shown)


def check_fields(call: BaremetalCall, names: Iterable[str], listing: Listing) -> None:
    """Raise InvalidValue for a name that cannot be selected, TooNew for one that the client cannot know."""
    if call.version < listing.fields_since:
        raise TooNew
    for name in names:
        newer = name in listing.fields and listing.fields[name].since > call.version
        if name not in listing.fields or not listing.fields[name].selectable or (newer and listing.newer_is_unknown):
            raise InvalidValue(message=listing.invalid_field.format(name))
        if newer:
            raise TooNew


def parse_page(call: BaremetalCall, query: Query, fields: Fields, *, any_marker: bool = False) -> Page:
    """The page that the request asks for. ``any_marker``: the marker need not be a UUID, to be found or not."""
    sort_key = query.text("sort_key") or "id"
    if sort_key in fields and fields[sort_key].since > call.version:
        raise TooNew
    named = query.ident("marker") if any_marker else None
    marker = named if named is not None and canonical_uuid(named) is None else query.uuid("marker")
    return Page(query.limit(), marker, sort_key, query.descending())


def page_response(
    call: BaremetalCall,
    query: Query,
    view: View,
    rows: Rows,
    page: Page,
    path: str,
    selection: Selection,
    *,
    only: bool = False,
) -> Response:
    """The rows, which ``view`` selected, as a list that says where it goes on if it is full (and not ``only`` one can
    match)."""
    document: dict[str, Any] = {view.resource.plural: [view.render(record) for (record,) in rows]}
    if len(rows) == page.limit and not only:
        url = f"{call.base_url}/v1/{path}"
        document["next"] = query.next_url(url, view.uuid_of(rows[-1][0]), page.limit, selection.named)
    return json_response(document)


def selected_fields(call: BaremetalCall, resource: Resource) -> Sequence[str]:
    """The fields that a request for one thing, which may have ``fields`` and nothing else, asks for."""
    if not call.query:
        return resource.fields.visible(call.version)
    query = Query(call, ("fields",))
    names = query.names("fields")
    if query.has("fields"):
        check_fields(call, names, resource)
    return names or resource.fields.visible(call.version)


def show(call: BaremetalCall, session: Session, resource: Resource, uuid: str) -> Response:
    """One thing, or the ``fields`` of it that are asked for."""
    view = resource.view(resource, selected_fields(call, resource), call.version, call.base_url)
    return json_response(view.fetch(session, uuid))


def load_creation(call: BaremetalCall, resource: Resource, schema: Schema, argument: str) -> dict[str, Any]:
    """The body of a POST as ``schema`` loads it. Raises InvalidValue; TooNew for fields that the client cannot know."""
    call.refuse_query()
    body = call.body()
    values = load(schema, body, argument)
    require_known(call, resource.fields, values)
    return values


def require_known(call: BaremetalCall, fields: Fields, values: Mapping[str, Any]) -> None:
    """Raise TooNew if one of ``values`` is for a field that the client cannot know; null is forgiven."""
    if any(
        value is not None and name in fields and fields[name].since > call.version for name, value in values.items()
    ):
        raise TooNew


def load_patch(
    call: BaremetalCall,
    fields: Fields,
    find: Callable[[], object],
    *,
    found_for: str = "versions",
    newer_is_unknown: bool = False,
) -> patch.Patch:
    """The body as a patch of these fields. Raises InvalidValue; TooNew if it sets what the client cannot know.

    What is wrong may be "fields", "versions" or "values", and is looked for in this order. From ``found_for`` on, a
    thing that is not there comes first: ``find`` raises what says so. It is not called if nothing is wrong.
    ``newer_is_unknown``: what the client cannot know is no field at all.
    """
    operations = patch.parse(call.body(), escapes=call.version >= PATCH_ESCAPES_SINCE)
    known = [name for name in fields.patchable if not newer_is_unknown or fields[name].since <= call.version]
    checks: dict[str, Callable[[], None]] = {
        "fields": lambda: patch.require_roots(operations, known),
        "versions": lambda: _require_known_to_set(call, fields, operations),
        "values": lambda: patch.require_values(operations),
    }
    found_from = list(checks).index(found_for)
    for position, check in enumerate(checks.values()):
        try:
            check()
        except (InvalidValue, TooNew):
            if position >= found_from:
                find()
            raise
    return operations


def _require_known_to_set(call: BaremetalCall, fields: Fields, operations: patch.Patch) -> None:
    for operation in operations:
        sets = patch.is_whole(operation) and operation["op"] != "remove"
        if sets and fields[patch.root(operation)].since > call.version:
            raise TooNew


def created(call: BaremetalCall, session: Session, resource: Resource, uuid: str) -> Response:
    """The answer to a POST that made the thing with this UUID."""
    session.flush()
    document = whole(call, resource).fetch(session, uuid)
    return json_response(document, 201, {"Location": f"{call.base_url}/v1/{resource.path}/{uuid}"})


def updated(call: BaremetalCall, session: Session, resource: Resource, uuid: str) -> Response:
    """The answer to a PATCH of the thing with this UUID."""
    session.flush()
    return json_response(whole(call, resource).fetch(session, uuid))


def whole(call: BaremetalCall, resource: Resource) -> View:
    """The view with all fields that the client knows."""
    return resource.view(resource, resource.fields.visible(call.version), call.version, call.base_url)
