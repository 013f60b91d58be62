"""The traits of a node: changes and conditions."""

from collections.abc import Collection, Iterable

from sqlalchemy import ColumnElement, bindparam, delete, exists, func, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.identifiers import TRAITS_PER_NODE
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.db.models import Node, NodeTrait, table_of
from baremetal_sched.db.results import rows_changed
from baremetal_sched.errors.baremetal import NodeTraitNotFound, TooManyTraits
from baremetal_sched.placement.candidates.sql.conditions import FEW

_ROWS = table_of(NodeTrait)
# Made once: making a statement takes longer than running it.
_TRAITS = select(_ROWS.c.trait).where(_ROWS.c.node_id == bindparam("node"))
_ADD = insert(_ROWS)
_REMOVE = delete(_ROWS).where(
    _ROWS.c.node_id == bindparam("node"), _ROWS.c.trait.in_(bindparam("gone", expanding=True))
)


def list_traits(session: Session, node_id: int) -> list[str]:
    """The node's traits, sorted."""
    return sorted(session.scalars(_TRAITS, {"node": node_id}))


def replace_traits(session: Session, node: Node, traits: Iterable[str]) -> list[str]:
    """Make ``traits`` (valid names; repeats are folded) the node's traits; returns them, sorted.

    Raises TooManyTraits, and then nothing is changed, for more than 50.
    """
    wanted = set(traits)
    if len(wanted) > TRAITS_PER_NODE:
        raise TooManyTraits(node=node.uuid, count=len(wanted), limit=TRAITS_PER_NODE)
    present = set(list_traits(session, node.id))
    surplus, missing = present - wanted, wanted - present
    if surplus:
        session.execute(_REMOVE, {"node": node.id, "gone": sorted(surplus)})
    if missing:
        session.execute(_ADD, [{"node_id": node.id, "trait": trait} for trait in sorted(missing)])
    _changed(session, node, present, wanted)
    return sorted(wanted)


def add_trait(session: Session, node: Node, trait: str) -> None:
    """Add one trait (a valid name); fine if the node has it already. Raises TooManyTraits if it would be the 51st."""
    present = list_traits(session, node.id)
    if trait not in present:
        if len(present) >= TRAITS_PER_NODE:
            raise TooManyTraits(node=node.uuid, count=len(present) + 1, limit=TRAITS_PER_NODE)
        session.execute(_ADD, {"node_id": node.id, "trait": trait})
    _changed(session, node, present, [*present, trait])


def remove_trait(session: Session, node: Node, trait: str) -> None:
    """Remove one trait. Raises NodeTraitNotFound if the node does not have it."""
    removed = session.execute(_REMOVE, {"node": node.id, "gone": [trait]})
    if not rows_changed(removed):
        raise NodeTraitNotFound(node=node.uuid, trait=trait)
    after = list_traits(session, node.id)
    _changed(session, node, [*after, trait], after)


def _changed(session: Session, node: Node, before: Collection[str], after: Collection[str]) -> None:
    # The node's own row grows a revision with every change of its traits: two changes at once cannot both pass, so the
    # limit of 50 holds without a lock on the set.
    node.touch()
    projection.traits_changed(session, node, before, after)


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
