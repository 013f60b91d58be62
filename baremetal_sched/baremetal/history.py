"""The history of a node: what happened to it, written by whoever does it, in the transaction that does it."""

import uuid
from typing import Literal

from sqlalchemy import insert
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeHistory

Severity = Literal["INFO", "ERROR"]

#: Longest event, in characters.
MAX_EVENT = 16_000


def record(
    session: Session,
    node: Node,
    event: str,
    *,
    event_type: str,
    severity: Severity = "INFO",
    conductor: str | None = None,
    user: str | None = None,
    project: str | None = None,
    duration: float | None = None,
) -> None:
    """Add ``event`` (a sentence for people) to the node's history, with the states that the node is in now.

    ``event_type`` is a word for programs, as Ironic has them: "provision", "power", "takeover", "deploying" …;
    ``conductor`` the host name of who did it, ``user`` and ``project`` whoever asked for it, ``duration`` the seconds
    that it took.
    """
    session.execute(
        insert(NodeHistory).values(
            uuid=str(uuid.uuid4()),
            node_id=node.id,
            created_at=utcnow(),
            severity=severity,
            event=event[:MAX_EVENT],
            event_type=event_type,
            conductor=conductor,
            user=user,
            project=project,
            provision_state=node.provision_state,
            target_provision_state=node.target_provision_state,
            duration_seconds=duration,
        )
    )
