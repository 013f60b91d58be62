"""The filters of lists of nodes: one table, which the node lists, capacity and the pages share."""

from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy import ColumnElement, and_, not_, or_
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import InstrumentedAttribute

from baremetal_sched.baremetal.api.call import BaremetalCall
from baremetal_sched.baremetal.api.policies.domains import seen_among
from baremetal_sched.baremetal.domains import naming
from baremetal_sched.baremetal.nodes.node_list import NodeFilters, contains, in_shards
from baremetal_sched.baremetal.nodes.traits import has_all, has_any
from baremetal_sched.baremetal.schemas.traits import complaint, is_trait
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node
from baremetal_sched.db.types import Reader
from baremetal_sched.errors import InvalidValue
from baremetal_sched.machines import states
from baremetal_sched.suggestions import did_you_mean
from baremetal_sched.web.listing import Filter, conditions_of
from baremetal_sched.web.query import Query

#: The most domains of one request; each takes a statement.
_MOST_DOMAINS = 4

Condition = Callable[[Any], ColumnElement[bool]]


def _equals(column: InstrumentedAttribute[Any]) -> Condition:
    return lambda value: column == value


def _is_set(column: InstrumentedAttribute[Any]) -> Condition:
    return lambda value: column.is_not(None) if value else column.is_(None)


def _one_of(known: Collection[str], refusal: str) -> Callable[[Query, str], str | None]:
    def read(query: Query, name: str) -> str | None:
        value = query.text(name)
        if value is not None and value not in known:
            raise InvalidValue(message=f"{refusal.format(value)}.{did_you_mean(value, known)}")
        return value

    return read


def _lower(query: Query, name: str) -> str | None:
    text = query.text(name)
    return None if text is None else text.lower()


def _traits(query: Query, name: str) -> list[str]:
    names = query.items(name) or []
    for trait in names:
        if not is_trait(trait):
            raise InvalidValue(message=f"Invalid {name}: {complaint(trait)} Separate them by commas.")
    return list(dict.fromkeys(names))


_STATE = _one_of(states.PROVISION_STATES, 'Provision state "{}" is not valid')
_FAULT = _one_of(states.FAULTS, f'Unrecognized fault "{{}}" is specified, allowed faults are {states.FAULTS}')

#: The filters, in the order in which their values are checked. The ones without a condition are attributes of
#: NodeFilters. Filters by traits are specified (node-traits), but Ironic does not have them.
_TABLE = (
    Filter("chassis_uuid", None, 1, Query.uuid),
    Filter("instance_uuid", _equals(Node.instance_uuid), 1, Query.uuid),
    Filter("instance_name", _equals(Node.instance_name), 104),
    Filter("associated", _is_set(Node.instance_uuid), 1, Query.flag),
    Filter("maintenance", _equals(Node.maintenance), 1, Query.flag),
    Filter("retired", _equals(Node.retired), 1, Query.flag),
    Filter("provision_state", _equals(Node.provision_state), 9, _STATE),
    Filter("driver", _equals(Node.driver), 16),
    Filter("resource_class", _equals(Node.resource_class), 21),
    Filter("fault", _equals(Node.fault), 42, _FAULT),
    Filter("conductor_group", _equals(Node.conductor_group), 46, _lower),
    Filter("conductor", None, 49),
    # Ironic has no domains: see ``in_domain``.
    Filter("domain", None, 1, Query.texts),
    Filter("owner", _equals(Node.owner), 50),
    Filter("lessee", _equals(Node.lessee), 65),
    Filter("project", lambda project: or_(Node.owner == project, Node.lessee == project), 1),
    Filter("description_contains", lambda text: contains(Node.description, text), 1),
    Filter("shard", in_shards, 82, Query.items),
    Filter("sharded", _is_set(Node.shard), 82, Query.flag),
    Filter("include_children", None, 83, Query.flag),
    Filter("parent_node", None, 83),
    # EXISTS (… trait = A) AND EXISTS (… trait = B)
    Filter("traits", lambda traits: and_(*has_all(traits)), 37, _traits),
    # NOT (EXISTS (… trait = A) AND EXISTS (… trait = B))
    Filter("not-traits", lambda traits: not_(and_(*has_all(traits))), 37, _traits),
    # EXISTS (… trait IN (A, B))
    Filter("traits-any", has_any, 37, _traits),
    # NOT EXISTS (… trait IN (A, B))
    Filter("not-traits-any", lambda traits: not_(has_any(traits)), 37, _traits),
)

FILTERS = {each.name: each for each in _TABLE}
TRAIT_FILTERS = tuple(each.name for each in _TABLE if each.read is _traits)


def in_domain(reader: Reader, query: Query, visible: Visibility) -> list[ColumnElement[bool]]:
    """Return the conditions of the filter ``domain``: the node is in that domain, or below it; in all of several.
    LEVEL: without a name is for the nodes that are in no domain of the level.

    Raises NotAllowed, WrongScope; InvalidValue for what no ``visible`` node is in, with what there is instead.
    """
    given = list(dict.fromkeys(query.texts("domain")))
    if len(given) > _MOST_DOMAINS:
        raise InvalidValue(message=f"Expected at most {_MOST_DOMAINS} values for domain: there are {len(given)}.")
    seen = seen_among(query.call, visible) if given else ()
    return [naming.contents(reader, text, seen) for text in given]


def parse_filters(
    call: BaremetalCall, session: Session, query: Query, visible: Visibility, *, detailed: bool = False
) -> NodeFilters:
    """Return the filters of the request for ``visible`` nodes. Raises TooNew, InvalidValue for an invalid value, and
    like ``in_domain``.

    ``detailed``: for /v1/nodes/detail, where the filters about children need no microversion.
    """
    for each in sorted(_TABLE, key=lambda each: each.since):
        if not (detailed and each.name in ("include_children", "parent_node")):
            query.require(each.since, each.name)
    return NodeFilters(
        [*conditions_of(query, _TABLE), *in_domain(session, query, visible)],
        chassis_uuid=query.uuid("chassis_uuid"),
        conductor=query.text("conductor"),
        parent_node=query.text("parent_node"),
        include_children=query.flag("include_children") or False,
    )
