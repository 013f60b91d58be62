"""The work that a conductor does on nodes: what it finds in the database, one piece at a time."""

from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal import power
from baremetal_sched.baremetal.drivers.power import POWER_INTERFACES
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import SchedulerError
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Work:
    """A piece of work: its id (the fence), the node, what to do and how."""

    id: int
    node_uuid: str
    kind: str
    arguments: dict[str, Any]
    power_interface: str


def pending(session: Session, conductor: str) -> list[Work]:
    """All work that ``conductor`` (a host name) has been asked to do and has not finished, oldest first."""
    rows = session.execute(
        select(NodeWork.id, Node.uuid, NodeWork.kind, NodeWork.arguments, Node.power_interface)
        .join(Node, Node.id == NodeWork.node_id)
        .where(NodeWork.conductor == conductor)
        .order_by(NodeWork.id)
    )
    return [Work(*row) for row in rows]


def do(database: Database, settings: Settings, conductor: str, work: Work) -> None:
    """Do it, and write down how it ended; nothing is written if the work was taken from this conductor meanwhile."""
    bound = log.bind(node=work.node_uuid, work=work.id, kind=work.kind, **work.arguments)
    state, error = None, None
    try:
        interface = POWER_INTERFACES[work.power_interface]
        state = interface.set_power_state(work.arguments["target"], settings)
    except SchedulerError as failure:
        error = f"Failed to change power state to '{work.arguments['target']}': {failure}"
    except Exception as failure:  # a driver may fail in any way; the node has to say so and be freed
        bound.exception("driver failed")
        error = f"Failed to change power state to '{work.arguments['target']}': unexpected {failure!r}"
    kept = database.write(lambda session: power.finish(session, work.id, conductor, state, error))
    bound.info("work done" if kept else "work was taken away; nothing written", power_state=state, error=error)
