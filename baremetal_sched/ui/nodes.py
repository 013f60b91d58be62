"""/nodes: a list of nodes, with the filters of the bare metal API's, and those of the pages."""

from collections.abc import Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from flask import Response
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.nodes.node_filters import FILTERS, TRAIT_FILTERS, parse_filters
from baremetal_sched.baremetal.api.policies.domains import sees_domains
from baremetal_sched.baremetal.domains import domain_list
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.baremetal.provider.availability import ALLOCATED
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.paging import SortKey
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import NodeNotFound
from baremetal_sched.machines import states
from baremetal_sched.scheduling.api.policies import CAPACITY
from baremetal_sched.ui import exports, node_rows
from baremetal_sched.ui.actions import OF_NODES, offers
from baremetal_sched.ui.call import UiCall
from baremetal_sched.ui.forms import FormQuery, Proposals, read_proposals, submitted, without
from baremetal_sched.ui.node_rows import PAGE_FILTERS, SORT_KEYS
from baremetal_sched.ui.paging import MARKERS, ORDER, PAGING, ListPage, MarkerGone, active_filters, columns_of, place_of
from baremetal_sched.ui.rendering import page
from baremetal_sched.web.http_errors import message_of

#: The API's filters, except for the one whose answer takes more statements for a larger fleet.
_FILTERS = (*(name for name in FILTERS if name != "conductor"), *PAGE_FILTERS)

#: What the form has controls for; the other filters come by links, and are kept.
CONTROLS = (
    *TRAIT_FILTERS,
    *("name", "offer", "resource_class", "conductor_group", "provision_state", "maintenance", "associated", "driver"),
    *("domain", "owner", "lessee", "failed_since"),
)

#: Whether machines are free, as far as the form has words for it; links have others, such as "maintenance".
_OFFERS = [("", "any"), *((word, word) for word in (node_rows.FREE, ALLOCATED, node_rows.UNAVAILABLE))]

_DAYS = [("", "any time, or not at all"), *((word, f"since {word.replace('-', ' ')}") for word in node_rows.DAYS)]

#: The columns of the list for programs, besides those that not everybody sees.
EXPORTED = (
    *("uuid", "name", "resource_class", "provision_state", "target_provision_state", "power_state", "maintenance"),
    *("maintenance_reason", "fault", "conductor_group", "owner", "instance_uuid", "instance_name"),
)

#: The domains of nodes that are in none.
_NOWHERE: Mapping[str, Mapping[str, str]] = MappingProxyType({})
#: The order unless another one is requested.
_BY_NAME = SortKey("name")

_STATES = [("", "any"), *((state, state) for state in sorted(states.PROVISION_STATES))]


def show_nodes(call: UiCall, session: Session) -> Response:
    """GET /nodes"""
    visible = call.listed("node", "project")
    wanted = exports.format_of(call)
    query = submitted(call, (*_FILTERS, *(ORDER if wanted else PAGING)))
    if wanted is not None:
        return _export(call, session, query, visible, wanted)
    known = read_proposals(session, visible)
    try:
        listing = _find(session, query, _filters(call, session, query, visible), visible)
    except InvalidValue as error:
        return _page(call, ListPage(()), known, 400, visible=visible, complaint=message_of(error))
    domains = domain_list.of_nodes(session, [row.uuid for row in listing.rows]) if sees_domains(call) else {}
    meant = ""
    if not listing.total:
        traits = [trait for name in TRAIT_FILTERS for trait in query.items(name) or [] if not name.startswith("not")]
        meant = known.meant(query.text("resource_class"), dict(call.query).get("conductor_group"), traits)
    return _page(call, listing, known, 200, visible=visible, complaint=None, meant=meant, domains=domains)


def _filters(call: UiCall, session: Session, query: FormQuery, visible: Visibility) -> NodeFilters:
    filters = parse_filters(call, session, query, visible)
    if query.has("offer"):
        call.require(CAPACITY)
    filters.conditions = [*filters.conditions, *node_rows.own_conditions(session, query, call.settings)]
    return filters


def _shows_errors(call: UiCall, visible: Visibility) -> bool:
    return visible.everything and call.redaction.of("last_error") is None


def _shows_reasons(call: UiCall) -> bool:
    """Return whether the caller may see why the nodes that it sees are in maintenance."""
    return call.redaction.of("maintenance_reason") is None


def _export(call: UiCall, session: Session, query: FormQuery, visible: Visibility, wanted: str) -> Response:
    place = place_of(query, SORT_KEYS, _BY_NAME, most=exports.MOST)
    names = [name for name in EXPORTED if call.redaction.of(name) is None]
    names += ["last_error"] if _shows_errors(call, visible) else []
    columns = exports.attributes(*names) | {"in_state_since": attrgetter("since")}
    if call.allows(CAPACITY):
        columns |= {"why_not_free": attrgetter("why")}
    by_offer = query.has("offer")
    rows = node_rows.each(session, _filters(call, session, query, visible), place, visible, by_offer=by_offer)
    return exports.export(call, wanted, "nodes", columns, rows, place.limit)


def _find(session: Session, query: FormQuery, filters: NodeFilters, visible: Visibility) -> ListPage:
    place = place_of(query, SORT_KEYS, _BY_NAME)
    try:
        return node_rows.read(session, filters, place, visible, by_offer=query.has("offer"))
    except NodeNotFound as error:
        raise MarkerGone(marker=f"Node {place.after or place.before}") from error


def _page(
    call: UiCall,
    listing: ListPage,
    known: Proposals,
    status: int,
    *,
    visible: Visibility,
    meant: str = "",
    domains: Mapping[str, Mapping[str, str]] = _NOWHERE,
    **values: Any,
) -> Response:
    given = dict(call.query)
    shows_offer = call.allows(CAPACITY)
    return page(
        call,
        "nodes.html",
        status,
        found=listing,
        known=known,
        given=given,
        kept=without(call.query, *MARKERS),
        columns=columns_of(call, "nodes", SORT_KEYS, {"provision_state": ["On offer"] if shows_offer else []}),
        # Of several domains, the control has the last one.
        hidden=[
            (name, value)
            for name, value in call.query
            if name not in (*CONTROLS, *MARKERS) or (name == "domain" and value != given[name])
        ],
        active=active_filters(call),
        states=_STATES,
        days=_DAYS,
        words=_OFFERS,
        shows_offer=shows_offer,
        shows_error=bool({"failed", "failed_since"} & given.keys()) and _shows_errors(call, visible),
        shows_reason=given.get("maintenance", "").lower() == "true" and _shows_reasons(call),
        shows_reasons=_shows_reasons(call),
        meant=meant,
        domains=domains,
        offers=offers(call, *OF_NODES) if listing.rows else [],
        now=utcnow(),
        **values,
    )
