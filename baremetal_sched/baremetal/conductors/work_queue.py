"""Work on nodes: requested by a row, done by the conductor that the node is reserved for, fenced by the row's id.

A work item and the node's reservation are one thing: both are created by ``request`` and removed by ``finish`` (or by
``take_away``, when the conductor is gone). All writes in between follow ``hold``, in the same transaction; so a
conductor that lost its work, however late it wakes up, writes nothing.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.holds import guards
from baremetal_sched.db import requester
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.handover import notes_of
from baremetal_sched.db.models import DriverCall, Node, NodeWork
from baremetal_sched.db.results import new_id
from baremetal_sched.errors.baremetal import NodeLocked, NodeNotFound

#: The notification channel of new work, on PostgreSQL: the payload is the host name of the conductor.
CHANNEL = "baremetal_sched_work"

#: The key in ``session.info`` of the number of writes of the held work, including this transaction's.
WRITES = "work_writes"
#: The key of the seconds after which the work is due again once the transaction commits; None: the work has ended.
DUE_IN = "work_due_in"

#: The kind of work on one node that is done along with work on another; no process claims it by itself.
SUBORDINATE = "led"
#: The kind of work that is a driver call for which a request waits: see ``driver_calls``.
CALL = "call"

#: The kind of work whose machine is busy with a step by itself, while a conductor asks its driver for the progress.
POLL = "poll"

#: SQL condition: the work has not begun, or it is polled, which any conductor can do.
CAN_BE_HANDED_OVER = or_(NodeWork.claimed_by.is_(None), NodeWork.not_before.is_not(None))


def request(session: Session, node: Node, conductor: str, kind: str, arguments: Mapping[str, Any]) -> int:
    """Reserve ``node`` (its row locked, without work on it) for ``conductor`` and request the work.

    ``kind`` is a key of ``conductor.handlers.HANDLERS``, ``arguments`` are JSON. Returns the id of the work. Raises
    NodeLockedOut.
    """
    guards.require_no_lockout(session, node)
    node.reservation = conductor
    node.touch()
    session.flush()
    result = session.execute(
        insert(NodeWork).values(
            node_id=node.id,
            conductor=conductor,
            kind=kind,
            arguments=dict(arguments),
            requested_at=epoch(),
            **requester.of(session).known(),
        )
    )
    tell(session, conductor)
    return new_id(result)


def hand_over(session: Session, work_id: int, conductor: str) -> bool:
    """Hand work that has not begun, or that is polled, to another conductor. Returns False if it is neither, or gone.

    Polled work gets a new id: processes that did part of it may still be calling a driver under the old one.
    """
    work = session.scalars(select(NodeWork).where(NodeWork.id == work_id, CAN_BE_HANDED_OVER).with_for_update()).first()
    if work is None:
        return False
    node_id = work.node_id
    if work.not_before is None:
        work.conductor = conductor
        session.execute(update(DriverCall).where(DriverCall.work_id == work_id).values(conductor=conductor))
    else:
        _renew(session, work, conductor)
    node = session.get_one(Node, node_id, with_for_update=True)
    node.reservation = conductor
    node.touch()
    tell(session, conductor)
    return True


def _renew(session: Session, old: NodeWork, conductor: str) -> None:
    """Replace the row by a new one that is not claimed."""
    names = [column.key for column in NodeWork.__table__.columns if column.key not in ("id", "claimed_by", "writes")]
    values = {name: getattr(old, name) for name in names} | {"conductor": conductor}
    session.execute(delete(NodeWork).where(NodeWork.id == old.id))
    session.execute(insert(NodeWork).values(**values))


def hold(session: Session, work_id: int, conductor: str) -> Node | None:
    """Return the node, its row locked, if the work is still the conductor's; None, and nothing may be written,
    otherwise."""
    work = _hold(session, work_id, conductor)
    return None if work is None else session.get_one(Node, work.node_id, with_for_update=True)


def is_held(session: Session, work_id: int, conductor: str) -> bool:
    """Return whether the work is the conductor's. Nothing is locked: it may be taken away at any moment."""
    mine = select(NodeWork.id).where(NodeWork.id == work_id, NodeWork.conductor == conductor)
    return session.scalar(mine) is not None


def reserve_related(session: Session, work_id: int, conductor: str, node_id: int) -> NodeWork | None:
    """Reserve another node for what must be done there along with this work, by the process that does this work.

    Only this work's row and the other node's are locked, never both nodes': so two that reserve each other's node do
    not deadlock. Returns None, and changes nothing, if the work is no longer the conductor's. Raises NodeNotFound,
    NodeLocked, NodeLockedOut.
    """
    work = _hold(session, work_id, conductor)
    if work is None:
        return None
    node = session.get(Node, node_id, with_for_update=True)
    if node is None:
        raise NodeNotFound(node=node_id)
    if node.reservation is not None:
        raise NodeLocked(node=node.uuid, host=node.reservation)
    guards.require_no_lockout(session, node)
    node.reservation = conductor
    node.touch()
    subordinate = NodeWork(
        node_id=node_id,
        conductor=conductor,
        kind=SUBORDINATE,
        arguments={},
        requested_at=epoch(),
        claimed_by=work.claimed_by,
        writes=0,
    )
    session.add(subordinate)
    session.flush()
    return subordinate


def _hold(session: Session, work_id: int, conductor: str) -> NodeWork | None:
    work = session.get(NodeWork, work_id, with_for_update=True)
    if work is None or work.conductor != conductor:
        return None
    work.writes += 1
    session.info[WRITES] = work.writes
    return work


def finish(session: Session, work_id: int, conductor: str) -> Node | None:
    """Like ``hold``, and end the work: delete its row and the node's reservation."""
    node = hold(session, work_id, conductor)
    if node is not None:
        session.flush()
        session.execute(delete(NodeWork).where(NodeWork.id == work_id))
        node.reservation = None
        node.touch()
        session.info[DUE_IN] = None
    return node


def postpone(
    session: Session, work_id: int, conductor: str, seconds: float, arguments: Mapping[str, Any]
) -> Node | None:
    """Like ``hold``, and suspend the work until the node's conductor takes it up again after ``seconds``: as work of
    the kind ``POLL``, with these arguments. The node stays reserved."""
    work = _hold(session, work_id, conductor)
    if work is None:
        return None
    work.kind = POLL
    work.arguments = dict(arguments)
    work.not_before = epoch() + seconds
    work.claimed_by = None
    session.info[DUE_IN] = seconds
    return session.get_one(Node, work.node_id, with_for_update=True)


def bring_forward(session: Session, conductor: str, seconds: float) -> None:
    """Let the conductor's postponed work that is not due yet be due so much earlier: the clock of the database was put
    back since."""
    waits = NodeWork.not_before > epoch()
    own = update(NodeWork).where(NodeWork.conductor == conductor, waits)
    session.execute(own.values(not_before=NodeWork.not_before - seconds))


def stop_polling(session: Session, work_id: int) -> None:
    """End the step of the work, which is held: what follows is begun by one process only."""
    session.execute(update(NodeWork).where(NodeWork.id == work_id).values(not_before=None))


def has_written(session: Session, work_id: int, writes: int) -> bool:
    """Return whether the work has written at least ``writes`` times, or is gone; in both cases nothing is left to
    write."""
    found = session.scalar(select(NodeWork.writes).where(NodeWork.id == work_id))
    return found is None or found >= writes


def take_away(session: Session, node_id: int, condition: ColumnElement[bool]) -> Node | None:
    """Return the node, its row locked, without work and reservation: any process at work on it is fenced off.

    Returns None, and changes nothing, if ``condition`` (on the node) does not hold.
    """
    # In the lock order of ``hold``.
    session.execute(select(NodeWork.id).where(NodeWork.node_id == node_id).with_for_update())
    node = session.scalars(select(Node).where(Node.id == node_id, condition).with_for_update()).first()
    if node is not None:
        session.execute(delete(NodeWork).where(NodeWork.node_id == node_id))
        node.reservation = None
        node.touch()
    return node


def tell(session: Session, conductor: str) -> None:
    """Wake the conductor when the transaction commits."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_notify(CHANNEL, conductor)))
    else:
        notes_of(session.connection()).requests_work = True
