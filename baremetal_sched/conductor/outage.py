"""Times without the database: a line in the log when one begins and one when it is over, and pauses that grow."""

import threading
import time
from collections.abc import Callable

import structlog

from baremetal_sched.errors import DatabaseAway, SchemaNotServed

log = structlog.get_logger(__name__)

#: What shows an outage. Other errors, such as lost races, concern one transaction.
SHOWS_OUTAGE = (DatabaseAway, SchemaNotServed)

#: Seconds between two attempts, at most: so much later the conductor may go on.
_LONGEST = 2.0


class Outage:
    """What the threads of the conductor ``name`` know together about the database.

    An outage begins when one of them fails, and is over when all that failed have succeeded: reads may succeed while
    nothing can be written. ``shortest``: seconds between the first attempts.
    """

    def __init__(self, name: str, shortest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._shortest = shortest
        self._clock = clock
        self._lock = threading.Lock()
        self._failing: set[str] = set()
        self._since: float | None = None

    def failed(self, who: str | None, reason: object) -> None:
        """Note that ``who`` failed; None if it will not be tried again soon."""
        with self._lock:
            if who is not None:
                self._failing.add(who)
            is_new = self._since is None
            if is_new:
                self._since = self._clock()
        if is_new:
            log.warning("conductor has to wait", conductor=self._name, reason=str(reason))

    def works(self, who: str) -> None:
        """Note that ``who`` succeeded."""
        if self._since is None:
            return
        with self._lock:
            self._failing.discard(who)
            since = self._since
            if self._failing or since is None:
                return
            self._since = None
        log.info("conductor goes on", conductor=self._name, waited_seconds=round(self._clock() - since, 1))

    @property
    def pause(self) -> float:
        """Return the seconds until the next attempt: the longer the outage, the more."""
        since = self._since
        if since is None:
            return self._shortest
        return max(self._shortest, min(_LONGEST, (self._clock() - since) / 2))


def pause_after(failures: int, shortest: float, longest: float = _LONGEST) -> float:
    """Return the seconds until the next attempt: twice as long after each of the ``failures`` so far."""
    doubled: float = shortest * 2 ** min(failures - 1, 20)
    return max(shortest, min(longest, doubled))
