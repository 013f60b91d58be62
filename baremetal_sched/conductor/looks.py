"""When a conductor looks for work: when there is a reason, and when postponed work that it knows of becomes due."""

import threading
import time
from math import inf


class Looks:
    """The time of the next look. Any thread may bring it forward; one thread waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._at = -inf

    def now(self) -> None:
        """Let the next look be at once."""
        self.at(-inf)

    def at(self, moment: float) -> None:
        """Let the next look be at this time of the monotonic clock, if it would be later."""
        with self._lock:
            self._at = min(self._at, moment)
        self._changed.set()

    def wait(self, longest: float) -> None:
        """Wait for the time of the next look, or until it is brought forward; ``longest`` seconds at most."""
        self._changed.wait(max(0.0, min(longest, self._at - time.monotonic())))
        self._changed.clear()

    def is_due(self) -> bool:
        """Return whether it is time for a look; it is not for a second one then."""
        with self._lock:
            due = self._at <= time.monotonic()
            if due:
                self._at = inf
        return due
