"""The clock of the database as a conductor sees it: it may be set, which the conductor's monotonic clock never is.

Everything that hosts must agree on is in seconds of the database's clock. After it was set, what is compared with it
seems to be over, or not to have begun: then a conductor takes nothing over, and fails nothing, until every live
conductor has sent a heartbeat by the new time.
"""

import time
from collections import deque
from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple

import structlog
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.db.clock import epoch
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: The number of steps that are remembered.
_MOST_STEPS = 10


class _Look(NamedTuple):
    """The clock of the database showed ``at`` between two times of the monotonic one."""

    at: float
    began: float
    ended: float


class _Step(NamedTuple):
    """The clock was set by ``seconds``, and showed ``at`` soon after."""

    at: float
    seconds: float


class DatabaseClock:
    """Compares each look at the clock of the database with the last one.

    If the times between them differ by more than ``[conductor] heartbeat_interval``, the clock was set. It is not
    steady for ``[conductor] heartbeat_timeout`` then.
    """

    def __init__(self, settings: Settings) -> None:
        self._tolerance: float = settings.conductor.heartbeat_interval
        self._rest: float = settings.conductor.heartbeat_timeout
        self._lock = Lock()
        self._last: _Look | None = None
        self._steps: deque[_Step] = deque(maxlen=_MOST_STEPS)
        self._rests_until = float("-inf")
        #: Seconds by which the clock was put back, which the conductor's postponed work does not know yet.
        self.put_back = 0.0

    def note(self, at: float, began: float) -> None:
        """Note that the clock of the database showed ``at`` at some time since ``began``, by ``time.monotonic()``."""
        look = _Look(at, began, time.monotonic())
        with self._lock:
            last, self._last = self._last, look
            step = 0.0 if last is None else _step(last, look)
            if abs(step) <= self._tolerance:
                return
            self._steps.append(_Step(at, step))
            self.put_back += max(0.0, -step)
            self._rests_until = look.ended + self._rest
        log.warning(
            "the clock of the database was set: nothing is taken over or failed for a while",
            by_seconds=round(step, 1), waiting_seconds=self._rest,
        )  # fmt: skip

    def now(self, session: Session) -> float:
        """Return the time by the clock of the database, in seconds since 1970, and note it."""
        began = time.monotonic()
        at = session.scalar(select(epoch())) or 0.0
        self.note(at, began)
        return at

    def ago(self, session: Session, seconds: float) -> float:
        """Return what the clock of the database showed ``seconds`` ago; earlier times were certainly before that.

        By as much as the clock was put back since, later ones may have been before it, too.
        """
        moment = self.now(session) - seconds
        with self._lock:
            for step in reversed(self._steps):
                if moment >= step.at:
                    break
                moment -= max(0.0, step.seconds)
        return moment

    def is_steady(self) -> bool:
        """Return whether the clock has not been set for a time-out of heartbeats."""
        return time.monotonic() >= self._rests_until


def _step(last: _Look, look: _Look) -> float:
    """Return by how much more, or less (negative), time went by for the database than can have gone by."""
    shown = look.at - last.at
    shortest, longest = look.began - last.ended, look.ended - last.began
    return max(0.0, shown - longest) + min(0.0, shown - shortest)


class HeartbeatsAhead:
    """Finds the dead among conductors whose last heartbeats lie ahead, since the clock of the database was put back.

    By that clock they would live until it has caught up. ``timeout``: seconds for which a conductor without heartbeats
    counts as alive.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._seen: dict[str, tuple[float, float]] = {}
        self._looked = float("-inf")

    def dead(self, ahead: Mapping[str, float]) -> dict[str, float]:
        """Return those of the heartbeats ``ahead``, by host name, that have not changed for a time-out.

        If there was no look for half of one, the database may have been away for all: that does not count.
        """
        now = time.monotonic()
        if now - self._looked > self._timeout / 2:
            self._seen = {}
        self._looked = now
        since = {host: self._seen.get(host, (at, now)) for host, at in ahead.items()}
        self._seen = {host: (at, since[host][1] if since[host][0] == at else now) for host, at in ahead.items()}
        return {host: at for host, (at, first) in self._seen.items() if now - first >= self._timeout}
