"""A client connection."""

import socket
import time
from typing import TYPE_CHECKING, Any

from waitress.channel import ClientDisconnected, HTTPChannel

from baremetal_sched.server.limits import Limits
from baremetal_sched.server.parser import RequestParser
from baremetal_sched.server.response import Refusal, Response
from baremetal_sched.server.tls import TlsSocket

if TYPE_CHECKING:
    from baremetal_sched.server.loop import Server


class Connection(HTTPChannel):  # type: ignore[misc]
    """Reads and parses in the thread of the loop; sends in any thread that has something to send."""

    task_class = Response
    error_task_class = Refusal
    server: "Server"
    adj: Limits

    def __init__(
        self,
        server: "Server",
        sock: socket.socket | TlsSocket,
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

    def parser_class(self, limits: Limits) -> RequestParser:
        """Return the next request. (The name is waitress's, which has a class there.)"""
        return RequestParser(limits, self.server.bodies)

    @property
    def is_idle(self) -> bool:
        """Return whether no complete request is being served, and nothing is left to send."""
        return not self.requests and not self.total_outbufs_len

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
