"""Lists of nodes: filters, order and pages as SQL. Plain rows, no entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.nodes import chassis
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db import paging
from baremetal_sched.db.models import Node
from baremetal_sched.db.paging import Page
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.documents.schema import canonical_uuid
from baremetal_sched.errors.baremetal import NodeNotFound

#: The number of nodes that the search for nodes of one conductor reads at a time.
_CHUNK = 2000


@dataclass
class NodeFilters:
    """The filters of a list: ``conditions`` on the columns and traits of a node, and filters that need more than those.

    All must hold. None means that the filter is not used; without ``include_children``, ``parent_node`` is empty.
    """

    conditions: Sequence[ColumnElement[bool]] = ()
    chassis_uuid: str | None = None
    conductor: str | None = None
    parent_node: str | None = None
    include_children: bool = False


def select_nodes(
    session: Session,
    filters: NodeFilters,
    page: Page,
    query: Query,
    membership: Membership,
    visible: Visibility = EVERYTHING,
    values: Mapping[str, Any] | None = None,
) -> Rows:
    """Return the page of the list, of what ``query`` selects of ``visible`` nodes; ``values`` are those of its
    parameters. ``membership`` is for the filter ``conductor`` only.

    Raises ChassisNotFound and NodeNotFound (marker) for what the filters and the page name, InvalidValue for a sort key
    that cannot be one.
    """
    page = replace(page, within=and_(*visible.conditions()) if not visible.everything else None)
    wanted = paging.after_marker(session, _filtered(session, query, filters, visible), Node, page, missing)
    order = paging.order(Node, page)
    if filters.conductor is None:
        return session.execute(wanted.order_by(*order).limit(page.limit), values).all()
    ids = _ids_owned_by(session, wanted, order, filters.conductor, membership, page.limit)
    rows = session.execute(query.where(Node.id.in_(ids)).order_by(*order), values) if ids else ()
    return list(rows)


def count_nodes(session: Session, filters: NodeFilters, query: Query, visible: Visibility = EVERYTHING) -> int:
    """Return how many visible nodes the filters let through; ``query`` selects ``count(*)``. Raises ChassisNotFound."""
    return int(session.scalar(_filtered(session, query, filters, visible)) or 0)


def children(session: Session, parent: str, visible: Visibility = EVERYTHING) -> list[str]:
    """Return the UUIDs of the visible nodes whose parent is the one with UUID ``parent``, the oldest first."""
    found = select(Node.uuid).where(Node.parent_node == parent, *visible.conditions())
    return list(session.scalars(found.order_by(Node.id)))


def missing(node: str) -> NodeNotFound:
    """Return the error for a node that does not exist."""
    return NodeNotFound(node=node)


def _filtered(session: Session, query: Query, filters: NodeFilters, visible: Visibility) -> Query:
    wanted: list[ColumnElement[bool]] = [*visible.conditions(), *filters.conditions]
    if filters.parent_node is not None:
        wanted.append(_is_child_of(filters.parent_node, visible))
    elif not filters.include_children:
        wanted.append(Node.parent_node.is_(None))
    if filters.chassis_uuid is not None:
        wanted.append(Node.chassis_id == chassis.id_of(session, filters.chassis_uuid))
    return query.where(*wanted)


def _is_child_of(parent: str, visible: Visibility) -> ColumnElement[bool]:
    """parent_node = <UUID>, or = (SELECT uuid FROM nodes WHERE name = <name>), if that node is visible"""
    uuid = canonical_uuid(parent)
    if uuid is not None:
        return Node.parent_node == uuid
    named = aliased(Node)
    return (
        Node.parent_node == select(named.uuid).where(named.name == parent, *visible.conditions(named)).scalar_subquery()
    )


def contains(column: Any, text: str) -> ColumnElement[bool]:
    """Return the condition that the column contains ``text``, in any letter case. As with Ironic, % and _ in it are
    wildcards."""
    # A backslash is just itself, which needs another escape character.
    condition: ColumnElement[bool] = func.lower(column).like("%{}%".format(text.lower().replace("!", "!!")), escape="!")
    return condition


def in_shards(shards: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that the node is in one of the shards, in any letter case."""
    return func.lower(Node.shard).in_([shard.lower() for shard in shards])


def _ids_owned_by(
    session: Session,
    query: Query,
    order: Sequence[ColumnElement[Any]],
    conductor: str,
    membership: Membership,
    limit: int,
) -> list[int]:
    """Return the ids of the first ``limit`` nodes of the query that the conductor owns. Ownership is not a column:
    nodes of groups and drivers that it serves are read in chunks until there are enough."""
    query = query.with_only_columns(Node.id, Node.uuid, Node.conductor_group, Node.driver)
    query = query.where(membership.served_by(conductor))
    found: list[int] = []
    offset = 0
    while len(found) < limit:
        rows = session.execute(query.order_by(*order).limit(_CHUNK).offset(offset)).all()
        found.extend(
            node_id for node_id, uuid, group, driver in rows if membership.owner(uuid, group, driver) == conductor
        )
        if len(rows) < _CHUNK:
            break
        offset += _CHUNK
    return found[:limit]
