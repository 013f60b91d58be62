"""Lists of nodes: filters, order and pages as SQL. Plain rows, no entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, func, not_, or_, select
from sqlalchemy.orm import Session, aliased
from sqlalchemy.orm.attributes import InstrumentedAttribute

from baremetal_sched.baremetal.conductors.ownership import Membership
from baremetal_sched.baremetal.nodes import chassis
from baremetal_sched.baremetal.nodes.trait_conditions import has_all, has_any
from baremetal_sched.baremetal.visibility import EVERYTHING, Visibility
from baremetal_sched.db import paging
from baremetal_sched.db.models import Node
from baremetal_sched.db.paging import Page
from baremetal_sched.db.types import Query, Rows
from baremetal_sched.documents.identifiers import canonical_uuid
from baremetal_sched.errors.baremetal import NodeNotFound

#: How many nodes the search for those of one conductor reads at a time.
_CHUNK = 2000


@dataclass
class NodeFilters:
    """The filters of a list; None (or empty) means that the filter is not used. All conditions must hold."""

    chassis_uuid: str | None = None
    instance_uuid: str | None = None
    instance_name: str | None = None
    associated: bool | None = None
    maintenance: bool | None = None
    retired: bool | None = None
    provision_state: str | None = None
    driver: str | None = None
    resource_class: str | None = None
    fault: str | None = None
    conductor_group: str | None = None
    conductor: str | None = None
    owner: str | None = None
    lessee: str | None = None
    project: str | None = None
    description_contains: str | None = None
    shards: Sequence[str] | None = None
    sharded: bool | None = None
    include_children: bool = False
    parent_node: str | None = None
    #: has all of them; does not have all of them; has at least one; has none
    traits: Sequence[str] = field(default_factory=list)
    not_traits: Sequence[str] = field(default_factory=list)
    traits_any: Sequence[str] = field(default_factory=list)
    not_traits_any: Sequence[str] = field(default_factory=list)


def select_nodes(
    session: Session,
    filters: NodeFilters,
    page: Page,
    query: Query,
    membership: Membership,
    visible: Visibility = EVERYTHING,
    values: Mapping[str, Any] | None = None,
) -> Rows:
    """The page of the list, of what ``query`` selects of ``visible`` nodes; ``values`` are those of its parameters.
    ``membership`` is for the filter ``conductor`` only.

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


def children(session: Session, parent: str, visible: Visibility = EVERYTHING) -> list[str]:
    """UUIDs of the visible nodes whose parent is the one with UUID ``parent``, the oldest first."""
    found = select(Node.uuid).where(Node.parent_node == parent, *visible.conditions())
    return list(session.scalars(found.order_by(Node.id)))


def conditions(filters: NodeFilters) -> list[ColumnElement[bool]]:
    """Return what the filters say of the columns and the traits of a node, without chassis, conductor and parent."""
    return [*_plain(filters), *_trait_conditions(filters)]


def missing(node: str) -> NodeNotFound:
    """The error that says that there is no such node."""
    return NodeNotFound(node=node)


def _filtered(session: Session, query: Query, filters: NodeFilters, visible: Visibility) -> Query:
    wanted: list[ColumnElement[bool]] = [*visible.conditions(), *conditions(filters)]
    if filters.parent_node is not None:
        wanted.append(_is_child_of(filters.parent_node, visible))
    elif not filters.include_children:
        wanted.append(Node.parent_node.is_(None))
    if filters.chassis_uuid is not None:
        wanted.append(Node.chassis_id == chassis.id_of(session, filters.chassis_uuid))
    return query.where(*wanted)


def _plain(filters: NodeFilters) -> list[ColumnElement[bool]]:
    equal: list[tuple[InstrumentedAttribute[Any], Any]] = [
        (Node.instance_uuid, filters.instance_uuid),
        (Node.instance_name, filters.instance_name),
        (Node.maintenance, filters.maintenance),
        (Node.retired, filters.retired),
        (Node.provision_state, filters.provision_state),
        (Node.driver, filters.driver),
        (Node.resource_class, filters.resource_class),
        (Node.fault, filters.fault),
        (Node.conductor_group, filters.conductor_group),
        (Node.owner, filters.owner),
        (Node.lessee, filters.lessee),
    ]
    conditions: list[ColumnElement[bool]] = [column == value for column, value in equal if value is not None]
    if filters.associated is not None:
        conditions.append(Node.instance_uuid.is_not(None) if filters.associated else Node.instance_uuid.is_(None))
    if filters.sharded is not None:
        conditions.append(Node.shard.is_not(None) if filters.sharded else Node.shard.is_(None))
    if filters.shards is not None:
        conditions.append(in_shards(filters.shards))
    if filters.project is not None:
        conditions.append(or_(Node.owner == filters.project, Node.lessee == filters.project))
    if filters.description_contains is not None:
        conditions.append(contains(Node.description, filters.description_contains))
    return conditions


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
    """The column has ``text`` in it, letter case aside. % and _ in it are wildcards, as with Ironic."""
    # A backslash is just itself, which needs another escape character.
    condition: ColumnElement[bool] = func.lower(column).like("%{}%".format(text.lower().replace("!", "!!")), escape="!")
    return condition


def in_shards(shards: Sequence[str]) -> ColumnElement[bool]:
    """The node is in one of the shards, letter case aside."""
    return func.lower(Node.shard).in_([shard.lower() for shard in shards])


def _trait_conditions(filters: NodeFilters) -> list[ColumnElement[bool]]:
    """The four trait filters.

    traits:         EXISTS (… trait = A) AND EXISTS (… trait = B)
    not-traits:     NOT (EXISTS (… trait = A) AND EXISTS (… trait = B))
    traits-any:     EXISTS (… trait IN (A, B))
    not-traits-any: NOT EXISTS (… trait IN (A, B))
    """
    conditions = has_all(filters.traits)
    if filters.not_traits:
        conditions.append(not_(and_(*has_all(filters.not_traits))))
    if filters.traits_any:
        conditions.append(has_any(filters.traits_any))
    if filters.not_traits_any:
        conditions.append(not_(has_any(filters.not_traits_any)))
    return conditions


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
