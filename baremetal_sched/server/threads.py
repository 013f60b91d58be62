"""The threads in which requests are served."""

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
    """At most ``count`` threads, which serve in the order of arrival. They do not keep the process from ending.

    ``at_work`` of them serve at one time; the others are for requests that are ``idle`` meanwhile. A thread that is
    done takes what has come next, so that none has to be woken for it. Threads are started when they are needed, and
    of those with nothing to do the one is woken that was at work last: what it needs is still in the processor's
    caches.
    """

    def __init__(self, count: int, at_work: int | None = None) -> None:
        self._most = count
        self._most_at_work = at_work or count
        self._lock = threading.Lock()
        self._tasks: deque[Task] = deque()
        self._started = 0
        #: Threads that serve, or were woken to do so.
        self._at_work = 0
        #: Of each thread with nothing to do, what wakes it by being released.
        self._sleeping: list[threading.Lock] = []

    def add(self, task: Task) -> None:
        """Have it served as soon as a thread is free."""
        with self._lock:
            self._tasks.append(task)
            self._wake()

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Within this the request of the current thread waits for something, and another thread may serve."""
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
        """Have another thread look for a task, if there may be another one at work."""
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
                # More are at work than may be when requests that were idle go on.
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
