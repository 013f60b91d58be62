"""Which nodes are in a domain: putting nodes in, moving them and taking them out. Their providers follow."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any

from sqlalchemy import bindparam, delete, insert, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.domains import domains
from baremetal_sched.baremetal.events import NODE_MOVED, Changes, note_changed
from baremetal_sched.baremetal.provider import projection
from baremetal_sched.db import schema_state
from baremetal_sched.db.models import Domain, DomainMember, Node, table_of
from baremetal_sched.errors.domains import NodeNotInDomain

#: The words of ``DomainMember.set_by``.
PERSON, PROPERTY = "person", "property"

#: The first schema whose releases all know the event of a move.
_EVENTS_REVISION = "0037"

#: The most nodes of one statement.
_PORTION = 500

_ROWS = table_of(DomainMember)
_LEAVE = delete(_ROWS).where(_ROWS.c.node_id == bindparam("node"), _ROWS.c.domain_id == bindparam("domain"))

#: Ids of a node and of a domain.
Pair = tuple[int, int]


def put(session: Session, path: Sequence[Domain], node: Node) -> None:
    """Put ``node`` (its row locked) into a domain and those above it (``domains.path_of``), by a person's request.

    It leaves its other domains of the same levels, and those below them. Aggregates that a client of placement has
    changed are put right. Raises DomainsNotServed.
    """
    domains.require_served(session)
    if not place(session, {node.id: path}, PERSON).total():
        projection.project_domains(session, [node.id])


def take_out(session: Session, domain: Domain, node: Node) -> None:
    """Take ``node`` (its row locked) out of ``domain`` and those below it. Raises NodeNotInDomain."""
    own = set(session.scalars(select(_ROWS.c.domain_id).where(_ROWS.c.node_id == node.id)))
    if domain.id not in own:
        raise NodeNotInDomain(node=node.uuid, domain=domain.name)
    below = domains.closure(session, [domain.id], upward=False)
    leave(session, [(node.id, row.id) for row in below if row.id in own])


def follow_parents(session: Session, domain: Domain) -> None:
    """Put the nodes of ``domain`` into those above it, after it has got another parent."""
    of_domain = select(_ROWS.c.node_id).where(_ROWS.c.domain_id == domain.id)
    session.execute(select(Node.id).where(Node.id.in_(of_domain)).order_by(Node.id).with_for_update())
    path = domains.path_from(session, domain.id)
    for set_by in (PROPERTY, PERSON):
        ids = session.scalars(of_domain.where(_ROWS.c.set_by == set_by)).all()
        for start in range(0, len(ids), _PORTION):
            place(session, dict.fromkeys(ids[start : start + _PORTION], path), set_by)


def place(
    session: Session, paths: Mapping[int, Sequence[Domain]], set_by: str, *, keeps_persons: bool = False
) -> Counter[str]:
    """Put each node (by id, its row locked) into the domains of its path. Return how many nodes were ``added``,
    ``moved`` and ``kept``.

    ``keeps_persons``: a node that a person has put into another domain is kept there.
    """
    own: dict[int, list[Any]] = {node: [] for node in paths}
    for row in session.execute(select(_ROWS).where(_ROWS.c.node_id.in_(paths))):
        own[row.node_id].append(row)
    above: dict[int, set[int]] = {}
    for row in domains.closure(session, {row.domain_id for rows in own.values() for row in rows}, upward=True):
        above.setdefault(row.start, set()).add(row.id)
    done: Counter[str] = Counter()
    left: list[Pair] = []
    entered = []
    for node, path in paths.items():
        leaving = _leaving(own[node], path, above)
        if keeps_persons and any(row.set_by == PERSON for row in leaving):
            done["kept"] += 1
            continue
        is_moved = bool(leaving)
        targets = {each.id for each in path}
        if set_by == PERSON:  # a person who confirms the property has set it
            leaving += [row for row in own[node] if row.domain_id in targets and row.set_by == PROPERTY]
        left += [(node, row.domain_id) for row in leaving]
        staying = {row.domain_id for row in own[node]} - {row.domain_id for row in leaving}
        entering = [each for each in path if each.id not in staying]
        entered += [{"node_id": node, "level": each.level, "domain_id": each.id, "set_by": set_by} for each in entering]
        done["moved" if is_moved else "added"] += bool(entering)
    _write(session, left, entered)
    return done


def _leaving(own: Sequence[Any], path: Sequence[Domain], above: Mapping[int, Set[int]]) -> list[Any]:
    """Return the rows of the domains that a node leaves that goes to ``path``: other ones of these levels, and those
    below them."""
    targets = {each.level: each.id for each in path}
    others = {row.domain_id for row in own if targets.get(row.level, row.domain_id) != row.domain_id}
    return [row for row in own if above[row.domain_id] & others]


def leave(session: Session, pairs: Collection[Pair]) -> None:
    """Take nodes (their rows locked) out of domains."""
    _write(session, pairs, ())


def _write(session: Session, left: Collection[Pair], entered: Collection[Mapping[str, Any]]) -> None:
    connection = session.connection()
    _note_moves(session, left, [(row["node_id"], row["domain_id"]) for row in entered])
    if left:
        connection.execute(_LEAVE, [{"node": node, "domain": domain} for node, domain in left])
    if entered:
        connection.execute(insert(_ROWS), list(entered))
    projection.project_domains(session, {node for node, _ in left} | {row["node_id"] for row in entered})


def _note_moves(session: Session, left: Collection[Pair], entered: Collection[Pair]) -> None:
    """Note the events of nodes (their rows locked) that change their domains; not while a release may serve whose
    webhooks do not know the type.

    SELECT id, uuid FROM nodes WHERE id IN (…); SELECT id, level, name FROM domains WHERE id IN (…)
    """
    moved = {*left} ^ {*entered}  # who confirms what a property says moves nothing
    if not moved or not schema_state.has_finished(session.connection(), _EVENTS_REVISION):
        return
    nodes, places = ({pair[place] for pair in moved} for place in (0, 1))
    found = session.execute(select(Node.id, Node.uuid).where(Node.id.in_(nodes)))
    uuids = {row.id: row.uuid for row in found}
    of_domains = select(Domain.id, Domain.level, Domain.name).where(Domain.id.in_(places))
    named = {domain: (f"domain:{level}", name) for domain, level, name in session.execute(of_domains)}
    changes: dict[int, Changes] = {}
    for pairs, word in ((left, "before"), (entered, "after")):
        for node, domain in pairs:
            if (node, domain) in moved:
                key, name = named[domain]
                change = changes.setdefault(node, {}).setdefault(key, {"before": None, "after": None})
                change[word] = name
    for node in sorted(changes):
        note_changed(session, uuids[node], changes[node], NODE_MOVED)
