"""Usages of projects and users."""

from collections import Counter
from typing import Any

from sqlalchemy import distinct, func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Allocation, Consumer, ResourceClass

#: Names for consumers without a type, and for all consumers.
UNKNOWN = "unknown"
ALL = "all"


def by_class(session: Session, project_id: str, user_id: str | None) -> dict[str, int]:
    """Return the amounts used by the project, or by one of its users, by class; classes without usage are left out."""
    query = _of(select(ResourceClass.name, func.sum(Allocation.used)), project_id, user_id)
    query = query.group_by(ResourceClass.id, ResourceClass.name).order_by(ResourceClass.id)
    return {name: int(used) for name, used in session.execute(query)}


def by_type(session: Session, project_id: str, user_id: str | None, wanted: str | None) -> dict[str, dict[str, int]]:
    """The same by type of consumer, with the number of consumers as ``consumer_count``.

    ``wanted``: a type, UNKNOWN for consumers that have none, ALL for one group of all of them, None for every group.
    """
    kind = func.coalesce(Consumer.consumer_type, UNKNOWN)
    query = _of(select(kind, ResourceClass.name, func.sum(Allocation.used)), project_id, user_id)
    query = query.group_by(kind, ResourceClass.id, ResourceClass.name).order_by(kind, ResourceClass.id)
    counts = _of(select(kind, func.count(distinct(Consumer.id))), project_id, user_id).group_by(kind)
    consumers: Counter[str] = Counter()
    for name, count in session.execute(counts):
        consumers[ALL if wanted == ALL else name] += count
    groups: dict[str, dict[str, int]] = {}
    for name, resource_class, used in session.execute(query):
        group = groups.setdefault(ALL if wanted == ALL else name, {})
        group[resource_class] = group.get(resource_class, 0) + int(used)
    # Consumers come and go between the two statements, which may therefore count different ones.
    return {
        name: group | {"consumer_count": consumers[name]}
        for name, group in groups.items()
        if wanted in (None, ALL, name)
    }


def _of(query: Any, project_id: str, user_id: str | None) -> Any:
    query = (
        query.select_from(Consumer)
        .join(Allocation, Allocation.consumer_id == Consumer.id)
        .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
        .where(Consumer.project_id == project_id)
    )
    return query.where(Consumer.user_id == user_id) if user_id is not None else query
