"""Due holds: they begin or end at a planned time, or when their node rests.

From the start of a hold the claim's own statement refuses claims (``nodes.closes_at``). The flag, the provider and the
history follow here. Holds that were due while no conductor looked begin or end late, and in order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, case, exists, func, or_, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.holds import guards, holds, rules
from baremetal_sched.baremetal.holds.rules import LOCKOUT
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Allocation, DriverCall, Hold, Node, ResourceProvider
from baremetal_sched.settings import Settings

#: The most nodes of one sweep.
MOST = 1000

#: Seconds by which the flag may be late, also if a sweep takes its time.
LAG = 30.0


@dataclass(frozen=True)
class DueNode:
    """A node with holds that are due, as its conductor is found."""

    id: int
    uuid: str
    conductor_group: str
    driver: str


def _is_due(now: ColumnElement[float]) -> ColumnElement[bool]:
    """Return the condition on holds and their nodes that something is to be done.

    ends_at <= now OR (begun_at IS NULL AND <it has started> AND (NOT drain OR deadline <= now OR <its node rests>)
    AND (type <> 'lockout' OR reservation IS NULL))
    """
    free = Node.reservation.is_(None)
    is_claimed = exists().where(ResourceProvider.uuid == Node.uuid, Allocation.provider_id == ResourceProvider.id)
    is_idle = and_(Node.instance_uuid.is_(None), Node.provision_state.not_in(sorted(guards.BUSY_STATES)), ~is_claimed)
    waits_no_more = or_(~Hold.drain, and_(free, is_idle), and_(Hold.drain_deadline <= now, free))
    begins = and_(
        Hold.begun_at.is_(None),
        func.coalesce(Hold.starts_at, Hold.asserted_at) <= now,
        waits_no_more,
        or_(Hold.type != LOCKOUT, free),
    )
    return or_(Hold.ends_at <= now, begins)


def due_nodes(session: Session) -> list[DueNode]:
    """Return the nodes with holds that are due, those first whose holds have been due for longest.

    SELECT n.id, n.uuid, … FROM nodes n JOIN holds h ON h.node_id = n.id WHERE <it is due> GROUP BY n.id …
    ORDER BY min(<when it was due>), n.id LIMIT 1000
    """
    now = select(epoch()).scalar_subquery()  # read once, not for each row
    start = func.coalesce(Hold.starts_at, Hold.asserted_at)
    columns = (Node.id, Node.uuid, Node.conductor_group, Node.driver)
    query = select(*columns).join(Hold, Hold.node_id == Node.id).where(_is_due(now)).group_by(*columns)
    when = func.min(case((Hold.begun_at.is_(None), start), else_=Hold.ends_at))
    rows = session.execute(query.order_by(when, Node.id).limit(MOST))
    return [DueNode(*row) for row in rows]


def settle_due(session: Session, node_id: int, settings: Settings, conductor: str | None = None) -> bool:
    """Begin and end the due holds of a node; return whether there were any. ``conductor`` is the host name of the
    caller."""
    node = session.scalars(select(Node).where(Node.id == node_id).with_for_update()).first()
    if node is None:
        return False
    node_holds, now = holds.of_node(session, node), holds.now(session)
    events = _events(session, node, node_holds, now)
    for _, _, hold, event in events:
        if event == "begin":
            hold.begun_at = now
            holds.record(session, node, hold, f"has begun{_circumstances(node, hold, now)}", conductor)
        else:
            node_holds.remove(hold)
            holds.record(session, node, hold, "has ended" if rules.is_active(hold) else _IN_VAIN, conductor)
            holds.delete(session, hold)
    if events:
        holds.settle(node, node_holds, settings)
    return bool(events)


_IN_VAIN = "has ended before it could begin"


def _events(
    session: Session, node: Node, node_holds: Sequence[Hold], now: float
) -> list[tuple[float, bool, Hold, str]]:
    """Return the due events, the earliest first; ends at a moment come before starts at that moment."""
    events = [(rules.end_of(hold), False, hold, "end") for hold in node_holds if rules.end_of(hold) <= now]
    waiting = [hold for hold in node_holds if not rules.is_active(hold) and rules.start_of(hold) <= now]
    events += [(rules.start_of(hold), True, hold, "begin") for hold in waiting if _may_begin(session, node, hold, now)]
    return sorted(events, key=lambda event: event[:2])


def _may_begin(session: Session, node: Node, hold: Hold, now: float) -> bool:
    """Return whether a hold that has started may begin: a lockout while no conductor works on the node, one that drains
    when the node rests, or at its deadline while no conductor works on it."""
    if node.reservation is not None and (hold.drain or hold.type == LOCKOUT):
        return False
    is_late = hold.drain_deadline is not None and hold.drain_deadline <= now
    return not hold.drain or is_late or guards.rests(session, node)


def _circumstances(node: Node, hold: Hold, now: float) -> str:
    """Return how late a hold begins, and whether it does so at its deadline while the node is in use."""
    due = rules.start_of(hold)
    if hold.drain:
        if hold.drain_deadline is None or hold.drain_deadline > now:
            return " as the node rests"
        due = hold.drain_deadline
    late = f", {now - due:.0f} seconds late" if now - due > LAG else ""
    if not hold.drain:
        return late
    instance = "" if node.instance_uuid is None else f", instance {node.instance_uuid}"
    return f" at its deadline, without waiting for the node (state {node.provision_state}{instance}){late}"


# -- lockouts ----------------------------------------------------------------------------------------------------------


def new_lockouts(session: Session) -> list[DueNode]:
    """Return the nodes that are locked out, but may still have a driver at work on them.

    SELECT n.id, n.uuid, … FROM nodes n JOIN holds h ON h.node_id = n.id WHERE h.type = 'lockout' AND h.begun_at IS NOT
    NULL AND h.acknowledged_at IS NULL AND n.reservation IS NULL AND NOT EXISTS (a call that may be made or under way)
    """
    is_open = or_(DriverCall.claimed_by.is_not(None), DriverCall.deadline > epoch())
    is_called = exists().where(DriverCall.node_id == Node.id, DriverCall.reply.is_(None), is_open)
    columns = (Node.id, Node.uuid, Node.conductor_group, Node.driver)
    query = select(*columns).distinct().join(Hold, Hold.node_id == Node.id)
    rows = session.execute(query.where(_IS_NEW_LOCKOUT, Node.reservation.is_(None), ~is_called).limit(MOST))
    return [DueNode(*row) for row in rows]


_IS_NEW_LOCKOUT = and_(Hold.type == LOCKOUT, Hold.begun_at.is_not(None), Hold.acknowledged_at.is_(None))


def acknowledge(session: Session, node_id: int) -> None:
    """Note that no driver is at work on a node that is locked out."""
    found = update(Hold).where(Hold.node_id == node_id, _IS_NEW_LOCKOUT).values(acknowledged_at=epoch())
    session.execute(found, execution_options={"synchronize_session": False})
