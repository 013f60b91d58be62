"""The threads that serve requests, their limits, and gunicorn's log in the format of this service."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from gunicorn import glogging

from baremetal_sched import logs

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


class Bodies:
    """A sum, changed by the thread of the loop and by request threads."""

    def __init__(self) -> None:
        self.size = 0
        self._lock = threading.Lock()

    def add(self, size: int) -> None:
        """Add ``size`` bytes; negative: forget as many."""
        with self._lock:
            self.size += size


@dataclass(frozen=True)
class Limits:
    """Limits of one worker. The attributes of the second part have waitress's names, as its channels read them."""

    #: Maximum number of open connections.
    connections: int
    #: Maximum size of a request body, in bytes.
    body_size: int
    #: Seconds that an idle connection is kept.
    keep_alive: float
    #: Maximum size of all request bodies together, in bytes, until their requests are served. Beyond it, no body may
    #: become larger than a small one.
    bodies_size: int = 256 * 2**20
    small_body_size: int = 64 * 1024
    #: Maximum length of the request line, in bytes.
    request_line: int = 8190
    #: Seconds for a TLS handshake, counted from the connection.
    handshake_seconds: float = 20
    #: Seconds for a complete request, counted from its first byte.
    receive_seconds: float = 60
    #: Seconds that a client may leave a response unread.
    send_seconds: float = 60
    #: Seconds that a request thread waits for a client that reads too slowly.
    blocked_seconds: float = 15
    #: Seconds during which further data is read and discarded after a refusal.
    linger_seconds: float = 2

    #: Maximum size of all headers of a request, in bytes.
    max_request_header_size: int = 64 * 1024
    recv_bytes: int = 16 * 1024
    send_bytes: int = 1
    #: Larger data is written to a temporary file.
    inbuf_overflow: int = 256 * 1024
    outbuf_overflow: int = 4 * 2**20
    #: Unsent bytes of a response beyond which its thread waits.
    outbuf_high_watermark: int = 64 * 2**20
    #: Requests read while another one of the connection is served, so that a disconnect is noticed.
    channel_request_lookahead: int = 1
    log_socket_errors: bool = True
    expose_tracebacks: bool = False
    ident: str = "baremetal-sched"
    url_scheme: str = "http"
    url_prefix: str = ""

    @property
    def max_request_body_size(self) -> int:
        """Return the limit for waitress, which refuses bodies of this size, and counts the framing of chunks."""
        return self.body_size + 64 * 1024


class Logger(glogging.Logger):  # type: ignore[misc]
    """For ``logger_class``: formats each line by ``[DEFAULT] log_format``, at gunicorn's destination."""

    def _set_handler(self, log: Any, output: str | None, fmt: Any, stream: Any = None) -> None:
        super()._set_handler(log, output, logs.formatter(), stream)
