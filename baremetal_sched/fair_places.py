"""A few places that requests share: no project has more than half of them, and waiting projects take turns."""

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager


class FairPlaces:
    """``most`` places of a process. A project has half of them at most (one, if there is only one); callers without a
    project (those of the system) have as many as are free."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._half = max(1, most // 2)
        self._lock = threading.Lock()
        self._taken = 0
        #: Of each project.
        self._held: Counter[str] = Counter()
        self._queue: deque[tuple[str | None, threading.Event]] = deque()

    @contextmanager
    def place(self, project: str | None, seconds: float = 0) -> Iterator[bool]:
        """Have a place within this context, and wait for it for ``seconds`` at most; yields whether there is one."""
        is_taken = self._take(project, seconds)
        try:
            yield is_taken
        finally:
            if is_taken:
                self._give_back(project)

    def _take(self, project: str | None, seconds: float) -> bool:
        with self._lock:
            if self._may_have_one(project):
                self._count(project, 1)
                return True
            if seconds <= 0:
                return False
            turn = threading.Event()
            self._queue.append((project, turn))
        if turn.wait(seconds):
            return True
        with self._lock:
            if not turn.is_set():
                self._queue.remove((project, turn))
            return turn.is_set()

    def _give_back(self, project: str | None) -> None:
        with self._lock:
            self._count(project, -1)
            for entry in [*self._queue]:
                waiting, turn = entry
                if self._may_have_one(waiting):
                    self._count(waiting, 1)
                    self._queue.remove(entry)
                    turn.set()

    def _count(self, project: str | None, change: int) -> None:
        self._taken += change
        if project is not None:
            self._held[project] += change
            if not self._held[project]:
                del self._held[project]

    def _may_have_one(self, project: str | None) -> bool:
        return self._taken < self._most and (project is None or self._held[project] < self._half)
