"""The threads in which requests are served."""

import threading
from queue import SimpleQueue
from typing import Protocol

import structlog

log = structlog.get_logger(__name__)


class Task(Protocol):
    """Something with a request to serve."""

    def service(self) -> None:
        """Serve it."""


class RequestThreads:
    """``count`` threads that serve in the order of arrival. They do not keep the process from ending."""

    def __init__(self, count: int) -> None:
        self._queue: SimpleQueue[Task] = SimpleQueue()
        for number in range(count):
            threading.Thread(target=self._work, name=f"request-{number}", daemon=True).start()

    def add(self, task: Task) -> None:
        """Have it served by the next thread that is free."""
        self._queue.put(task)

    def _work(self) -> None:
        while True:
            task = self._queue.get()
            try:
                task.service()
            except Exception:
                log.exception("a request failed in its thread")
