"""Domains of a level that are made from a property of the nodes, such as ``rack``, a portion of the nodes at a time."""

from collections import Counter
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.domains import domains, members
from baremetal_sched.baremetal.domains.members import PROPERTY
from baremetal_sched.baremetal.visibility import Visibility
from baremetal_sched.db.models import Domain, DomainMember, Node
from baremetal_sched.db.types import Rows
from baremetal_sched.errors import InvalidValue

#: The number of nodes that one call looks at.
PORTION = 500

#: The length of a domain's name.
_LONGEST = 255


def follow(session: Session, level: str, name: str, marker: str | None, visible: Visibility) -> dict[str, Any]:
    """Put the next visible nodes, those after ``marker``, into the domains of ``level`` that their property ``name``
    names. Missing domains are made; nodes without the property, and nodes that a person has put elsewhere, stay.

    Returns how many ``nodes`` there were, the names of domains that were ``created``, how many nodes were ``added``,
    ``moved``, ``kept`` where a person had put them, and are ``without`` the property; and as ``marker`` the UUID of the
    last node, None if there are no more. Raises InvalidValue for an unknown marker, DomainsNotServed.
    """
    domains.require_served(session)
    rows = _portion(session, level, marker, visible)
    named = {row.id: domain_named_by(row.properties, name) for row in rows}
    wanted = {row.id: domain for row in rows if (domain := named[row.id]) not in (None, row.domain)}
    created, done = [], Counter[str]()
    if wanted:
        created = domains.ensure(session, level, set(wanted.values()), name)
        paths = domains.paths_to(session, level, set(wanted.values()))
        locked = select(Node.id, Node.properties).where(Node.id.in_(wanted)).order_by(Node.id).with_for_update()
        if any(domain_named_by(properties, name) != wanted[node] for node, properties in session.execute(locked)):
            raise StaleDataError("the property was changed")
        of_nodes = {node: paths[domain] for node, domain in wanted.items()}
        done = members.place(session, of_nodes, PROPERTY, keeps_persons=True)
    return {
        "created": created,
        "nodes": len(rows),
        **{each: done[each] for each in ("added", "moved", "kept")},
        "without": list(named.values()).count(None),
        "marker": rows[-1].uuid if len(rows) == PORTION else None,
    }


def _portion(session: Session, level: str, marker: str | None, visible: Visibility) -> Rows:
    """SELECT n.*, d.name AS domain FROM (SELECT id, uuid, properties FROM nodes WHERE id > :marker AND … ORDER BY id
    LIMIT …) n LEFT JOIN domain_members m ON m.node_id = n.id AND m.level = :level LEFT JOIN domains d ON …

    A join of whole tables would read all of them for each portion."""
    after = 0
    if marker is not None:
        found = session.scalar(select(Node.id).where(Node.uuid == marker, *visible.conditions()))
        if found is None:
            raise InvalidValue(message=f"There is no node {marker}, which marker names.")
        after = found
    nodes = select(Node.id, Node.uuid, Node.properties).where(Node.id > after, *visible.conditions())
    portion = nodes.order_by(Node.id).limit(PORTION).subquery()
    query = (
        select(portion, Domain.name.label("domain"))
        .outerjoin(DomainMember, and_(DomainMember.node_id == portion.c.id, DomainMember.level == level))
        .outerjoin(Domain, Domain.id == DomainMember.domain_id)
    )
    return session.execute(query.order_by(portion.c.id)).all()


def domain_named_by(properties: Any, name: str) -> str | None:
    """Return the name of a domain in the property ``name``: a text or a whole number; None without the property, and
    for a value that cannot be a name."""
    value = (properties or {}).get(name)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = " ".join(str(value).split())
    return text if 0 < len(text) <= _LONGEST and text.isprintable() else None
