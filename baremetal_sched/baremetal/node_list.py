"""Lists of nodes: filters, order and pages as SQL. Plain rows, no entities."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, and_, case, exists, false, func, literal, not_, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import InstrumentedAttribute

from baremetal_sched.baremetal.ownership import Membership
from baremetal_sched.db.models import Chassis, Node, NodeTrait
from baremetal_sched.db.types import Json, Query, Rows
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.baremetal import ChassisNotFound, NodeNotFound

#: Columns that are ours, or that Ironic works out.
_NOT_SORTABLE = ("revision", "allocation_uuid")

#: How many nodes the search for those of one conductor reads at a time.
_CHUNK = 2000


@dataclass
class NodeFilters:
    """What a list is narrowed to; None (or empty) means not at all. All conditions must hold."""

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


@dataclass
class Page:
    """Which part of the list: at most ``limit`` nodes after the node with UUID ``marker``, in this order."""

    limit: int
    marker: str | None = None
    sort_key: str = "id"
    descending: bool = False


def select_nodes(
    session: Session, filters: NodeFilters, page: Page, columns: Sequence[ColumnElement[Any]], membership: Membership
) -> Rows:
    """The page of the list as rows of ``columns``. ``membership`` is looked at for the filter ``conductor`` only.

    Raises ChassisNotFound and NodeNotFound (marker) for what the filters and the page name, InvalidValue for a sort key
    that cannot be one.
    """
    query = _filtered(session, select(*columns), filters)
    query = _after_marker(session, query, page)
    order = _order(page)
    if filters.conductor is None:
        return session.execute(query.order_by(*order).limit(page.limit)).all()
    ids = _ids_owned_by(session, query, order, filters.conductor, membership, page.limit)
    rows = session.execute(select(*columns).where(Node.id.in_(ids)).order_by(*order)) if ids else ()
    return list(rows)


def _filtered(session: Session, query: Query, filters: NodeFilters) -> Query:
    conditions: list[ColumnElement[bool]] = [*_plain(filters), *_trait_conditions(filters)]
    if filters.chassis_uuid is not None:
        chassis_id = session.scalar(select(Chassis.id).where(Chassis.uuid == filters.chassis_uuid))
        if chassis_id is None:
            raise ChassisNotFound(chassis=filters.chassis_uuid)
        conditions.append(Node.chassis_id == chassis_id)
    return query.where(*conditions)


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
        (Node.parent_node, filters.parent_node),
    ]
    conditions: list[ColumnElement[bool]] = [column == value for column, value in equal if value is not None]
    if filters.associated is not None:
        conditions.append(Node.instance_uuid.is_not(None) if filters.associated else Node.instance_uuid.is_(None))
    if filters.sharded is not None:
        conditions.append(Node.shard.is_not(None) if filters.sharded else Node.shard.is_(None))
    if filters.shards is not None:
        conditions.append(func.lower(Node.shard).in_([shard.lower() for shard in filters.shards]))
    if filters.project is not None:
        conditions.append(or_(Node.owner == filters.project, Node.lessee == filters.project))
    if filters.description_contains is not None:
        # % and _ are wildcards, as with Ironic; a backslash is just itself, which needs another escape character.
        pattern = filters.description_contains.lower().replace("!", "!!")
        conditions.append(func.lower(Node.description).like(f"%{pattern}%", escape="!"))
    if filters.parent_node is None and not filters.include_children:
        conditions.append(Node.parent_node.is_(None))
    return conditions


def _trait_conditions(filters: NodeFilters) -> list[ColumnElement[bool]]:
    """The four trait filters.

    traits:         EXISTS (… trait = A) AND EXISTS (… trait = B)
    not-traits:     NOT (EXISTS (… trait = A) AND EXISTS (… trait = B))
    traits-any:     EXISTS (… trait IN (A, B))
    not-traits-any: NOT EXISTS (… trait IN (A, B))
    """
    conditions: list[ColumnElement[bool]] = [_has(trait) for trait in filters.traits]
    if filters.not_traits:
        conditions.append(not_(and_(*(_has(trait) for trait in filters.not_traits))))
    if filters.traits_any:
        conditions.append(_has(*filters.traits_any))
    if filters.not_traits_any:
        conditions.append(not_(_has(*filters.not_traits_any)))
    return conditions


def _has(*traits: str) -> ColumnElement[bool]:
    matches = NodeTrait.trait == traits[0] if len(traits) == 1 else NodeTrait.trait.in_(traits)
    found: ColumnElement[bool] = exists().where(NodeTrait.node_id == Node.id, matches)
    return found


def _sort_column(name: str) -> InstrumentedAttribute[Any]:
    column = Node.__mapper__.attrs.get(name)
    if column is None or name in _NOT_SORTABLE or isinstance(Node.__table__.c[column.columns[0].name].type, Json):
        raise InvalidValue(message=f'The sort_key value "{name}" is an invalid field for sorting')
    attribute: InstrumentedAttribute[Any] = getattr(Node, name)
    return attribute


def _order(page: Page) -> list[ColumnElement[Any]]:
    """Nulls first, ties by id; the other way round when descending. The same on every database."""
    column = _sort_column(page.sort_key)
    terms: list[ColumnElement[Any]] = []
    if column.nullable:
        terms.append(_not_null(column))
    if page.sort_key != "id":
        terms.append(column.expression)
    terms.append(Node.id.expression)
    return [term.desc() if page.descending else term.asc() for term in terms]


def _not_null(column: InstrumentedAttribute[Any]) -> ColumnElement[int]:
    return case((column.is_(None), 0), else_=1)


def _after_marker(session: Session, query: Query, page: Page) -> Query:
    if page.marker is None:
        return query
    column = _sort_column(page.sort_key)
    marker = session.execute(select(Node.id, column).where(Node.uuid == page.marker)).first()
    if marker is None:
        raise NodeNotFound(node=page.marker)
    marker_id, value = marker
    later_id = Node.id < marker_id if page.descending else Node.id > marker_id
    if page.sort_key == "id":
        return query.where(later_id)
    return query.where(or_(_later(column, value, page.descending), and_(column.is_not_distinct_from(value), later_id)))


def _later(column: InstrumentedAttribute[Any], value: Any, descending: bool) -> ColumnElement[bool]:
    if value is None:
        # Nulls come first; when descending they come last, and only other nulls follow.
        return false() if descending else column.is_not(None)
    bound = literal(value, column.type)
    if descending:
        earlier: ColumnElement[bool] = column < bound
        return or_(earlier, column.is_(None)) if column.nullable else earlier
    later: ColumnElement[bool] = column > bound
    return later


def _ids_owned_by(
    session: Session,
    query: Query,
    order: Sequence[ColumnElement[Any]],
    conductor: str,
    membership: Membership,
    limit: int,
) -> list[int]:
    """Ids of the first ``limit`` nodes of the query that the conductor owns. Ownership is no column: read on, in
    chunks and only nodes of groups and drivers that it serves, until there are enough."""
    served = [key for key, hosts in membership.members.items() if conductor in hosts]
    if not served:
        return []
    keys = or_(*(and_(Node.conductor_group == group, Node.driver == driver) for group, driver in served))
    query = query.with_only_columns(Node.id, Node.uuid, Node.conductor_group, Node.driver).where(keys)
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
