"""The event loop for connections, incoming requests, and clients that are ready to receive."""

import errno
import os
import select
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any

import structlog
from waitress import wasyncore

from baremetal_sched.server.connection import Connection, SecureConnection
from baremetal_sched.server.threads import Bodies, RequestThreads, ServerLimits
from baremetal_sched.web.slots import IMMEDIATE

log = structlog.get_logger(__name__)

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Server:
    """The connections of one process. ``poll`` is called repeatedly by one thread; ``touch`` and ``add_task`` may be
    called by any.

    Only changed connections are processed, so idle ones cost nothing. With ``tls`` all of them are encrypted.
    """

    def __init__(
        self,
        application: Callable[..., Iterable[bytes]],
        listeners: Iterable[socket.socket],
        threads: RequestThreads,
        limits: ServerLimits,
        is_one_of_many: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.application = application
        self.limits = self.adj = limits
        self.is_one_of_many = is_one_of_many
        #: Whether connections are closed after their next response.
        self.is_stopping = False
        #: Number of requests received.
        self.received = 0
        self.connections: dict[int, Connection] = {}
        self.bodies = Bodies()
        self.threads = threads
        # Attributes that waitress's channels expect of a server.
        self.active_channels: dict[int, Connection] = {}
        self.server_name, self.effective_port = "localhost", 0
        self._listeners = list(listeners)
        self._is_accepting = False
        self._tls = tls
        self._selector = selectors.DefaultSelector()
        self._interest: dict[int, int] = {}
        self._touched: deque[Connection] = deque()
        self._immediate: deque[Connection] = deque()
        self._wake_read, self._wake_write = os.pipe()
        self._is_woken = False
        self._expiry = 0.0
        for end in (self._wake_read, self._wake_write):
            os.set_blocking(end, False)
        self.watch(self._wake_read)

    # -- what waitress's channels call --------------------------------------------------------------------------------

    def add_task(self, connection: Connection) -> None:
        """Queue the complete request of ``connection``."""
        self.received += 1
        if connection.requests[0].path in IMMEDIATE:  # in the thread of the loop
            self._immediate.append(connection)
            self._wake()
        else:
            self.threads.add(connection.service)

    def pull_trigger(self) -> None:
        """Do nothing: connections call ``touch`` when necessary."""

    # -- any thread ---------------------------------------------------------------------------------------------------

    def touch(self, connection: Connection) -> None:
        """Have the loop process the connection."""
        self._touched.append(connection)
        self._wake()

    def is_outdated(self, connection: Connection) -> bool:
        """Return whether the loop waits for other events than the connection needs."""
        sock = connection.socket  # None once the loop closes it
        return sock is not None and self._interest.get(sock.fileno(), 0) != _interest(connection)

    def _wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            with suppress(BlockingIOError):  # then there is already something to read
                os.write(self._wake_write, b"x")

    # -- the thread of the loop ---------------------------------------------------------------------------------------

    def watch(self, descriptor: int) -> None:
        """Make ``poll`` return when a pipe becomes readable. The data is discarded."""
        self._selector.register(descriptor, _READ, self._drain)

    def accept_connections(self, accepting: bool) -> None:
        """Begin or stop accepting new connections."""
        if accepting == self._is_accepting:
            return
        self._is_accepting = accepting
        for listener in self._listeners:
            if accepting:
                listener.setblocking(False)
                self._selector.register(listener, _READ, self._accept)
            else:
                self._selector.unregister(listener)

    def poll(self, seconds: float) -> None:
        """Wait for events, at most for ``seconds``, and handle them."""
        if self._touched or self._immediate:
            seconds = 0
        # Connections first: one whose request has come does not make way for a new one.
        for key, events in sorted(self._selector.select(seconds), key=_is_listener):
            if isinstance(key.data, Connection):
                self._handle(key.data, events)
            else:
                key.data(key.fileobj)
        while self._touched:
            self._update(self._touched.popleft())
        while self._immediate:
            connection = self._immediate.popleft()
            try:
                connection.service()
            except Exception:
                log.exception("a request failed in the loop")
                connection.handle_close()
            self._update(connection)
        if time.monotonic() >= self._expiry:
            self._expire()

    def close_idle(self) -> None:
        """Close connections without a request in progress."""
        for connection in [one for one in self.connections.values() if one.is_idle]:
            connection.handle_close()

    def close(self) -> None:
        """Close everything."""
        self.accept_connections(False)
        for connection in list(self.connections.values()):
            connection.handle_close()
        self._selector.close()

    def forget(self, descriptor: int) -> None:
        """Remove a connection that is about to be closed."""
        if self._interest.pop(descriptor, 0):
            self._selector.unregister(descriptor)

    def _handle(self, connection: Connection, events: int) -> None:
        if events & _READ:
            wasyncore.readwrite(connection, select.POLLIN)
        if events & _WRITE and connection.socket is not None:
            wasyncore.readwrite(connection, select.POLLOUT)
        self._update(connection)

    def _update(self, connection: Connection) -> None:
        """Wait for the events that the connection needs now."""
        # Repeat if a thread has changed that, as it compared with the previous events.
        while connection.socket is not None:
            descriptor = connection.socket.fileno()
            waited_for, needed = self._interest.get(descriptor, 0), _interest(connection)
            if needed == waited_for:
                return
            if not waited_for:
                self._selector.register(descriptor, needed, connection)
            elif not needed:
                self._selector.unregister(descriptor)
            else:
                self._selector.modify(descriptor, needed, connection)
            self._interest[descriptor] = needed

    def _accept(self, listener: Any) -> None:
        if len(self.connections) >= self.limits.connections and not self._evict(1):
            self.accept_connections(False)  # until _expire
            return
        try:
            accepted, address = listener.accept()
        except OSError as error:
            if error.errno in _OUT_OF_FILES:
                log.warning("a connection cannot be accepted", reason=str(error))
                if not self._evict(16):
                    self.accept_connections(False)
            return
        local: Any = listener.getsockname()
        try:
            if accepted.family == socket.AF_UNIX:
                address, local = ("", 0), ("localhost", "")
            else:
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._update(self._connection(accepted, address, local[:2]))
        except OSError:
            accepted.close()  # the client has disconnected

    def _connection(
        self, accepted: socket.socket, address: tuple[Any, ...], local: tuple[str, int | str]
    ) -> Connection:
        if self._tls is None:
            return Connection(self, accepted, address, local)
        return SecureConnection(self, accepted, address, local, self._tls)

    def _evict(self, count: int) -> int:
        """Close the connections that have been silent for longest, without a request in progress or to be read; return
        their number."""
        idle = sorted((one for one in self.connections.values() if one.is_idle), key=lambda one: one.last_activity)
        silent = list(islice((one for one in idle if not one.has_more), count))
        for connection in silent:
            connection.handle_close()
        return len(silent)

    def _expire(self) -> None:
        for connection in list(self.connections.values()):
            if connection.is_overdue():
                connection.handle_close()
            else:
                self._update(connection)
        if not self.is_stopping:
            self.accept_connections(True)
        self._expiry = time.monotonic() + 1

    def _drain(self, descriptor: Any) -> None:
        with suppress(BlockingIOError):
            os.read(descriptor, 4096)
        if descriptor == self._wake_read:
            # After reading: a thread that found it still set has left its connection to this round.
            self._is_woken = False


def _is_listener(ready: tuple[selectors.SelectorKey, int]) -> bool:
    return not isinstance(ready[0].data, Connection)


def _interest(connection: Connection) -> int:
    return (_READ if connection.readable() else 0) | (_WRITE if connection.writable() else 0)
