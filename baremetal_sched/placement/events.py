"""Events of requests that wait, and what becomes of them."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import in_words
from baremetal_sched.db.event_types import EventType
from baremetal_sched.db.notes import notes_of
from baremetal_sched.placement import gate
from baremetal_sched.placement.tables import PENDING_CLAIMS

#: States of events only: a claim that was given back, and one that left the queue before it was decided.
RELEASED = "released"
WITHDRAWN = "withdrawn"

#: The types of what becomes of a claim, by its state.
_OF_STATES = {
    state: EventType(f"scheduling.claim.{state}", sentence, "claim", ("claim", "consumer"))
    for state, sentence in {
        "waiting": "A claim, an allocation or a server (``kind``) waits for a machine.",
        "claimed": "The claim, allocation or server has got its machine.",
        "timed_out": "It has waited until its deadline, and got no machine.",
        "failed": "It can get no machine, for the ``reason``.",
        WITHDRAWN: "It was deleted while it waited.",
        RELEASED: "It was deleted after it had got its machine.",
    }.items()
}
EVENT_TYPES = (gate.MACHINE_CLAIMED, gate.MACHINE_RELEASED, *_OF_STATES.values())

#: The columns that the events of claims tell.
OF_CLAIM = (
    *("uuid", "kind", "resource_class", "priority", "asked_at", "deadline"),
    *("consumer_project", "consumer_user"),
)


def known_claim(session: Session, uuid: str) -> Any:
    """Return what ``note_claim`` needs of a claim that is about to leave, and its state; None if there is none."""
    columns = [PENDING_CLAIMS.c[name] for name in ("state", *OF_CLAIM)]
    return session.connection().execute(select(*columns).where(PENDING_CLAIMS.c.uuid == uuid)).first()


def note_claim(session: Session, state: str, claim: Any, reason: str | None = None) -> None:
    """Note that a claim is now in this state, or has left it. ``claim`` has ``OF_CLAIM``. For one that begins to wait,
    machines are looked for once more after the transaction."""
    data = {
        "uuid": claim.uuid,
        "kind": claim.kind,
        "resource_class": claim.resource_class,
        "priority": claim.priority,
        "asked_at": in_words(claim.asked_at),
        "deadline": in_words(claim.deadline),
        "reason": reason,
    }
    consumer = {"uuid": claim.uuid, "project_id": claim.consumer_project, "user_id": claim.consumer_user}
    told = {"claim": data, "consumer": consumer}
    notes = notes_of(session)
    notes.add(_OF_STATES[state], claim.uuid, told, project=claim.consumer_project)
    if state == "waiting":
        notes.waiting.append(claim.uuid)
