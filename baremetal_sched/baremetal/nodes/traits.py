"""The traits of a node: changes and conditions."""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Integer,
    String,
    bindparam,
    delete,
    exists,
    func,
    insert,
    null,
    select,
    type_coerce,
    update,
)
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.conductors.ownership import LiveMembers
from baremetal_sched.baremetal.events import NODE_UPDATED
from baremetal_sched.baremetal.identifiers import TRAITS_PER_NODE
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.event_notes import events_of, insert_within, values_within, writes_events
from baremetal_sched.db.models import Node, NodeTrait, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.db.sql_functions import string_agg
from baremetal_sched.db.types import Query
from baremetal_sched.errors.baremetal import NodeNotFound, TooManyTraits
from baremetal_sched.placement.candidates.sql.conditions import FEW
from baremetal_sched.placement.tables import PROVIDERS

_ROWS = table_of(NodeTrait)
# Made once: making a statement takes longer than running it.
_TRAITS = select(_ROWS.c.trait).where(_ROWS.c.node_id == bindparam("node"))
_ADD = insert(_ROWS)
_REMOVE = delete(_ROWS).where(_ROWS.c.node_id == bindparam("node_id"), _ROWS.c.trait == bindparam("trait"))
_NODES = table_of(Node)
#: All changes of traits increment the revision of the node, and so do changes of its other columns, except
#: reservations.
_TOUCH = (
    update(_NODES)
    .where(_NODES.c.id == bindparam("node"), _NODES.c.revision == bindparam("before"), _NODES.c.reservation.is_(None))
    .values(revision=_NODES.c.revision + 1, updated_at=bindparam("now"))
)
_TOUCHED = _TOUCH.returning(_NODES.c.id).cte("touched")
#: The same with the event, on PostgreSQL: WITH touched AS (UPDATE nodes … RETURNING id) INSERT INTO event_notes …
_IS_TOUCHED = select(_TOUCHED.c.id).exists()
_TOUCH_AND_NOTE = insert_within(bindparam("node_uuid", type_=String()), _IS_TOUCHED, is_locked=True).add_cte(_TOUCHED)


def list_traits(session: Session, node_id: int) -> list[str]:
    """The node's traits, sorted."""
    return sorted(session.scalars(_TRAITS, {"node": node_id}))


def replace_traits(session: Session, node: Node, traits: Iterable[str]) -> None:
    """Make ``traits`` (valid names; repeats are folded) those of the node, whose row is locked. Raises TooManyTraits,
    and then nothing is changed, for more than 50."""
    wanted, connection = frozenset(traits), session.connection()
    _require_few(node.uuid, wanted)
    # Two changes at once cannot both pass, so the limit holds without a lock on the set.
    node.touch()
    row = compiled.run(connection, _with_traits(null()), {"uuid": node.uuid}).one()
    _write(connection, row, _names_in(row), wanted)


def change_traits(
    connection: Connection, uuid: str, live: LiveMembers, wanted: Callable[[frozenset[str]], frozenset[str]]
) -> frozenset[str]:
    """Make the node's traits what ``wanted`` makes of them (valid names), and return them.

    Nothing is locked before the UPDATE of the node, which says whether it is still what was read. Raises NodeNotFound,
    NoValidHost, NoConductors, NodeLocked, TooManyTraits, what ``wanted`` raises, and StaleDataError.
    """
    node = compiled.run(connection, _with_traits(live.column), {"uuid": uuid}).first()
    if node is None:
        raise NodeNotFound(node=uuid)
    nodes.require_changeable(node, live.read(node.members))
    before = _names_in(node)
    after = wanted(before)
    _require_few(uuid, after)
    given: dict[str, Any] = {"node": node.id, "before": node.revision, "now": utcnow()}
    at_once = connection.dialect.name == "postgresql" and writes_events(connection) and before != after
    if at_once:
        given |= {"node_uuid": uuid, **values_within(NODE_UPDATED, _told(before, after), None)}
    if not rows_changed(compiled.change(connection, _TOUCH_AND_NOTE if at_once else _TOUCH, given)):
        raise StaleDataError("the node was changed")
    _write(connection, node, before, after, notes=not at_once)
    return after


def _told(before: Collection[str], after: Collection[str]) -> dict[str, Any]:
    return {"changed": {"traits": {"before": sorted(before), "after": sorted(after)}}}


def _require_few(uuid: str, traits: Collection[str]) -> None:
    if len(traits) > TRAITS_PER_NODE:
        raise TooManyTraits(node=uuid, count=len(traits), limit=TRAITS_PER_NODE)


def _names_in(node: Any) -> frozenset[str]:
    return frozenset(filter(None, (node.traits or "").split(",")))


def _write(
    connection: Connection, node: Any, before: frozenset[str], after: frozenset[str], *, notes: bool = True
) -> None:
    """Write what has changed of a row of ``_with_traits``, with its event unless that is written already."""
    added, removed = after - before, before - after
    for statement, changed in ((_REMOVE, removed), (_ADD, added)):
        compiled.change_all(connection, statement, [{"node_id": node.id, "trait": each} for each in sorted(changed)])
    projection.change_traits(connection, node, added, removed)
    if notes and before != after:
        events_of(connection).add_of_locked(NODE_UPDATED, node.uuid, _told(before, after))


@lru_cache
def _with_traits(members: ColumnElement[Any]) -> Query:
    """SELECT (what the node's provider depends on), members, p.id AS provider_id, p.generation, p.trait_ids,
    (SELECT group_concat(trait) FROM node_traits WHERE node_id = n.id) AS traits
    FROM nodes n LEFT JOIN resource_providers p ON p.uuid = n.uuid WHERE n.uuid = :uuid"""
    # As the driver has it: no value is converted.
    columns = [
        type_coerce(column, Integer).label(column.key) if isinstance(column.type, Boolean) else column
        for column in projection.COLUMNS
    ]
    traits = select(string_agg(_ROWS.c.trait)).where(_ROWS.c.node_id == Node.id).scalar_subquery()
    provider = (PROVIDERS.c.id.label("provider_id"), PROVIDERS.c.generation, PROVIDERS.c.trait_ids)
    query = select(*columns, *provider, traits.label("traits"), members.label("members"))
    return query.outerjoin(PROVIDERS, PROVIDERS.c.uuid == Node.uuid).where(Node.uuid == bindparam("uuid"))


def has_any(traits: Collection[str]) -> ColumnElement[bool]:
    """The node has at least one of the traits: EXISTS (… trait IN (A, B))."""
    matches = NodeTrait.trait == next(iter(traits)) if len(traits) == 1 else NodeTrait.trait.in_(traits)
    found: ColumnElement[bool] = exists().where(NodeTrait.node_id == Node.id, matches)
    return found


def has_all(traits: Collection[str]) -> list[ColumnElement[bool]]:
    """The node has all of the traits: EXISTS (… trait = A), EXISTS (… trait = B); of more than a few,
    (SELECT count(*) … trait IN (A, B, …)) = :number."""
    if len(traits) <= FEW:
        return [has_any([trait]) for trait in traits]
    count = select(func.count()).where(NodeTrait.node_id == Node.id, NodeTrait.trait.in_(traits)).scalar_subquery()
    return [count == len(set(traits))]
