"""The heartbeats of a conductor."""

import threading
import time
from collections.abc import Callable

from baremetal_sched.conductor.outage import pause_after

#: The minimum number of attempts within a time-out.
_PAUSES = 20


class ConductorHeartbeat:
    """Sends a heartbeat every ``interval`` seconds, and notices interruptions.

    ``beat`` returns whether it succeeded; otherwise it is retried after ``retry`` seconds, and then after longer
    pauses, which are a fraction of ``timeout``. ``timeout`` is how many
    seconds a conductor without heartbeats counts as alive.
    """

    def __init__(self, beat: Callable[[], bool], *, interval: float, retry: float, timeout: float) -> None:
        self._beat = beat
        self._interval = interval
        self._retry = min(retry, interval)
        self._timeout = timeout
        self._longest_gap = max(timeout / 2, interval * 1.5)
        self._last = time.monotonic()
        self._steady_since: float | None = None
        self._failures = 0

    def run(self, stop: threading.Event) -> None:
        """Send heartbeats until ``stop`` is set."""
        self._last = self._steady_since = time.monotonic()
        due = self._last + self._interval
        while not stop.wait(max(0.0, due - time.monotonic())):
            worked = self._beat()
            now = time.monotonic()
            if now - self._last > self._longest_gap:
                self._steady_since = now
            if worked:
                self._last = now
            self._failures = 0 if worked else self._failures + 1
            due = max(due + self._interval, now) if worked else now + self._pause()

    def _pause(self) -> float:
        return pause_after(self._failures, self._retry, min(self._interval, self._timeout / _PAUSES))

    def is_uninterrupted(self) -> bool:
        """Return whether heartbeats have gone on without interruption for a time-out.

        An interruption (the database was unavailable, the machine was suspended), or the time before the start, may
        have affected all other conductors, too; after a time-out every live one has sent a heartbeat again.
        """
        now = time.monotonic()
        if now - self._last > self._longest_gap:
            return False
        return self._steady_since is None or now - self._steady_since > self._timeout
