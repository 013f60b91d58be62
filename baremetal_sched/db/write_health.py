"""Can anything be written? What a process has learned from its own writes, and a write to find out."""

import time
import uuid

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Aggregate
from baremetal_sched.errors import DatabaseAway, DatabaseFull

#: Seconds for which a write that succeeded answers the question.
_ANSWER_LASTS = 30

#: Seconds for which a full disk is believed to be full. A row that is written to find out may still have had room.
_FULL_LASTS = 15


class WriteHealth:
    """The last write of this process: whether it succeeded, and when."""

    def __init__(self) -> None:
        self._succeeded: float | None = None
        self._full: float | None = None

    def succeeded(self) -> None:
        """Note that something was written."""
        self._succeeded = time.monotonic()

    def failed(self, error: DatabaseAway) -> None:
        """Note that nothing could be written."""
        self._succeeded = None
        if isinstance(error, DatabaseFull):
            self._full = time.monotonic()

    def is_known(self) -> bool:
        """Return whether there is no need to find out: something was written lately.

        Raises DatabaseFull if the last thing that is known is a full disk.
        """
        now = time.monotonic()
        if self._full is not None and now - self._full < _FULL_LASTS:
            raise DatabaseFull
        return self._succeeded is not None and now - self._succeeded < _ANSWER_LASTS


def write_and_delete(session: Session) -> None:
    """Write a row, which is never seen because the same transaction deletes it."""
    probe = str(uuid.uuid4())
    session.execute(insert(Aggregate).values(uuid=probe, created_at=utcnow()))
    session.execute(delete(Aggregate).where(Aggregate.uuid == probe))
