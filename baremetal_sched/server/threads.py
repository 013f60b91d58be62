"""The threads that serve requests."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import structlog

log = structlog.get_logger(__name__)


class Task(Protocol):
    """Something with a request to serve."""

    def service(self) -> None:
        """Serve it."""


class RequestThreads:
    """At most ``count`` threads, which serve in the order of arrival. They do not keep the process alive.

    ``at_work`` of them serve at one time; the others are for requests that are ``idle`` meanwhile. A thread that has
    finished takes the next task, so that none has to be woken for it. Threads are started on demand; of the waiting
    ones, the most recently active is woken, as its data is still in the processor's caches.
    """

    def __init__(self, count: int, at_work: int | None = None) -> None:
        self._most = count
        self._most_at_work = at_work or count
        self._lock = threading.Lock()
        self._tasks: deque[Task] = deque()
        self._started = 0
        #: Number of threads that serve, or were woken to do so.
        self._at_work = 0
        #: The locks of waiting threads; releasing one wakes its thread.
        self._sleeping: list[threading.Lock] = []

    def add(self, task: Task) -> None:
        """Queue a task for the next free thread."""
        with self._lock:
            self._tasks.append(task)
            self._wake()

    @contextmanager
    def idle(self) -> Iterator[None]:
        """While in this context, the request of the current thread waits, and another thread may serve."""
        with self._lock:
            self._at_work -= 1
            if self._tasks:
                self._wake()
        try:
            yield
        finally:
            with self._lock:
                self._at_work += 1

    def _wake(self) -> None:
        """Wake another thread to look for a task, if the limit allows one more."""
        if self._at_work >= self._most_at_work:
            return
        if self._sleeping:
            self._at_work += 1
            self._sleeping.pop().release()
        elif self._started < self._most:
            self._at_work += 1
            self._started += 1
            threading.Thread(target=self._work, name=f"request-{self._started}", daemon=True).start()

    def _work(self) -> None:
        alarm = threading.Lock()
        alarm.acquire()
        while True:
            with self._lock:
                # The limit is exceeded for a while when idle requests continue.
                task = self._tasks.popleft() if self._tasks and self._at_work <= self._most_at_work else None
                if task is None:
                    self._at_work -= 1
                    self._sleeping.append(alarm)
            if task is None:
                alarm.acquire()
            else:
                _serve(task)


def _serve(task: Task) -> None:
    try:
        task.service()
    except Exception:
        log.exception("a request failed in its thread")
