"""The filters and the paging of the node lists, from the query string."""

from baremetal_sched.baremetal import states
from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.resources.query import PAGING, Query
from baremetal_sched.baremetal.identifiers import is_trait
from baremetal_sched.baremetal.nodes import trait_names
from baremetal_sched.baremetal.nodes.node_list import NodeFilters
from baremetal_sched.errors import InvalidValue
from baremetal_sched.suggestions import did_you_mean

#: Trait filters, with the attribute of NodeFilters that each fills. Specified (node-traits), never built by Ironic.
TRAIT_FILTERS = {
    "traits": "traits",
    "not-traits": "not_traits",
    "traits-any": "traits_any",
    "not-traits-any": "not_traits_any",
}

#: Filters, with the first microversion (minor) that has each.
FILTERS = {
    "chassis_uuid": 1,
    "instance_uuid": 1,
    "associated": 1,
    "maintenance": 1,
    "retired": 1,
    "provision_state": 9,
    "driver": 16,
    "resource_class": 21,
    **dict.fromkeys(TRAIT_FILTERS, 37),
    "fault": 42,
    "conductor_group": 46,
    "conductor": 49,
    "owner": 50,
    "description_contains": 1,
    "lessee": 65,
    "project": 1,
    "shard": 82,
    "sharded": 82,
    "include_children": 83,
    "parent_node": 83,
    "instance_name": 104,
}

PARAMETERS = (*FILTERS, *PAGING)


def parse_filters(call: BaremetalCall, query: Query, *, detailed: bool = False) -> NodeFilters:
    """The filters of the request. Raises TooNew, and InvalidValue for values that cannot be.

    ``detailed``: for /v1/nodes/detail, which has always known children.
    """
    if query.has("provision_state"):
        call.require_version(FILTERS["provision_state"])
    for name, since in FILTERS.items():
        if not (detailed and name in ("include_children", "parent_node")):
            query.require(since, name)
    filters = NodeFilters(
        chassis_uuid=query.uuid("chassis_uuid"),
        instance_uuid=query.uuid("instance_uuid"),
        instance_name=query.text("instance_name"),
        associated=query.flag("associated"),
        maintenance=query.flag("maintenance"),
        retired=query.flag("retired"),
        provision_state=_one_of(query, "provision_state", states.PROVISION_STATES, 'Provision state "{}" is not valid'),
        driver=query.text("driver"),
        resource_class=query.text("resource_class"),
        fault=_one_of(
            query, "fault", states.FAULTS, f'Unrecognized fault "{{}}" is specified, allowed faults are {states.FAULTS}'
        ),
        conductor_group=_lower(query.text("conductor_group")),
        conductor=query.text("conductor"),
        owner=query.text("owner"),
        lessee=query.text("lessee"),
        project=query.text("project"),
        description_contains=query.text("description_contains"),
        shards=query.items("shard"),
        sharded=query.flag("sharded"),
        include_children=query.flag("include_children") or False,
        parent_node=query.text("parent_node"),
    )
    for name, attribute in TRAIT_FILTERS.items():
        setattr(filters, attribute, _traits(query, name))
    return filters


def _one_of(query: Query, name: str, known: frozenset[str] | tuple[str, ...], refusal: str) -> str | None:
    value = query.text(name)
    if value is not None and value not in known:
        raise InvalidValue(message=f"{refusal.format(value)}.{did_you_mean(value, known)}")
    return value


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _traits(query: Query, name: str) -> list[str]:
    traits = query.items(name) or []
    for trait in traits:
        if not is_trait(trait):
            raise InvalidValue(message=f"Invalid {name}: {trait_names.complaint(trait)} Separate them by commas.")
    return list(dict.fromkeys(traits))
