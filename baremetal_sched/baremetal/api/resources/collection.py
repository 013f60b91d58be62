"""Requests about the resources of this API: lists, single resources, creation and PATCH."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from flask import Response
from marshmallow import Schema
from sqlalchemy import ColumnElement, and_
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources.query import PAGING, BaremetalQuery
from baremetal_sched.db import paging
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.db.types import Rows
from baremetal_sched.documents import patch
from baremetal_sched.documents.fields import Fields
from baremetal_sched.documents.schema import canonical_uuid, load
from baremetal_sched.errors import InvalidValue
from baremetal_sched.web.http_errors import TooNew
from baremetal_sched.web.listing import Selection, listed, require_field, select_fields
from baremetal_sched.web.responses import json_response
from baremetal_sched.web.view import Resource, View

PATCH_ESCAPES_SINCE = 98

#: A patch of this many bytes is evaluated before the transaction that writes. A smaller one takes less than a query.
AHEAD_FROM = 4096

#: The conditions that the filters in a query string stand for.
Narrow = Callable[[BaremetalQuery], Sequence[ColumnElement[bool]]]


def list_all(
    call: BaremetalCall,
    session: Session,
    resource: Resource,
    *,
    filters: Mapping[str, int] = MappingProxyType({}),
    narrow: Narrow = lambda query: (),
    within: Sequence[ColumnElement[bool]] = (),
) -> Response:
    """A page of a collection.

    ``filters``: the parameters of the filters with the first microversion of each; ``narrow`` makes conditions of them.
    ``within``: conditions of everything that the caller may see. The order of checks: versions, fields, page, filters.
    """
    query = list_query(call, resource, filters)
    selection = selected(call, query, resource)
    for name, since in filters.items():
        query.require(since, name)
    page = parse_page(call, query, resource.fields, any_marker=resource.any_marker)
    view = resource.view(resource, selection.shown, call.version, call.base_url)
    page.within = and_(*within) if within else None
    statement = view.query.where(*within, *narrow(query))
    rows = paging.select_page(session, statement, resource.model, page, resource.missing)
    return page_response(call, query, view, rows, page, selection)


def list_query(call: BaremetalCall, resource: Resource, filters: Iterable[str]) -> BaremetalQuery:
    """The query string of a list. Raises InvalidValue for parameters that it does not have."""
    selecting = () if call.in_detail else ("fields", "detail") if resource.detail else ("fields",)
    return BaremetalQuery(call, (*filters, *PAGING, *selecting))


def selected(call: BaremetalCall, query: BaremetalQuery, resource: Resource) -> Selection:
    """The fields that a list shows. Raises TooNew, InvalidValue."""
    if call.in_detail:
        return Selection(resource.fields.visible(call.version))
    return select_fields(call, query, resource)


def parse_page(call: BaremetalCall, query: BaremetalQuery, fields: Fields, *, any_marker: bool = False) -> Page:
    """Return the page that the request asks for. ``any_marker``: the marker need not be a UUID."""
    sort_key = query.text("sort_key") or "id"
    require_field(call, fields, [sort_key])
    named = query.ident("marker") if any_marker else None
    marker = named if named is not None and canonical_uuid(named) is None else query.uuid("marker")
    return Page(query.limit(), marker, [SortKey(sort_key, query.descending())])


def page_response(
    call: BaremetalCall,
    query: BaremetalQuery,
    view: View,
    rows: Rows,
    page: Page,
    selection: Selection,
    *,
    only: bool = False,
) -> Response:
    """The rows, which ``view`` selected, as a list; a full one links to the next page (unless ``only`` one can
    match)."""
    members = listed(view, rows, page)
    document: dict[str, Any] = {view.resource.plural: members.documents}
    if members.marker is not None and not only:
        url = f"{call.base_url}{call.http.path}"
        document["next"] = query.next_page(url, members.marker, page.limit, selection.named)
    return json_response(document)


def load_creation(call: BaremetalCall, resource: Resource, schema: Schema, argument: str) -> dict[str, Any]:
    """The body of a POST as ``schema`` loads it. Raises InvalidValue; TooNew for fields that the client cannot know."""
    call.refuse_query()
    body = call.body()
    values = load(schema, body, argument)
    require_field(call, resource.fields, [name for name, value in values.items() if value is not None])
    return values


def load_patch(
    call: BaremetalCall, resource: Resource, find: Callable[[], object], *, finds_from: str = "versions"
) -> patch.Patch:
    """The body as a patch of the resource. Raises InvalidValue; TooNew if it sets what the client cannot know.

    Mistakes in "fields", "versions" and "values" are looked for in this order. From ``finds_from`` on, a missing
    resource comes first: ``find`` raises its error. ``find`` is not called if the body is right.
    """
    operations = parsed_patch(call)
    fields = resource.fields
    known = [name for name in fields.patchable if not resource.newer_is_unknown or fields[name].since <= call.version]
    checks: dict[str, Callable[[], None]] = {
        "fields": lambda: patch.require_roots(operations, known),
        "versions": lambda: _require_known_to_set(call, fields, operations),
        "values": lambda: patch.require_values(operations),
    }
    first = list(checks).index(finds_from)
    for position, check in enumerate(checks.values()):
        try:
            check()
        except (InvalidValue, TooNew):
            if position >= first:
                find()
            raise
    return operations


def parsed_patch(call: BaremetalCall) -> patch.Patch:
    """The body as a patch: the same one for the request, however often its view runs."""
    if call.patch is None:
        options = call.settings.api
        call.patch = patch.parse(
            call.body(),
            escapes=call.version >= PATCH_ESCAPES_SINCE,
            most_operations=options.max_patch_operations,
            max_depth=options.max_json_body_depth,
        )
    call.patch.ahead = call.evaluates_ahead
    return call.patch


def evaluate_patch(view: Callable[..., Response], call: BaremetalCall, session: Session, **parameters: Any) -> None:
    """The first pass of a PATCH, which locks nothing: a patch that may take long is evaluated for the stored document.

    ``view`` runs until the result is known. When it runs again, in the transaction that writes, the result counts if
    the stored document is still the same; otherwise the patch is evaluated again.
    """
    if len(call.raw_body) < AHEAD_FROM:
        return
    call.evaluates_ahead = True
    try:
        view(call, session, **parameters)
    except patch.EvaluatedAhead:
        pass
    finally:
        call.evaluates_ahead = False


def _require_known_to_set(call: BaremetalCall, fields: Fields, operations: patch.Patch) -> None:
    whole = [operation for operation in operations if patch.is_whole(operation) and operation["op"] != "remove"]
    require_field(call, fields, map(patch.root, whole))
