"""Traits as conditions on Node, in forms that databases execute well whatever the number of traits."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, exists, func, select

from baremetal_sched.db.models import Node, NodeTrait
from baremetal_sched.placement.candidates.sql.conditions import FEW


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
