"""A client connection."""

import select
import socket
import ssl
import time
from typing import Any, Protocol

import structlog
from waitress.channel import ClientDisconnected, HTTPChannel

from baremetal_sched.server.parser import RequestParser
from baremetal_sched.server.response import Refusal, Response
from baremetal_sched.server.threads import Bodies, ServerLimits
from baremetal_sched.server.tls import HandshakeFailed, wrap


class Loop(Protocol):
    """The parts of the loop that a connection needs."""

    limits: ServerLimits
    bodies: Bodies
    connections: dict[int, "Connection"]

    def is_outdated(self, connection: "Connection") -> bool: ...

    def touch(self, connection: "Connection") -> None: ...

    def forget(self, descriptor: int) -> None: ...


log = structlog.get_logger(__name__)


class Connection(HTTPChannel):  # type: ignore[misc]
    """Reads and parses in the thread of the loop; sends in any thread that has something to send."""

    task_class = Response
    error_task_class = Refusal
    server: Loop
    adj: ServerLimits

    def __init__(
        self,
        server: Loop,
        sock: socket.socket,
        address: tuple[Any, ...],
        local_address: tuple[str, int | str],
    ) -> None:
        #: The listener's address: SERVER_NAME and SERVER_PORT.
        self.local_address = local_address
        self._refused = False
        self._lingers_until: float | None = None
        self._blocked_since: float | None = None
        super().__init__(server, sock, address, server.limits, map=server.connections)

    # -- in the thread of the loop ------------------------------------------------------------------------------------

    def parser_class(self, limits: ServerLimits) -> RequestParser:
        """Return the next request. (The name is waitress's, which has a class there.)"""
        return RequestParser(limits, self.server.bodies)

    @property
    def is_idle(self) -> bool:
        """Return whether no complete request is being served, and nothing is left to send."""
        return not self.requests and not self.total_outbufs_len

    @property
    def has_more(self) -> bool:
        """Return whether the client has sent something, or the end, that is still to be read."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(0))

    def del_channel(self, map: Any = None) -> None:
        """Called before the socket is closed."""
        if self._fileno is not None:
            self.server.forget(self._fileno)
        if self.request is not None:  # it is not complete, so no thread has it
            self.request.close()
        super().del_channel(map)

    def readable(self) -> bool:
        """Return whether to wait for more data."""
        return self._lingers_until is not None or bool(super().readable())

    def handle_read(self) -> None:
        """Read what the client sent."""
        if self._lingers_until is None:
            super().handle_read()
            return
        try:
            dropped = self.recv(self.adj.recv_bytes)
        except OSError:
            dropped = b""
        if not dropped:
            self.handle_close()

    def handle_write(self) -> None:
        """Send what is left, and close the connection if that was all."""
        if self._refused and self.close_when_flushed and not self.will_close:
            self._flush_exception(self._flush_some)
            if self.total_outbufs_len == 0 and self.connected and not self.will_close:
                self._linger()
                return
        super().handle_write()

    def _linger(self) -> None:
        """Close only our side. Closing both with unread data could destroy the response on its way to the client."""
        self.close_when_flushed = False
        self._lingers_until = time.monotonic() + self.adj.linger_seconds
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.will_close = True

    def is_overdue(self) -> bool:
        """Return whether a time limit has passed; checked every second."""
        now = time.monotonic()
        silent: float = time.time() - self.last_activity
        limits = self.adj
        if self.total_outbufs_len > limits.outbuf_high_watermark:
            self._blocked_since = self._blocked_since or now
        else:
            self._blocked_since = None
        if self._lingers_until is not None:
            return now > self._lingers_until
        if self._blocked_since is not None:
            return now - self._blocked_since > limits.blocked_seconds
        if self.total_outbufs_len:
            return silent > limits.send_seconds
        if self.requests:
            return False
        if self.request is not None:
            return bool(now - self.request.began_at > limits.receive_seconds)
        return silent > limits.keep_alive

    # -- in a request thread ------------------------------------------------------------------------------------------

    def service(self) -> None:
        """Serve the next request."""
        self._refused = self.requests[0].error is not None
        super().service()
        if self.server.is_outdated(self):
            self.server.touch(self)

    def write_soon(self, data: Any) -> int:
        """Send ``data``; what cannot be sent now is sent later. Raises ClientDisconnected."""
        with self.outbuf_lock:
            if not self.connected:
                raise ClientDisconnected
            sent = self.send(data, do_close=False) if data and not self.total_outbufs_len else 0
            if sent:
                self.last_activity = time.time()
            if sent < len(data):
                super().write_soon(data[sent:])
                self.server.touch(self)
        return len(data)


_SPEAK_TLS = b"This port speaks HTTPS only.\n"
_PLAIN_ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_SPEAK_TLS), _SPEAK_TLS)
)


class SecureConnection(Connection):
    """Handshakes, decrypts and parses in the thread of the loop; encrypts in any thread that has something to send."""

    def __init__(
        self,
        server: Loop,
        sock: socket.socket,
        address: tuple[Any, ...],
        local_address: tuple[str, int | str],
        context: ssl.SSLContext,
    ) -> None:
        self._began_at = time.monotonic()
        self._tls = wrap(sock, context)
        super().__init__(server, self._tls, address, local_address)

    def writable(self) -> bool:
        """Return whether there is something to send."""
        return bool(super().writable()) or self._tls.has_unsent

    def handle_read(self) -> None:
        """Read what the client sent."""
        if self._lingers_until is not None:
            super().handle_read()
            return
        try:
            data = self.recv(self.adj.recv_bytes)
        except BlockingIOError:
            return
        except HandshakeFailed as failure:
            self._give_up(failure)
            return
        if data:
            self.last_activity = time.time()
            self.received(data)

    def handle_write(self) -> None:
        """Send what is left, and close the connection if that was all."""
        if self._tls.has_unsent and not self._tls.is_established:
            self.handle_read()
            return
        # In this order: it is set after the last byte was written.
        if self.close_when_flushed and not self.will_close:
            self._flush_exception(self._flush_some)
            if not self.will_close and (self.total_outbufs_len or not self._tls.finish()):
                return
        super().handle_write()

    def handle_close(self) -> None:
        """Close the connection; if nothing is left to send, notify the client of the end."""
        if self.socket is not None and not self.total_outbufs_len:
            self._tls.finish()
        super().handle_close()

    def is_overdue(self) -> bool:
        """Return whether a time limit has passed; checked every second."""
        is_overdue = super().is_overdue()
        if self._lingers_until is not None:
            return is_overdue
        if not self._tls.is_established:
            return time.monotonic() - self._began_at > self.adj.handshake_seconds
        if self._tls.has_unsent:
            return bool(time.time() - self.last_activity > self.adj.send_seconds)
        return is_overdue

    def _give_up(self, failure: HandshakeFailed) -> None:
        log.info("a TLS handshake failed", client=self.addr[0], reason=failure.reason)
        try:
            if failure.is_plain_http:
                self._tls.refuse_plainly(_PLAIN_ANSWER)
            self._linger()
        except OSError:
            self.handle_close()
