"""A piece of work as the conductor that does it sees it."""

from dataclasses import dataclass, field
from typing import Any

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import Settings


@dataclass(frozen=True)
class Job:
    """What to do on which node, and what it takes to do it. ``id`` is the fence: see ``baremetal.work``."""

    id: int
    node_uuid: str
    kind: str
    arguments: dict[str, Any]
    conductor: str
    database: Database
    settings: Settings
    log: Any = field(compare=False)


def pending(database: Database, settings: Settings, conductor: str) -> list[Job]:
    """All work that ``conductor`` (a host name) has been asked to do and has not finished, oldest first."""

    def select_work(session: Session) -> list[Any]:
        return list(
            session.execute(
                select(NodeWork.id, Node.uuid, NodeWork.kind, NodeWork.arguments)
                .join(Node, Node.id == NodeWork.node_id)
                .where(NodeWork.conductor == conductor)
                .order_by(NodeWork.id)
            )
        )

    log = structlog.get_logger(__name__)
    return [
        Job(id_, uuid, kind, arguments, conductor, database, settings, log.bind(node=uuid, work=id_, kind=kind))
        for id_, uuid, kind, arguments in database.read(select_work)
    ]
