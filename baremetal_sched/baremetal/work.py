"""Work on nodes: requested by a row, done by the conductor that the node is reserved for, fenced by the row's id.

A piece of work and the node's reservation are one thing: both come with ``request`` and go with ``finish`` (or with
``take_away``, when the conductor is gone). Whatever a conductor writes in between it writes after ``hold``, in the same
transaction; so one that lost its work, however late it wakes up, writes nothing.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Node, NodeWork


def request(session: Session, node: Node, conductor: str, kind: str, arguments: Mapping[str, Any]) -> None:
    """Reserve ``node`` (its row locked, nobody at work on it) for ``conductor`` and ask that for work.

    ``kind`` says what is to be done (a key of ``conductor.work.HANDLERS``), ``arguments``, which have to be JSON, how.
    """
    node.reservation = conductor
    node.touch()
    session.flush()
    session.execute(
        insert(NodeWork).values(
            node_id=node.id, conductor=conductor, kind=kind, arguments=dict(arguments), requested_at=epoch()
        )
    )


def hold(session: Session, work_id: int, conductor: str) -> Node | None:
    """The node, its row locked, if the work is still the conductor's; None, and nothing may be written, if not."""
    work = session.get(NodeWork, work_id, with_for_update=True)
    if work is None or work.conductor != conductor:
        return None
    return session.get_one(Node, work.node_id, with_for_update=True)


def finish(session: Session, work_id: int, conductor: str) -> Node | None:
    """Like ``hold``, and the work is done: its row and the node's reservation go."""
    node = hold(session, work_id, conductor)
    if node is not None:
        session.execute(delete(NodeWork).where(NodeWork.id == work_id))
        node.reservation = None
        node.touch()
    return node
