"""Whether the database accepts writes: the results of this process's own writes, and a test write."""

import time
import uuid

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Aggregate
from baremetal_sched.errors import DatabaseAway, DatabaseFull

#: Seconds for which a successful write answers the question.
_ANSWER_LASTS = 30

#: Seconds for which a disk counts as full. A test row might still have fitted.
_FULL_LASTS = 15


class WriteHealth:
    """The last write of this process: whether it succeeded, and when."""

    def __init__(self) -> None:
        self._succeeded: float | None = None
        self._full: float | None = None

    def succeeded(self) -> None:
        """Record a successful write. The first one ends "full"; a test write answers then, as it may have written
        nothing."""
        self._succeeded = time.monotonic() if self._full is None else None
        self._full = None

    def failed(self, error: DatabaseAway) -> None:
        """Record a failed write."""
        self._succeeded = None
        if isinstance(error, DatabaseFull):
            self._full = time.monotonic()

    def is_known(self) -> bool:
        """Return whether a recent write succeeded, so that no test write is needed.

        Raises DatabaseFull if the last known state is a full disk.
        """
        now = time.monotonic()
        if self._full is not None and now - self._full < _FULL_LASTS:
            raise DatabaseFull
        return self._succeeded is not None and now - self._succeeded < _ANSWER_LASTS


def write_and_delete(session: Session) -> None:
    """Write a row that is never visible, as the same transaction deletes it."""
    probe = str(uuid.uuid4())
    session.execute(insert(Aggregate).values(uuid=probe, created_at=utcnow()))
    session.execute(delete(Aggregate).where(Aggregate.uuid == probe))
