"""The threads that serve requests, their limits, and gunicorn's log in the format of this service."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import structlog
from gunicorn import glogging

from baremetal_sched import logs

log = structlog.get_logger(__name__)


#: Serves a request.
RequestTask = Callable[[], object]


class RequestThreads:
    """At most ``count`` threads, which serve in the order of arrival. They do not keep the process alive.

    Threads are started on demand. How many requests are at work at a time is up to the application (``web.slots``): the
    other threads are for requests that wait.
    """

    def __init__(self, count: int) -> None:
        self._most = count
        self._tasks: SimpleQueue[RequestTask] = SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0
        #: Number of threads that wait for a task; negative: number of tasks that wait for a thread.
        self._free = 0

    def add(self, task: RequestTask) -> None:
        """Queue a task for the next free thread."""
        with self._lock:
            self._free -= 1
            if self._free < 0 and self._started < self._most:
                self._free += 1
                self._started += 1
                threading.Thread(target=self._work, name=f"request-{self._started}", daemon=True).start()
        self._tasks.put(task)

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            try:
                task()
            except Exception:
                log.exception("a request failed in its thread")
            with self._lock:
                self._free += 1


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
class ServerLimits:
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
