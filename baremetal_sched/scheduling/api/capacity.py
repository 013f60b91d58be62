"""/v1/capacity"""

from typing import Any

from flask import Response
from sqlalchemy import Connection

from baremetal_sched.baremetal.identifiers import is_trait
from baremetal_sched.baremetal.nodes import trait_names
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.errors import InvalidValue
from baremetal_sched.scheduling import capacity
from baremetal_sched.scheduling.api.policies import ALL_CAPACITY
from baremetal_sched.scheduling.capacity import Figures
from baremetal_sched.web.call import Call
from baremetal_sched.web.query import Query
from baremetal_sched.web.responses import json_response

#: Filters by trait, with the attribute of NodeFilters that each fills: as for node lists.
TRAIT_FILTERS = {
    "traits": "traits",
    "not-traits": "not_traits",
    "traits-any": "traits_any",
    "not-traits-any": "not_traits_any",
}
PARAMETERS = ("group_by", "at_least", *capacity.COLUMNS, *TRAIT_FILTERS)


def show_capacity(call: Call, connection: Connection) -> Response:
    """GET /v1/capacity"""
    query = Query(call, PARAMETERS)
    keys = list(dict.fromkeys(query.items("group_by") or ()))
    at_least = query.integer("at_least")
    found = capacity.measure(connection, keys, filters_of(query), visible_to(call))
    return json_response(
        {"capacity": [_row(each) for each in found if at_least is None or each.free < at_least]},
    )


def visible_to(call: Call) -> Visibility:
    """Return the nodes that are counted for the caller."""
    return EVERYTHING if call.allows(ALL_CAPACITY) else Visibility(call.caller.project_id)


def filters_of(query: Query) -> NodeFilters:
    """Return what the request is narrowed to. Raises InvalidValue."""
    filters = NodeFilters(
        resource_class=query.text("resource_class"),
        conductor_group=_lower(query.text("conductor_group")),
        driver=query.text("driver"),
        owner=query.text("owner"),
        lessee=query.text("lessee"),
        shards=query.items("shard"),
    )
    for name, attribute in TRAIT_FILTERS.items():
        traits = query.items(name) or []
        for trait in traits:
            if not is_trait(trait):
                raise InvalidValue(message=f"Invalid {name}: {trait_names.complaint(trait)} Separate them by commas.")
        setattr(filters, attribute, list(dict.fromkeys(traits)))
    return filters


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _row(figures: Figures) -> dict[str, Any]:
    return {
        **figures.keys,
        "total": figures.total,
        "free": figures.free,
        "allocated": figures.allocated,
        "unavailable": dict(sorted(figures.unavailable.items())),
    }
