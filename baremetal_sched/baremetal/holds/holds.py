"""Holds of a node whose row is locked: the flag, faults, releases, and the columns of the node that follow from all.

Every change of a node's holds is a change of the node, so two that meet are done one after the other. The node's
``maintenance``, ``maintenance_reason``, ``fault`` and ``closes_at`` follow in the same transaction.
"""

import uuid as uuid_module
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, object_session

from baremetal_sched.baremetal import history
from baremetal_sched.baremetal.bookings.times import booked_since
from baremetal_sched.baremetal.holds import rules
from baremetal_sched.baremetal.holds.rules import FAULT, INTERNAL, LEGACY, Actor
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Hold, Node
from baremetal_sched.db.notes import note_booked
from baremetal_sched.errors.holds import HoldNotFound, HoldsKept
from baremetal_sched.settings import Settings

#: The type of the events in the history of a node.
EVENT_TYPE = "maintenance"

#: Seconds between two times that are different in every database.
_TICK = 0.00001

#: The length of the columns of users and projects.
LONGEST = 255


def now(session: Session) -> float:
    """Return the time by the clock of the database."""
    return session.scalar(select(epoch())) or 0.0


def of_node(session: Session, node: Node) -> list[Hold]:
    """Return the holds of ``node`` (its row locked), in the order in which they were asserted.

    If the node's flag was changed without its holds, by a release that knows none, the holds follow it.
    """
    return of_nodes(session, [node])[0][node.id]


def of_nodes(session: Session, nodes: Sequence[Node]) -> tuple[dict[int, list[Hold]], float]:
    """Return the same of several nodes, by id of the node, and the time by the clock of the database.

    SELECT <now>, h.* FROM nodes n LEFT JOIN holds h ON h.node_id = n.id WHERE n.id IN (…) ORDER BY …
    """
    found: dict[int, list[Hold]] = {node.id: [] for node in nodes}
    query = select(epoch(), Hold).select_from(Node).outerjoin(Hold, Hold.node_id == Node.id).where(Node.id.in_(found))
    rows = session.execute(query.order_by(Hold.asserted_at, Hold.id)).all()
    moment = max((at for at, _ in rows), default=0.0)
    # What the transaction has not flushed yet counts, too.
    unwritten = [each for each in session.new if isinstance(each, Hold) and each.node_id in found]
    for hold in [*(hold for _, hold in rows if hold is not None), *unwritten]:
        if hold not in session.deleted:
            found[hold.node_id].append(hold)
    for node in nodes:
        _repair(session, node, found[node.id], moment)
    return found, moment


def _repair(session: Session, node: Node, holds: list[Hold], moment: float) -> None:
    """Add to ``holds`` what the node's flag, reason and fault ask for, and remove what they exclude."""
    if not node.maintenance:
        for hold in rules.active(holds):
            if hold.type in rules.BUILT_IN:
                holds.remove(hold)
                delete(session, hold)
    elif node.fault and not any(hold.type == FAULT for hold in holds):
        _add_built_in(session, node, holds, moment, FAULT, node.maintenance_reason, INTERNAL, {"kind": node.fault})
    elif not rules.active(holds):
        _add_built_in(session, node, holds, moment, LEGACY, node.maintenance_reason, INTERNAL)
    elif rules.is_plain(holds) and rules.reason_of(holds) != node.maintenance_reason:
        _write(rules.active(holds)[-1], holds, node.maintenance_reason, moment)


def _add_built_in(
    session: Session,
    node: Node,
    holds: list[Hold],
    moment: float,
    kind: str,
    reason: str | None,
    actor: Actor,
    extra: Mapping[str, Any] | None = None,
) -> Hold:
    """Add a hold of a built-in type to the node and to ``holds``, which are all that it has, and return it."""
    hold = new_row(node, actor, type=kind, extra=dict(extra or {}), asserted_at=moment, begun_at=moment, drain=False)
    _write(hold, holds, reason, moment)
    session.add(hold)
    holds.append(hold)
    return hold


def _write(hold: Hold, holds: Sequence[Hold], reason: str | None, moment: float) -> None:
    """Write the reason of ``hold`` now, at ``moment``, later than those of all others."""
    hold.reason = reason
    hold.written_at = max(moment, *(other.written_at + _TICK for other in holds if other is not hold), 0.0)


def new_row(node: Node, actor: Actor, **values: Any) -> Hold:
    """Return a hold of ``node`` that ``actor`` asserts, which is not in the session."""
    return Hold(
        uuid=str(uuid_module.uuid4()),
        node_id=node.id,
        scope=actor.scope,
        asserted_by=actor.user[:LONGEST],
        asserted_by_name=actor.name[:LONGEST],
        asserted_by_project=actor.project[:LONGEST],
        **values,
    )


# -- asserting ---------------------------------------------------------------------------------------------------------


def set_legacy(session: Session, node: Node, reason: str | None, actor: Actor = INTERNAL) -> None:
    """Put ``node`` in maintenance, as every microversion can. If it is for this already, the reason is replaced."""
    known, moment = of_nodes(session, [node])
    holds = known[node.id]
    legacy = next((hold for hold in holds if hold.type == LEGACY), None)
    if legacy is None:
        legacy = _add_built_in(session, node, holds, moment, LEGACY, reason, actor)
        note(session, node, legacy, "asserted")
    else:
        _write(legacy, holds, reason, moment)
    _derive(node, holds)


def assert_fault(session: Session, node: Node, kind: str, reason: str, conductor: str | None = None) -> None:
    """Put ``node`` in maintenance because of a failure of this kind (one of ``states.FAULTS``)."""
    known, moment = of_nodes(session, [node])
    holds = known[node.id]
    fault = next((hold for hold in holds if hold.type == FAULT), None)
    if fault is None:
        fault = _add_built_in(session, node, holds, moment, FAULT, reason, INTERNAL, {"kind": kind})
        note(session, node, fault, "asserted", conductor=conductor)
    else:
        fault.extra = {"kind": kind}
        _write(fault, holds, reason, moment)
    _derive(node, holds)


# -- releasing ---------------------------------------------------------------------------------------------------------


def find(session: Session, node: Node, uuid: str) -> Hold:
    """Return the hold of ``node`` (its row locked) with this UUID. Raises HoldNotFound."""
    for hold in of_node(session, node):
        if hold.uuid == uuid:
            return hold
    raise HoldNotFound(hold=uuid, node=node.uuid)


def release(session: Session, node: Node, hold: Hold, actor: Actor, settings: Settings) -> None:
    """Release one hold of ``node``. Raises HoldsKept if it is not the actor's to release."""
    others = [other for other in of_node(session, node) if other is not hold]
    _release(session, node, [hold], actor)
    settle(node, others, settings)


def release_all(session: Session, node: Node, actor: Actor, settings: Settings) -> None:
    """Release all holds of ``node``, planned ones too. Raises HoldsKept, and releases none, if one is not the actor's
    to release."""
    _release(session, node, of_node(session, node), actor)
    settle(node, [], settings)


def leave_maintenance(session: Session, node: Node, actor: Actor = INTERNAL) -> None:
    """Release all active holds of ``node``, as every microversion can; planned ones stay.

    The route's policy is enough for the flag and for faults. If there are others, HoldsKept is raised, and none is
    released, unless all of them are the actor's to release.
    """
    holds = of_node(session, node)
    found = rules.active(holds)
    _release(session, node, found, INTERNAL if rules.is_plain(found) else actor)
    _derive(node, [hold for hold in holds if hold not in found])


def release_fault(session: Session, node: Node, conductor: str | None = None) -> None:
    """Release the hold that a failure has asserted: the node has recovered."""
    holds = of_node(session, node)
    found = [hold for hold in holds if hold.type == FAULT]
    _release(session, node, found, INTERNAL, conductor)
    _derive(node, [hold for hold in holds if hold not in found])


def _release(session: Session, node: Node, holds: Sequence[Hold], actor: Actor, conductor: str | None = None) -> None:
    refusals = [text for hold in holds if (text := rules.refusal(actor, hold)) is not None]
    if refusals:
        raise HoldsKept(reasons="; ".join(refusals))
    for hold in holds:
        note(session, node, hold, "released", conductor=conductor)
        delete(session, hold)


def delete(session: Session, hold: Hold) -> None:
    """Delete the row of a hold, which may not have been written yet."""
    if hold in session.new:
        session.expunge(hold)
    else:
        session.delete(hold)


# -- what follows ------------------------------------------------------------------------------------------------------


def settle(node: Node, holds: Sequence[Hold], settings: Settings) -> None:
    """Have ``node`` follow from ``holds``, which are all that it has, and from its bookings."""
    session = object_session(node)
    since = None if session is None else booked_since(session, node.id)
    node.closes_at = rules.closing_time(holds, settings.scheduling.withhold_before_windows, since)
    if session is not None and since is not None:
        note_booked(session, node)
    _derive(node, holds)


def _derive(node: Node, holds: Sequence[Hold]) -> None:
    """The same for changes that leave planned holds as they are."""
    found = rules.active(holds)
    fault = next((hold for hold in found if hold.type == FAULT), None)
    node.maintenance = bool(found)
    node.maintenance_reason = rules.reason_of(found)
    node.fault = (fault.extra or {}).get("kind") if fault is not None else None
    node.touch()


def record(session: Session, node: Node, hold: Hold, what: str, conductor: str | None = None) -> None:
    """Add to the history of ``node`` that a hold ``was asserted``, ``has begun`` and so on."""
    reason = f": {hold.reason}" if hold.reason else ""
    event = f"Hold {hold.uuid} (type {hold.type}, scope {hold.scope}) {what}{reason}"
    history.record(session, node, event, event_type=EVENT_TYPE, conductor=conductor)


def note(session: Session, node: Node, hold: Hold, what: str, *, conductor: str | None = None) -> None:
    """The same, for what a request does."""
    record(session, node, hold, f"was {what}", conductor)
