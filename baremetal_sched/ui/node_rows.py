"""A page of the list of nodes: the rows, and where the pages before and after it begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.api.resources.view import split_traits
from baremetal_sched.baremetal.conductors.ownership import NO_MEMBERS
from baremetal_sched.baremetal.matching.reasons import reason, with_provider
from baremetal_sched.baremetal.nodes.node_list import NodeFilters, select_nodes
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Node, NodeTrait, table_of
from baremetal_sched.db.paging import Page, SortKey
from baremetal_sched.db.sql_functions import string_agg

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
