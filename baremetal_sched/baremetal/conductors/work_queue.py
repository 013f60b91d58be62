"""Work on nodes: requested by a row, done by the conductor that the node is reserved for, fenced by the row's id.

A work item and the node's reservation are one thing: both are created by ``request`` and removed by ``finish`` (or by
``take_away``, when the conductor is gone). All writes in between follow ``hold``, in the same transaction; so a
conductor that lost its work, however late it wakes up, writes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.base import Executable

from baremetal_sched.baremetal.holds import guards
from baremetal_sched.db import compiled, requester
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import DriverCall, Node, NodeWork, table_of
from baremetal_sched.db.notes import notes_of
from baremetal_sched.db.results import new_id
from baremetal_sched.db.types import connection_of
from baremetal_sched.errors.baremetal import NodeLocked, NodeNotFound

#: The notification channel of new work, on PostgreSQL: the payload is the host name of the conductor.
CHANNEL = "baremetal_sched_work"

#: The key in ``session.info`` of the seconds after which the held work is due again once the transaction commits; None:
#: it has ended.
DUE_IN = "work_due_in"
#: The keys of the number of writes of the held work, this transaction's included, and of its node.
WRITES, NODE = "work_writes", "work_node"

#: The kind of work on one node that is done along with work on another; no process claims it by itself.
SUBORDINATE = "led"
#: The kind of work that is a driver call for which a request waits: see ``driver_calls``.
CALL = "call"

#: The kind of work whose machine is busy with a step by itself, while a conductor asks its driver for the progress.
POLL = "poll"

#: SQL condition: the work has not begun, or it is polled, which any conductor can do.
CAN_BE_HANDED_OVER = or_(NodeWork.claimed_by.is_(None), NodeWork.not_before.is_not(None))

# Created once: making a statement takes longer than running it. The first three lock the row, whatever else they do.
_WORK, _NODES = table_of(NodeWork), table_of(Node)
_MINE = (_WORK.c.id == bindparam("work"), _WORK.c.conductor == bindparam("host"))
_COUNT = update(_WORK).where(*_MINE).values(writes=_WORK.c.writes + 1)
_END = delete(_WORK).where(*_MINE)
_POSTPONE = _COUNT.values(
    kind=POLL,
    arguments=bindparam("given", type_=_WORK.c.arguments.type),
    not_before=epoch() + bindparam("seconds"),
    claimed_by=None,
)
_REVISION = select(_NODES.c.revision).where(_NODES.c.id == bindparam("node")).with_for_update()


@dataclass
class HeldWork:
    """Work that a conductor (a host name) has. ``node``: its node as the last transaction left it, if that is known;
    it belongs to no session. ``writes``: how many times the work was written by then."""

    id: int
    node_id: int
    conductor: str
    node: Node | None = None
    writes: int = 0


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


def hold(session: Session, work: HeldWork) -> Node | None:
    """Return the node, its row locked, if the work is still the conductor's; None, and nothing may be written,
    otherwise."""
    return _node(session, work) if _is_mine(session, _COUNT, work) else None


def _is_mine(session: Session, statement: Executable, work: HeldWork, **given: Any) -> bool:
    """Execute a statement on the row of the work, which locks it. Return whether the work is still the conductor's."""
    found = compiled.change(session.connection(), statement, {"work": work.id, "host": work.conductor, **given})
    if found.rowcount:
        session.info[WRITES] = work.writes + 1
    return bool(found.rowcount)


def _node(session: Session, work: HeldWork) -> Node:
    """Lock the node of the work and return it. It is read only if it has changed since it was read or written here."""
    known, work.node = work.node, None  # if the transaction fails, what it has changed is not what is stored
    if known is None:
        node = session.get_one(Node, work.node_id, with_for_update=True)
    elif compiled.run(session.connection(), _REVISION, {"node": work.node_id}).scalar() == known.revision:
        session.add(known)
        node = known
    else:
        node = session.get_one(Node, work.node_id)
    session.info[NODE] = node
    return node


def is_held(session: Session, work_id: int, conductor: str) -> bool:
    """Return whether the work is the conductor's. Nothing is locked: it may be taken away at any moment."""
    mine = select(NodeWork.id).where(NodeWork.id == work_id, NodeWork.conductor == conductor)
    return session.scalar(mine) is not None


def reserve_related(session: Session, work: HeldWork, node_id: int) -> HeldWork | None:
    """Reserve another node for what must be done there along with this work, by the process that does this work.

    Only this work's row and the other node's are locked, never both nodes': so two that reserve each other's node do
    not deadlock. Returns None, and changes nothing, if the work is no longer the conductor's. Raises NodeNotFound,
    NodeLocked, NodeLockedOut.
    """
    if not _is_mine(session, _COUNT, work):
        return None
    node = session.get(Node, node_id, with_for_update=True)
    if node is None:
        raise NodeNotFound(node=node_id)
    if node.reservation is not None:
        raise NodeLocked(node=node.uuid, host=node.reservation)
    guards.require_no_lockout(session, node)
    node.reservation = work.conductor
    node.touch()
    subordinate = NodeWork(
        node_id=node_id,
        conductor=work.conductor,
        kind=SUBORDINATE,
        arguments={},
        requested_at=epoch(),
        claimed_by=session.scalar(select(NodeWork.claimed_by).where(NodeWork.id == work.id)),
        writes=0,
    )
    session.add(subordinate)
    session.flush()
    return HeldWork(subordinate.id, node_id, work.conductor)


def finish(session: Session, work: HeldWork) -> Node | None:
    """Like ``hold``, and end the work: delete its row and the node's reservation."""
    if not _is_mine(session, _END, work):
        return None
    node = _node(session, work)
    node.reservation = None
    node.touch()
    session.info[DUE_IN] = None
    return node


def postpone(session: Session, work: HeldWork, seconds: float, arguments: Mapping[str, Any]) -> Node | None:
    """Like ``hold``, and suspend the work until the node's conductor takes it up again after ``seconds``: as work of
    the kind ``POLL``, with these arguments. The node stays reserved."""
    if not _is_mine(session, _POSTPONE, work, given=dict(arguments), seconds=seconds):
        return None
    session.info[DUE_IN] = seconds
    return _node(session, work)


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
    note_work(session)
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_notify(CHANNEL, conductor)))


def note_work(writer: Session | Connection) -> None:
    """Note that work is requested of a conductor, which another database than PostgreSQL does not tell."""
    connection = connection_of(writer)
    notes_of(connection).requests_work |= connection.dialect.name != "postgresql"
