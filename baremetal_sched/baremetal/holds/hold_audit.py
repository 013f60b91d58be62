"""Holds and the flags of nodes: their differences, and how holds follow flags that a release without holds has
changed."""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, and_, case, exists, func, or_, select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.bookings.times import BOOKED, COUNTS
from baremetal_sched.baremetal.holds import holds, rules
from baremetal_sched.baremetal.holds.due import LAG
from baremetal_sched.baremetal.holds.rules import FAULT
from baremetal_sched.db.models import Hold, Node

#: Nodes of one transaction.
_PORTION = 500

_OF_NODE = Hold.node_id == Node.id
_IS_ACTIVE = exists().where(_OF_NODE, Hold.begun_at.is_not(None))
_HAS_FAULT = exists().where(_OF_NODE, Hold.type == FAULT)


def _differs() -> ColumnElement[bool]:
    """Return the condition that a node's flag or fault is not that of its holds.

    maintenance <> EXISTS (an active hold) OR (fault IS NOT NULL) <> EXISTS (a hold of the type fault)
    """
    flag = case((Node.maintenance, 1), else_=0) != case((_IS_ACTIVE, 1), else_=0)
    is_faulty = and_(Node.maintenance, Node.fault.is_not(None))
    return or_(flag, case((is_faulty, 1), else_=0) != case((_HAS_FAULT, 1), else_=0))


def follow_flags(session: Session, after: int = 0) -> int | None:
    """Have the holds of a portion of nodes, of those with ids ``after`` this one, follow their flags; return the last
    id, None if there are no more."""
    # Of nodes in maintenance the reason may differ, too.
    portion = select(Node).where(or_(_differs(), Node.maintenance), Node.id > after).order_by(Node.id).limit(_PORTION)
    nodes = session.scalars(portion.with_for_update(of=Node)).all()
    for node in nodes:
        before = len(session.new) + len(session.dirty) + len(session.deleted)
        holds.of_node(session, node)
        if len(session.new) + len(session.dirty) + len(session.deleted) > before:
            node.touch()
    return nodes[-1].id if nodes else None


def audit(session: Session) -> Iterator[str]:
    """Yield the errors in holds and in the columns of nodes that derive from them, one line each. Holds may begin and
    end as late as a sweep takes."""
    columns = (Node.uuid, Node.maintenance, Node.maintenance_reason, Node.fault, Node.closes_at)
    has_holds = exists().where(_OF_NODE)
    nodes = session.execute(
        select(Node.id, *columns)
        .where(or_(has_holds, Node.maintenance, Node.closes_at.is_not(None), Node.id.in_(select(BOOKED.c.node_id))))
        .order_by(Node.id)
    ).all()
    counting = func.min(case((COUNTS, BOOKED.c.made_at))).label("counting")
    booked = {
        row.node_id: row for row in session.execute(select(BOOKED.c.node_id, counting).group_by(BOOKED.c.node_id))
    }
    by_node: dict[int, list[Hold]] = {}
    for hold in session.scalars(select(Hold)):
        by_node.setdefault(hold.node_id, []).append(hold)
    for node_id, uuid, flag, reason, fault, closes_at in nodes:
        own = by_node.get(node_id, [])
        active = rules.active(own)
        kind = next(((hold.extra or {}).get("kind") for hold in active if hold.type == FAULT), None)
        if (flag, reason, fault) != (bool(active), rules.reason_of(active), kind):
            yield f"node {uuid}: its maintenance, reason or fault is not that of its holds"
        since = booked.get(node_id)
        latest = rules.closing_time(own, 0.0, since and since.counting)
        # How much earlier it closes is what the settings said when it was written. A booking that is over keeps it
        # closed until a conductor sees to that.
        is_needless = latest is None and since is None and closes_at is not None
        if is_needless or (latest is not None and (closes_at is None or closes_at > latest)):
            yield f"node {uuid}: it closes at {closes_at}, but by its planned holds and bookings at {latest}"
    yield from _overdue(session)


def _overdue(session: Session) -> Iterator[str]:
    """Look for holds that should have begun or ended long ago, except holds that wait for their node."""
    before = holds.now(session) - LAG
    waits = or_(Hold.drain, and_(Hold.type == rules.LOCKOUT, Node.reservation.is_not(None)))
    late = and_(Hold.begun_at.is_(None), func.coalesce(Hold.starts_at, Hold.asserted_at) < before, ~waits)
    query = select(Hold.uuid, Node.uuid).join(Node, _OF_NODE).where(or_(Hold.ends_at < before, late))
    for hold, node in session.execute(query):
        yield f"hold {hold} of node {node}: it should have begun or ended by now; does a conductor run?"
