"""The heartbeats of a conductor."""

import threading
import time
from collections.abc import Callable


class Heart:
    """Beats every ``interval`` seconds, and notices when it was interrupted.

    ``beat`` returns whether it worked; if not it is tried again after ``retry`` seconds. ``timeout`` is how long a
    conductor without heartbeats counts as alive.
    """

    def __init__(self, beat: Callable[[], bool], *, interval: float, retry: float, timeout: float) -> None:
        self._beat = beat
        self._interval = interval
        self._retry = min(retry, interval)
        self._timeout = timeout
        self._longest_gap = max(timeout / 2, interval * 1.5)
        self._last = time.monotonic()
        self._steady_since: float | None = None

    def run(self, stop: threading.Event) -> None:
        """Beat until ``stop`` is set."""
        self._last = self._steady_since = time.monotonic()
        due = self._last + self._interval
        while not stop.wait(max(0.0, due - time.monotonic())):
            worked = self._beat()
            now = time.monotonic()
            if now - self._last > self._longest_gap:
                self._steady_since = now
            if worked:
                self._last = now
            due = max(due + self._interval, now) if worked else now + self._retry

    def is_steady(self) -> bool:
        """Has it gone on without interruption for a time-out?

        Whatever interrupted it, or came before its start (the database was away, the machine slept), may have
        interrupted all others too; after a time-out whoever lives has sent a heartbeat again.
        """
        now = time.monotonic()
        if now - self._last > self._longest_gap:
            return False
        return self._steady_since is None or now - self._steady_since > self._timeout
