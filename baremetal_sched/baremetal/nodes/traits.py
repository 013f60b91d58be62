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
    any_,
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

from baremetal_sched.baremetal.conductors.ownership import LiveMembers
from baremetal_sched.baremetal.events import NODE_UPDATED, Changes, note_changed
from baremetal_sched.baremetal.identifiers import TRAITS_PER_NODE
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.db import compiled
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeTrait, table_of
from baremetal_sched.db.notes import insert_within, notes_of, values_within
from baremetal_sched.db.results import require_changed
from baremetal_sched.db.sql_functions import listed, string_agg
from baremetal_sched.db.types import Query
from baremetal_sched.documents.schema import canonical_uuid
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
_IS_TOUCHED = select(_TOUCHED.c.id).exists()
_REMOVED = delete(_ROWS).where(_ROWS.c.node_id == bindparam("node"), _ROWS.c.trait == any_(listed("removed", String())))
_ADDED = insert(_ROWS).from_select(["node_id", "trait"], select(_TOUCHED.c.id, func.unnest(listed("added", String()))))
#: The same with the traits and the event, on PostgreSQL: WITH touched AS (UPDATE nodes … RETURNING id), removed AS
#: (DELETE FROM node_traits …), added AS (INSERT INTO node_traits … FROM touched) INSERT INTO event_notes …
_TOUCH_AND_NOTE = insert_within(bindparam("node_uuid", type_=String()), _IS_TOUCHED, is_locked=True).add_cte(
    _TOUCHED, _REMOVED.where(_IS_TOUCHED).cte("removed"), _ADDED.cte("added")
)


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
    row = compiled.run(connection, _with_traits(null()), {"ident": node.uuid}).one()
    _write(connection, row, _names_in(row), wanted)


def change_traits(
    connection: Connection, ident: str, live: LiveMembers, wanted: Callable[[str, frozenset[str]], frozenset[str]]
) -> frozenset[str]:
    """Make the traits of the node with UUID or name ``ident`` what ``wanted`` makes of its UUID and them (valid names),
    and return them.

    Nothing is locked before the UPDATE of the node, which says whether it is still what was read. Raises NodeNotFound,
    NoValidHost, NoConductors, NodeLocked, TooManyTraits, what ``wanted`` raises, and StaleDataError.
    """
    canonical = canonical_uuid(ident)
    query = _with_traits(live.column, by_uuid=canonical is not None)
    node = compiled.run(connection, query, {"ident": canonical or ident}).first()
    if node is None:
        raise NodeNotFound(node=ident)
    nodes.require_changeable(node, live.read(node.members))
    before = _names_in(node)
    after = wanted(node.uuid, before)
    _require_few(node.uuid, after)
    given: dict[str, Any] = {"node": node.id, "before": node.revision, "now": utcnow()}
    at_once = connection.dialect.name == "postgresql" and notes_of(connection).writes_events and before != after
    if at_once:
        changed = {"removed": ",".join(before - after), "added": ",".join(after - before)}
        noted = values_within(connection, NODE_UPDATED, {"changed": _told(before, after)}, None)
        given |= {"node_uuid": node.uuid, **changed, **noted}
    touched = compiled.change(connection, _TOUCH_AND_NOTE if at_once else _TOUCH, given)
    require_changed(touched, "the node was changed")
    if at_once:
        projection.change_traits(connection, node, after - before, before - after)
    else:
        _write(connection, node, before, after)
    return after


def _told(before: Collection[str], after: Collection[str]) -> Changes:
    return {"traits": {"before": sorted(before), "after": sorted(after)}}


def _require_few(uuid: str, traits: Collection[str]) -> None:
    if len(traits) > TRAITS_PER_NODE:
        raise TooManyTraits(node=uuid, count=len(traits), limit=TRAITS_PER_NODE)


def _names_in(node: Any) -> frozenset[str]:
    return frozenset(filter(None, (node.traits or "").split(",")))


def _write(connection: Connection, node: Any, before: frozenset[str], after: frozenset[str]) -> None:
    """Write what has changed of a row of ``_with_traits``, with its event."""
    added, removed = after - before, before - after
    for statement, changed in ((_REMOVE, removed), (_ADD, added)):
        compiled.change_all(connection, statement, [{"node_id": node.id, "trait": each} for each in sorted(changed)])
    projection.change_traits(connection, node, added, removed)
    if before != after:
        note_changed(connection, node.uuid, _told(before, after))


@lru_cache
def _with_traits(members: ColumnElement[Any], *, by_uuid: bool = True) -> Query:
    """SELECT (what the node's provider depends on), members, p.id AS provider_id, p.generation, p.trait_ids,
    (SELECT group_concat(trait) FROM node_traits WHERE node_id = n.id) AS traits
    FROM nodes n LEFT JOIN resource_providers p ON p.uuid = n.uuid WHERE n.uuid = :ident, or n.name = :ident"""
    # As the driver has it: no value is converted.
    columns = [
        type_coerce(column, Integer).label(column.key) if isinstance(column.type, Boolean) else column
        for column in projection.COLUMNS
    ]
    traits = select(string_agg(_ROWS.c.trait)).where(_ROWS.c.node_id == Node.id).scalar_subquery()
    provider = (PROVIDERS.c.id.label("provider_id"), PROVIDERS.c.generation, PROVIDERS.c.trait_ids)
    query = select(*columns, *provider, traits.label("traits"), members.label("members"))
    key = Node.uuid if by_uuid else Node.name
    return query.outerjoin(PROVIDERS, PROVIDERS.c.uuid == Node.uuid).where(key == bindparam("ident"))


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
