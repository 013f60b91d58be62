"""Work on nodes: requested by a row, done by the conductor that the node is reserved for, fenced by the row's id.

A piece of work and the node's reservation are one thing: both come with ``request`` and go with ``finish`` (or with
``take_away``, when the conductor is gone). Whatever a conductor writes in between it writes after ``hold``, in the same
transaction; so one that lost its work, however late it wakes up, writes nothing.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from baremetal_sched.db import requester
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import DriverCall, Node, NodeWork
from baremetal_sched.db.results import new_id
from baremetal_sched.errors.baremetal import NodeLocked, NodeNotFound

#: Where conductors hear of work at once, on PostgreSQL: what is said there is the host name of who has to do it.
CHANNEL = "baremetal_sched_work"

#: In ``session.info``: how often the held work has written, with this transaction.
WRITES = "work_writes"

#: The kind of work on one node that is done along with a piece of work on another; no process takes it by itself.
LED = "led"
#: The kind of work that a call of the node's driver is, which a request waits for: see ``driver_calls``.
CALL = "call"

#: The kind of work whose machine is busy with a step by itself: its driver is to be asked how far that is.
POLL = "poll"

#: SQL condition: the work has not been begun, or it is polled, which any conductor can do.
CAN_BE_HANDED_OVER = or_(NodeWork.claimed_by.is_(None), NodeWork.not_before.is_not(None))


def request(session: Session, node: Node, conductor: str, kind: str, arguments: Mapping[str, Any]) -> int:
    """Reserve ``node`` (its row locked, nobody at work on it) for ``conductor`` and ask that for work.

    ``kind`` says what is to be done (a key of ``conductor.work.HANDLERS``), ``arguments``, which have to be JSON, how.
    Returns the id of the work.
    """
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
    """Give work that has not been begun, or that is polled, to another conductor. False if it is neither, or gone.

    Polled work gets a new id: the old one is of those who did some of it, and may still be asking a driver.
    """
    found = session.scalars(
        select(NodeWork).where(NodeWork.id == work_id, CAN_BE_HANDED_OVER).with_for_update()
    ).first()
    if found is None:
        return False
    node_id = found.node_id
    if found.not_before is None:
        found.conductor = conductor
        session.execute(update(DriverCall).where(DriverCall.work_id == work_id).values(conductor=conductor))
    else:
        _renew(session, found, conductor)
    node = session.get_one(Node, node_id, with_for_update=True)
    node.reservation = conductor
    node.touch()
    tell(session, conductor)
    return True


def _renew(session: Session, old: NodeWork, conductor: str) -> None:
    """Replace the row by one that nobody has claimed."""
    names = [column.key for column in NodeWork.__table__.columns if column.key not in ("id", "claimed_by", "writes")]
    values = {name: getattr(old, name) for name in names} | {"conductor": conductor}
    session.execute(delete(NodeWork).where(NodeWork.id == old.id))
    session.execute(insert(NodeWork).values(**values))


def hold(session: Session, work_id: int, conductor: str) -> Node | None:
    """The node, its row locked, if the work is still the conductor's; None, and nothing may be written, if not."""
    work = _hold(session, work_id, conductor)
    return None if work is None else session.get_one(Node, work.node_id, with_for_update=True)


def is_held(session: Session, work_id: int, conductor: str) -> bool:
    """Whether the work is the conductor's. Nothing is locked: it may be taken away the next moment."""
    mine = select(NodeWork.id).where(NodeWork.id == work_id, NodeWork.conductor == conductor)
    return session.scalar(mine) is not None


def lead(session: Session, work_id: int, conductor: str, node_id: int) -> NodeWork | None:
    """Reserve another node for what has to be done there along with this work, by the process that does this work.

    Only this work's row and the other node's are locked, never both nodes': so two that lead each other's node do not
    wait for each other. None, and nothing is changed, if the work is not the conductor's any more. Raises NodeNotFound,
    NodeLocked.
    """
    work = _hold(session, work_id, conductor)
    if work is None:
        return None
    node = session.get(Node, node_id, with_for_update=True)
    if node is None:
        raise NodeNotFound(node=node_id)
    if node.reservation is not None:
        raise NodeLocked(node=node.uuid, host=node.reservation)
    node.reservation = conductor
    node.touch()
    led = NodeWork(
        node_id=node_id,
        conductor=conductor,
        kind=LED,
        arguments={},
        requested_at=epoch(),
        claimed_by=work.claimed_by,
        writes=0,
    )
    session.add(led)
    session.flush()
    return led


def _hold(session: Session, work_id: int, conductor: str) -> NodeWork | None:
    work = session.get(NodeWork, work_id, with_for_update=True)
    if work is None or work.conductor != conductor:
        return None
    work.writes += 1
    session.info[WRITES] = work.writes
    return work


def finish(session: Session, work_id: int, conductor: str) -> Node | None:
    """Like ``hold``, and the work is done: its row and the node's reservation go."""
    node = hold(session, work_id, conductor)
    if node is not None:
        session.flush()
        session.execute(delete(NodeWork).where(NodeWork.id == work_id))
        node.reservation = None
        node.touch()
    return node


def postpone(
    session: Session, work_id: int, conductor: str, seconds: float, arguments: Mapping[str, Any]
) -> Node | None:
    """Like ``hold``, and nobody is at work any more until the node's conductor takes the work again, ``seconds`` from
    now: as work of the kind ``POLL``, with these arguments. The node stays reserved."""
    work = _hold(session, work_id, conductor)
    if work is None:
        return None
    work.kind = POLL
    work.arguments = dict(arguments)
    work.not_before = epoch() + seconds
    work.claimed_by = None
    return session.get_one(Node, work.node_id, with_for_update=True)


def stop_polling(session: Session, work_id: int) -> None:
    """The step of the work, which is held, is over: what follows is begun by one process only."""
    session.execute(update(NodeWork).where(NodeWork.id == work_id).values(not_before=None))


def has_written(session: Session, work_id: int, writes: int) -> bool:
    """Has the work written so often? If it is gone: whatever was to be written was, or may not be any more."""
    found = session.scalar(select(NodeWork.writes).where(NodeWork.id == work_id))
    return found is None or found >= writes


def take_away(session: Session, node_id: int, condition: ColumnElement[bool]) -> Node | None:
    """The node, its row locked, with no work on it and reserved for nobody: whoever was at work there is fenced off.

    None, and nothing is changed, if ``condition`` (on the node) does not hold.
    """
    # In the order in which ``hold`` locks them.
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
