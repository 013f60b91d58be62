"""/nodes: a list of nodes, with the filters of the bare metal API's, and those of the pages."""

from collections.abc import Sequence
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.nodes.node_filters import FILTERS, TRAIT_FILTERS, parse_filters
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.machines import states
from baremetal_sched.scheduling.api.policies import CAPACITY
from baremetal_sched.ui import node_rows, proposals
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import FormQuery, submitted, without
from baremetal_sched.ui.node_rows import PAGE_FILTERS, SORT_KEYS, NodePage, Place
from baremetal_sched.ui.proposals import Proposals
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.http_errors import HttpError, message_of

#: The number of nodes on a page: the default and the maximum.
USUAL, MOST = 50, 200

_MARKERS = ("marker", "before")
_PAGING = ("limit", "sort_key", "sort_dir", *_MARKERS)

#: The API's filters, except for the one whose answer takes more statements for a larger fleet.
_FILTERS = (*(name for name in FILTERS if name != "conductor"), *PAGE_FILTERS)

#: What the form has controls for; the other filters come by links, and are kept.
CONTROLS = (
    *TRAIT_FILTERS,
    *("resource_class", "conductor_group", "provision_state", "maintenance", "associated", "owner"),
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
    known = proposals.read(session, visible)
    try:
        filters = parse_filters(call, query)
        if query.has("offer"):
            call.require(CAPACITY)
        filters.conditions = [*filters.conditions, *node_rows.own_conditions(session, query, call.settings)]
        found = _find(session, query, filters, visible)
    except InvalidValue as error:
        return _page(call, NodePage(()), known, 400, visible=visible, complaint=message_of(error))
    meant = ""
    if not found.total:
        traits = [trait for name in TRAIT_FILTERS for trait in query.items(name) or [] if not name.startswith("not")]
        meant = known.meant(query.text("resource_class"), dict(call.query).get("conductor_group"), traits)
    return _page(call, found, known, 200, visible=visible, complaint=None, meant=meant)


def _find(session: Session, query: FormQuery, filters: NodeFilters, visible: Visibility) -> NodePage:
    key, descending = node_rows.sort_of(query)
    limit = min(query.integer("limit", least=1) or USUAL, MOST)
    place = Place(limit, query.uuid("marker"), query.uuid("before"), key, descending)
    if place.after is not None and place.before is not None:
        raise InvalidValue(message="A page is either after a marker or before one: leave out marker or before.")
    try:
        return node_rows.read(session, filters, place, visible, by_offer=query.has("offer"))
    except NodeNotFound as error:
        raise MarkerGone(node=place.after or place.before) from error


def _page(
    call: UiCall, found: NodePage, known: Proposals, status: int, *, visible: Visibility, meant: str = "", **values: Any
) -> Response:
    given = dict(call.query)
    return page(
        call,
        "nodes.html",
        status,
        found=found,
        known=known,
        given=given,
        kept=without(call.query, *_MARKERS),
        headings=_headings(call, given),
        hidden=[(name, value) for name, value in call.query if name not in (*CONTROLS, *_MARKERS)],
        active=[(name, value, without(call.query, name, *_MARKERS)) for name, value in _active(call)],
        states=_STATES,
        shows_offer=call.allows(CAPACITY),
        shows_error="failed" in given and visible.everything and call.redaction.of("last_error") is None,
        shows_reason=given.get("maintenance", "").lower() == "true",
        meant=meant,
        now=utcnow(),
        **values,
    )


def _headings(call: UiCall, given: dict[str, str]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """The columns that sort the list: label, how it is sorted by them ("ascending", …, "none"), and the parameters that
    sort it by them, the other way round if it is already."""
    others = without(call.query, "sort_key", "sort_dir", *_MARKERS)
    found = {}
    for key, label in SORT_KEYS.items():
        is_used, descends = given.get("sort_key") == key, given.get("sort_dir") == "desc"
        order = ("descending" if descends else "ascending") if is_used else "none"
        turned = {"sort_key": key, "sort_dir": "desc" if is_used and not descends else None}
        found[key] = (label, order, dict(others, **turned))
    return found


def _active(call: UiCall) -> Sequence[tuple[str, str]]:
    """The filters of the request, as the page names them."""
    return [(name, value) for name, value in dict.fromkeys(call.query) if name not in _PAGING]
