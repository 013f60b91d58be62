"""/nodes: a list of nodes, with the filters of the bare metal API's."""

from collections.abc import Sequence
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.nodes.node_filters import FILTERS, TRAIT_FILTERS, parse_filters
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.machines import states
from baremetal_sched.scheduling.api.policies import CAPACITY
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import submitted, without
from baremetal_sched.ui.node_rows import NodePage, Place, read
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.http_errors import HttpError, message_of

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
