"""The ends of what has machines, as pages show them: when a machine goes back by itself, and why it has not yet."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import Session

from baremetal_sched.db.models import ClaimEnd, Consumer
from baremetal_sched.placement import ends
from baremetal_sched.placement.ending import IS_LATE, STATE_NOW
from baremetal_sched.scheduling.api.claims import visible_to
from baremetal_sched.scheduling.claims import ClaimStatus
from baremetal_sched.ui.call import UiCall


@dataclass(frozen=True)
class PageEnd:
    """The end of a claim, an allocation or a server: when it is (UTC), its state, and why it is late."""

    at: datetime
    state: str
    reason: str | None = None

    @property
    def written(self) -> str:
        """Return the moment as a form has it, in UTC."""
        return self.at.isoformat(timespec="minutes")


def of_moment(at: float | None, state: str | None, reason: str | None) -> PageEnd | None:
    """Return the end of which ``claim_ends`` has this moment, state and reason; None if it has no such row."""
    if at is None or state is None:
        return None
    return PageEnd(datetime.fromtimestamp(at, UTC).replace(tzinfo=None), state, reason)


def of_claim(status: ClaimStatus) -> PageEnd | None:
    """Return the end of a claim, of several machines the earliest; or None."""
    members = status.end_members()
    return of_moment(members["until"], members["end"], members["late_reason"])


def of_consumers(session: Session, uuids: Collection[str]) -> dict[str, PageEnd]:
    """Return the ends of those of the consumers (UUIDs) that have one; one statement at most."""
    found = ends.of_consumers(session, uuids, STATE_NOW).items()
    return {uuid: end for uuid, row in found if (end := of_moment(row.ends_at, row.state_now, row.reason)) is not None}


def count_late(call: UiCall, connection: Connection) -> int:
    """Return how many machines could not be given back at their ends yet, of those whose claims the caller may see.

    SELECT count(*) FROM claim_ends e JOIN consumers c ON c.id = e.consumer_id WHERE <it is late> AND …
    """
    query = select(func.count()).join_from(ClaimEnd, Consumer, Consumer.id == ClaimEnd.consumer_id)
    visible = visible_to(call, Consumer.project_id)
    query = query.where(IS_LATE, *(() if visible is None else (visible,)))
    return connection.scalar(query) or 0
