"""/v1/capacity"""

from collections.abc import Iterable
from typing import Any

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.baremetal.api.hold_readers import reader
from baremetal_sched.baremetal.api.nodes.node_filters import FILTERS, TRAIT_FILTERS, in_domain
from baremetal_sched.baremetal.api.policies.domains import seen_among
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db.clock import seconds_of
from baremetal_sched.db.types import Reader
from baremetal_sched.scheduling import capacity
from baremetal_sched.scheduling.api.policies import ALL_CAPACITY
from baremetal_sched.scheduling.capacity import Figures
from baremetal_sched.scheduling.schemas.answers import COUNT, DOMAIN_KEY, TEXT, TIME, TRAIT_KEY, array, of_domain, said
from baremetal_sched.web.call import Call
from baremetal_sched.web.listing import conditions_of
from baremetal_sched.web.query import Query, listed
from baremetal_sched.web.responses import json_response

#: The filters of node lists that capacity has.
_FILTERS = tuple(FILTERS[name] for name in (*capacity.COLUMNS, *TRAIT_FILTERS))
_KEYS = [{"enum": [*capacity.COLUMNS]}, *({**TEXT, "pattern": each} for each in (TRAIT_KEY, DOMAIN_KEY))]
_TRAITS = {
    "traits": "have all of these traits",
    "not-traits": "do not have all of these traits",
    "traits-any": "have at least one of these traits",
    "not-traits-any": "have none of these traits",
}
PARAMETERS = {
    "group_by": said(
        "The keys by which machines are grouped, separated by commas: trait:NAME is whether they have the trait, "
        "domain:LEVEL in which domain of the level they are. Without it all are counted together.",
        {**array({"anyOf": _KEYS}), "maxItems": capacity.MOST_KEYS},
    ),
    "at": said(
        "How it will be at this time, which is not over, by what is known now: the ends of claims and [scheduling] "
        "turnaround, holds, bookings, and the states of nodes. Machines that are still in use then are counted as they "
        "are now, others that are held or booked then under maintenance, planned hold or booked; held is empty. In a "
        "query a + is written %2B.",
        TIME,
    ),
    "at_least": said("Only the rows where fewer machines than this are free.", COUNT),
    **{name: said(f"Only machines with this {name.replace('_', ' ')}.", TEXT) for name in capacity.COLUMNS},
    "domain": of_domain("Only machines"),
    "shard": listed("Only machines of one of these shards."),
    **{name: listed(f"Only machines that {_TRAITS[name]}.") for name in TRAIT_FILTERS},
}


def show_capacity(call: Call, connection: Connection) -> Response:
    """GET /v1/capacity"""
    query = Query(call, PARAMETERS)
    keys = list(dict.fromkeys(query.items("group_by") or ()))
    at_least = query.integer("at_least")
    visible = visible_to(call)
    require_levels(call, connection, keys, visible)
    filters = filters_of(connection, query, visible)
    at = seconds_of("at", query.text("at"))
    if at is not None:
        found = capacity.measure_at(connection, call.settings, at, keys, filters, visible)
    else:
        found = capacity.measure(connection, call.settings, keys, filters, visible)
        capacity.name_holds(connection, found, filters, visible, reader(call).conditions)
    return json_response(
        {"capacity": [row_of(each) for each in found if at_least is None or each.free < at_least]},
    )


def visible_to(call: Call) -> Visibility:
    """Return the nodes that are counted for the caller."""
    return EVERYTHING if call.allows(ALL_CAPACITY) else Visibility(call.caller.project_id)


def require_levels(call: Call, reader: Reader, keys: Iterable[str], visible: Visibility) -> None:
    """Raise InvalidValue if the ``keys`` name a level in which no ``visible`` machine has a domain; NotAllowed if the
    caller may see no domains."""
    named = {key.removeprefix(capacity.DOMAIN) for key in keys if key.startswith(capacity.DOMAIN)}
    if named:
        naming.require_levels(reader, named, seen_among(call, visible))


def filters_of(reader: Reader, query: Query, visible: Visibility) -> NodeFilters:
    """Return what the request is narrowed to. Raises InvalidValue, and NotAllowed for the filter by domain."""
    return NodeFilters([*conditions_of(query, _FILTERS), *in_domain(reader, query, visible)])


def row_of(figures: Figures) -> dict[str, Any]:
    """Return figures as JSON."""
    return {
        **figures.keys,
        "total": figures.total,
        "free": figures.free,
        "allocated": figures.allocated,
        "unavailable": dict(sorted(figures.unavailable.items())),
        "held": [each.document() for each in figures.held],
    }
