"""The history of a node: events, written in the same transaction as the change that they describe."""

import uuid
from typing import Literal

from sqlalchemy import insert
from sqlalchemy.orm import Session

from baremetal_sched.db import requester
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Node, NodeHistory
from baremetal_sched.db.models.base import table_of
from baremetal_sched.db.notes import notes_of
from baremetal_sched.documents.fields import Field, FieldKind, Fields
from baremetal_sched.errors.baremetal import HistoryNotFound

Severity = Literal["INFO", "ERROR"]

#: Longest event, in characters.
MAX_EVENT = 16_000

FIELDS = Fields(
    Field("uuid"),
    Field("created_at", kind=FieldKind.TIME),
    Field("severity"),
    Field("event_type"),
    Field("event", kind=FieldKind.COMPUTED),
    Field("conductor"),
    Field("user"),
    Field("project", 113),
    Field("state", 115),
    Field("target_provision_state", 115),
    Field("duration_seconds", 115, FieldKind.COMPUTED),
    Field("links", kind=FieldKind.LINKS),
)

# Created once: that is most of what it costs.
_RECORD = insert(table_of(NodeHistory))

#: The fields of a list, unless the request asks for all.
LIST_DEFAULT = ("uuid", "created_at", "severity", "event")


def missing(uuid: str) -> HistoryNotFound:
    """The error of an event that does not exist."""
    return HistoryNotFound(record=uuid)


def record(
    session: Session,
    node: Node,
    event: str,
    *,
    event_type: str,
    severity: Severity = "INFO",
    conductor: str | None = None,
    duration: float | None = None,
) -> None:
    """Add ``event`` (a sentence for people) to the node's history, with the node's current states; it is written by
    the end of the transaction.

    ``event_type`` is a word for programs, as in Ironic: "provision", "power", "takeover", "deploying" …; ``conductor``
    the host name of the conductor; ``duration`` the seconds that it took, by default the time for which the node has
    been in its provision state. User and project are taken from the request of the transaction.
    """
    actor = requester.of(session).known()
    now = utcnow()
    if duration is None and node.provision_updated_at is not None:
        duration = (now - node.provision_updated_at).total_seconds()
    values = {
        "uuid": str(uuid.uuid4()),
        "node_id": node.id,
        "created_at": now,
        "severity": severity,
        "event": event[:MAX_EVENT],
        "event_type": event_type,
        "conductor": conductor,
        "user": actor.get("user_id"),
        "project": actor.get("project_id"),
        "provision_state": node.provision_state,
        "target_provision_state": node.target_provision_state,
        "duration_seconds": duration,
    }
    notes_of(session).add_row(_RECORD, values)
