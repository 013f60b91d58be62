"""Lists of domains and of their nodes, and how many nodes are in no domain of a level. Plain columns, no locks."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from baremetal_sched.baremetal.visibility import Conditions, Visibility
from baremetal_sched.db import paging
from baremetal_sched.db.models import Domain, DomainMember, Node
from baremetal_sched.db.paging import Page
from baremetal_sched.db.types import Query, Reader, Rows
from baremetal_sched.errors import InvalidValue, SchedulerError
from baremetal_sched.errors.domains import DomainNotFound

_PARENT = aliased(Domain)

#: The number of nodes that one statement names.
_CHUNK = 500


def select_domains(session: Session, conditions: Mapping[str, str], page: Page, visible: Visibility) -> Rows:
    """Return the domains on the page: ``Domain``, the UUID of its ``parent``, and the number of its visible ``nodes``.
    ``conditions``: name, level, parent (a UUID). Callers who do not see everything get only domains with such nodes.

    SELECT d.*, p.uuid AS parent, (SELECT count(*) FROM domain_members m WHERE m.domain_id = d.id AND …) AS nodes
    FROM domains d LEFT JOIN domains p ON p.id = d.parent_id WHERE … ORDER BY d.id
    """
    members = _members(visible)
    nodes = select(func.count()).select_from(DomainMember).where(*members).correlate(Domain).scalar_subquery()
    query = _filtered(select(Domain, _PARENT.uuid.label("parent"), nodes.label("nodes")), conditions, visible)
    if not visible.everything:
        page.within = exists().where(*members)
    return paging.select_page(session, query, Domain, page, _missing)


def count(session: Session, conditions: Mapping[str, str], visible: Visibility) -> int:
    """Return how many domains ``select_domains`` finds, on all pages."""
    return session.scalar(_filtered(select(func.count(Domain.id)), conditions, visible)) or 0


def _filtered(query: Query, conditions: Mapping[str, str], visible: Visibility) -> Query:
    columns = {"name": Domain.name, "level": Domain.level, "parent": _PARENT.uuid, "uuid": Domain.uuid}
    query = query.outerjoin(_PARENT, _PARENT.id == Domain.parent_id)
    query = query.where(*(columns[name] == value for name, value in conditions.items()))
    return query if visible.everything else query.where(exists().where(*_members(visible)))


def _members(visible: Visibility) -> Conditions:
    return (DomainMember.domain_id == Domain.id, *visible.conditions_behind(DomainMember.node_id))


def names_of(reader: Reader, ids: Collection[int]) -> dict[int, str]:
    """Return the domains with these ids as LEVEL:NAME."""
    query = select(Domain.id, Domain.level, Domain.name).where(Domain.id.in_(ids))
    return {row_id: f"{level}:{name}" for row_id, level, name in reader.execute(query)} if ids else {}


def with_domains_below(reader: Reader, ids: Collection[int], visible: Visibility) -> set[int]:
    """Return those of the domains (ids) that have domains right below them, as far as the caller sees these."""
    query = select(Domain.parent_id).where(Domain.parent_id.in_(ids)).distinct()
    query = query if visible.everything else query.where(exists().where(*_members(visible)))
    return {parent for (parent,) in reader.execute(query) if parent is not None}


def find(session: Session, uuid: str, visible: Visibility) -> Any:
    """Return the domain as ``select_domains`` does. Raises DomainNotFound."""
    rows = select_domains(session, {"uuid": uuid}, Page(1), visible)
    if not rows:
        raise DomainNotFound(domain=uuid)
    return rows[0]


def select_nodes(session: Session, domain: Domain, page: Page, visible: Visibility) -> Rows:
    """Return the visible nodes of a domain that are on the page: ``uuid``, ``name`` and ``set_by``."""
    inside = (DomainMember.domain_id == domain.id, *visible.conditions())
    page.within = exists().where(DomainMember.node_id == Node.id, *inside)
    query = select(Node.uuid, Node.name, DomainMember.set_by).join(DomainMember, DomainMember.node_id == Node.id)
    return paging.select_page(session, query.where(*inside), Node, page, _missing)


def count_inside(reader: Reader, visible: Visibility) -> dict[str, int]:
    """Return of each level how many visible nodes are in one of its domains, in the order of the names. Callers who do
    not see everything get only levels with such nodes.

    SELECT d.level, (SELECT count(*) FROM domain_members m WHERE m.level = d.level AND …) FROM domains d
    GROUP BY d.level
    """
    members = (DomainMember.level == Domain.level, *visible.conditions_behind(DomainMember.node_id))
    inside = select(func.count()).select_from(DomainMember).where(*members).correlate(Domain).scalar_subquery()
    found = reader.execute(select(Domain.level, inside).group_by(Domain.level).order_by(Domain.level))
    return {level: count for level, count in found if count or visible.everything}


def of_nodes(reader: Reader, nodes: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the names of the domains of these nodes (UUIDs), by level, in the order of the levels. Nodes in no domain
    are left out.

    SELECT n.uuid, d.level, d.name FROM domain_members m JOIN nodes n … JOIN domains d … WHERE n.uuid IN (…)
    """
    uuids = list(nodes)
    found: dict[str, dict[str, str]] = {}
    query = select(Node.uuid, Domain.level, Domain.name).join(DomainMember, DomainMember.node_id == Node.id)
    query = query.join(Domain, Domain.id == DomainMember.domain_id).order_by(Domain.level)
    for start in range(0, len(uuids), _CHUNK):
        for uuid, level, name in reader.execute(query.where(Node.uuid.in_(uuids[start : start + _CHUNK]))):
            found.setdefault(uuid, {})[level] = name
    return found


def is_in_one(level: str, names: Collection[str | None]) -> ColumnElement[bool]:
    """Return the condition that a node is in one of these domains of the level; None among the names: or in none.

    n.id IN (SELECT m.node_id FROM domain_members m JOIN domains d … WHERE d.level = … AND d.name IN (…))
    OR NOT EXISTS (…)
    """
    own = select(DomainMember.node_id).join(Domain, Domain.id == DomainMember.domain_id)
    found = Node.id.in_(own.where(Domain.level == level, Domain.name.in_([each for each in names if each is not None])))
    if None not in names:
        return found
    return or_(found, ~exists().where(DomainMember.node_id == Node.id, DomainMember.level == level))


def domain_at(level: str) -> ColumnElement[Any]:
    """Return SQL: the name of the node's domain of this level, or NULL.

    (SELECT d.name FROM domain_members m JOIN domains d ON d.id = m.domain_id WHERE m.node_id = n.id AND m.level = …)
    """
    own = (DomainMember.node_id == Node.id, DomainMember.level == level)
    query = select(Domain.name).join(DomainMember, DomainMember.domain_id == Domain.id).where(*own)
    return query.correlate(Node).scalar_subquery()


def _missing(uuid: str) -> SchedulerError:
    return InvalidValue(message=f"There is nothing with the UUID {uuid}, which marker names.")
