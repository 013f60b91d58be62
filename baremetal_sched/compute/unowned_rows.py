"""What belongs to no project, and is left to administrators once callers are authenticated."""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Consumer, Image, Node, NodeAllocation, Server
from baremetal_sched.settings import Settings


def count(session: Session, settings: Settings) -> dict[str, int]:
    """Return how many nodes have no owner, and how many other rows no project, or one that the settings gave them."""
    fixed = settings.compute.project_id
    incomplete = settings.placement.incomplete_consumer_project_id
    return {
        "nodes": _rows(session, Node, [Node.owner.is_(None)]),
        "allocations": _rows(session, NodeAllocation, [NodeAllocation.owner.is_(None)]),
        "servers": _rows(session, Server, [Server.project_id == fixed]),
        "images": _rows(session, Image, [Image.owner.is_(None), Image.owner == fixed]),
        "consumers": _rows(session, Consumer, [Consumer.project_id.in_((fixed, incomplete))]),
    }


def _rows(session: Session, model: type, conditions: Iterable[ColumnElement[bool]]) -> int:
    """SELECT count(*) FROM (the model's table) WHERE (one of the conditions)"""
    return session.scalar(select(func.count()).select_from(model).where(or_(*conditions))) or 0
