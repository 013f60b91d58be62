"""/nodes: a list of nodes, with the filters of the bare metal API's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.nodes.node_filters import FILTERS, TRAIT_FILTERS, parse_filters
from baremetal_sched.baremetal.api.resources.view import split_traits
from baremetal_sched.baremetal.conductors.ownership import NO_MEMBERS
from baremetal_sched.baremetal.matching.reasons import reason, with_provider
from baremetal_sched.baremetal.nodes.node_list import NodeFilters, select_nodes
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node, NodeTrait, table_of
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.db.sql_functions import string_agg
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.machines import states
from baremetal_sched.scheduling.api.policies import CAPACITY
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import submitted, without
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.http_errors import HttpError, message_of

_COLUMNS = (
    Node.uuid,
    Node.name,
    Node.resource_class,
    Node.provision_state,
    Node.power_state,
    Node.maintenance,
    Node.conductor_group,
    Node.driver,
    Node.owner,
    Node.lessee,
)


@dataclass(frozen=True)
class Place:
    """Which page: at most ``limit`` nodes after the one with UUID ``after``, or before the one with UUID ``before``;
    without either the first ones."""

    limit: int
    after: str | None = None
    before: str | None = None


@dataclass(frozen=True)
class NodePage:
    """Some nodes, and the UUIDs by which the next and the previous page are requested, or None."""

    rows: Sequence["NodeRow"]
    next: str | None = None
    previous: str | None = None


@dataclass(frozen=True)
class NodeRow:
    """A node as the list shows it. ``why``: why it is not free, None if it is."""

    uuid: str
    name: str | None
    resource_class: str | None
    provision_state: str
    power_state: str | None
    maintenance: bool
    conductor_group: str
    driver: str
    owner: str | None
    lessee: str | None
    why: str | None
    traits: Sequence[str]


def read(session: Session, filters: NodeFilters, place: Place, visible: Visibility) -> NodePage:
    """Return a page of the visible nodes that the filters let through, the oldest first, children included.

    Two statements, one of which finds the node that the page begins behind. Raises NodeNotFound if it does not exist.
    """
    filters.include_children = True
    backwards = place.before is not None
    # One more than is shown: it tells whether there is another page.
    page = Page(
        limit=place.limit + 1,
        marker=place.before if backwards else place.after,
        sort=(SortKey("id", descending=backwards),),
    )
    found = [_row(values) for values in select_nodes(session, filters, page, _query(), NO_MEMBERS, visible)]
    goes_on = len(found) > place.limit
    rows = found[: place.limit]
    if backwards:
        rows.reverse()
        return NodePage(rows, rows[-1].uuid if rows else None, rows[0].uuid if goes_on else None)
    return NodePage(rows, rows[-1].uuid if goes_on else None, rows[0].uuid if rows and place.after else None)


def _query() -> Any:
    """SELECT n.uuid, …, <why it is not free>, (SELECT group_concat(trait) …) FROM nodes n LEFT JOIN <its provider> …"""
    traits = select(string_agg(NodeTrait.trait)).where(NodeTrait.node_id == Node.id).scalar_subquery()
    return select(*_COLUMNS, reason(), traits).select_from(with_provider(table_of(Node)))


def _row(values: Any) -> NodeRow:
    fields: list[Any] = [*values[:-1], split_traits(values[-1])]
    return NodeRow(*fields)


#: The number of nodes on a page: the default and the maximum.
USUAL, MOST = 50, 200

_PAGING = ("limit", "marker", "before")

#: The API's filters, except for the one whose answer takes more statements for a larger fleet.
_FILTERS = tuple(name for name in FILTERS if name != "conductor")

#: What the form has controls for; the other filters come by links, and are kept.
CONTROLS = (
    *TRAIT_FILTERS,
    *("resource_class", "conductor_group", "provision_state", "maintenance", "associated"),
)


_STATES = [("", "any"), *((state, state) for state in sorted(states.PROVISION_STATES))]


class MarkerGone(HttpError):
    """A page begins behind a node that does not exist any more."""

    status = 404
    template = "Node {node}, after which the page begins, does not exist any more. Begin with the first page."


def show_nodes(call: UiCall, session: Session) -> Response:
    """GET /nodes"""
    visible = call.listed("node", "project")
    query = submitted(call, (*_FILTERS, *_PAGING))
    try:
        filters = parse_filters(call, query)
        place = Place(min(query.integer("limit", least=1) or USUAL, MOST), query.uuid("marker"), query.uuid("before"))
        if place.after is not None and place.before is not None:
            raise InvalidValue(message="A page is either after a marker or before one: leave out marker or before.")
    except InvalidValue as error:
        return _page(call, NodePage(()), 400, complaint=message_of(error))
    try:
        found = read(session, filters, place, visible)
    except NodeNotFound as error:
        raise MarkerGone(node=place.after or place.before) from error
    return _page(call, found, 200, complaint=None)


def _page(call: UiCall, found: NodePage, status: int, **values: Any) -> Response:
    given = dict(call.query)
    kept = without(call.query, *_PAGING[1:])
    return page(
        call,
        "nodes.html",
        status,
        found=found,
        given=given,
        kept=kept,
        hidden=[(name, value) for name, value in call.query if name not in (*CONTROLS, *_PAGING[1:])],
        active=[(name, value, without(call.query, name, *_PAGING[1:])) for name, value in _active(call)],
        states=_STATES,
        shows_offer=call.allows(CAPACITY),
        **values,
    )


def _active(call: UiCall) -> Sequence[tuple[str, str]]:
    """The filters of the request, as the page names them."""
    return [(name, value) for name, value in dict.fromkeys(call.query) if name not in _PAGING]
