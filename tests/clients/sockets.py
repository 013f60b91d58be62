"""Requests byte by byte, as no client library sends them."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.waiting import PATIENCE


@dataclass
class Received:
    """A response. ``closed``: whether the server has closed the connection after it."""

    status: int
    headers: dict[str, str]
    body: bytes
    closed: bool = False

    def json(self) -> Any:
        """The document in the body."""
        return json.loads(self.body)


class Wire:
    """A connection to the service; with ``tls``, once the handshake is done."""

    def __init__(self, url: str, seconds: float = PATIENCE, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=seconds)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=parts.hostname, suppress_ragged_eofs=False)
        self._buffer = b""

    def send(self, data: bytes | str) -> None:
        """Send it, as it is."""
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def response(self, *, head: bool = False) -> Received:
        """Read one response; ``head`` if it answers a HEAD."""
        while b"\r\n\r\n" not in self._buffer:
            self._more()
        first, *lines = self._take(self._buffer.index(b"\r\n\r\n") + 4).decode("latin-1").rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = b""
        if not head and headers.get("transfer-encoding") == "chunked":
            while size := int(self._line(), 16):
                body += self._exactly(size)
                self._line()
            self._line()
        elif not head:
            body = self._exactly(int(headers.get("content-length", "0")))
        return Received(int(first.split()[1]), headers, body)

    def ends(self) -> bool:
        """Whether the server closes the connection without another byte; waits for it."""
        try:
            return not self._buffer and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def _line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            self._more()
        return self._take(self._buffer.index(b"\r\n") + 2)[:-2]

    def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._more()
        return self._take(count)

    def _take(self, count: int) -> bytes:
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(f"closed after {self._buffer!r}")
        self._buffer += data


@contextmanager
def wire(url: str, seconds: float = PATIENCE, tls: ssl.SSLContext | None = None) -> Iterator[Wire]:
    """A connection that is closed at the end."""
    opened = Wire(url, seconds, tls)
    try:
        yield opened
    finally:
        opened.socket.close()


@contextmanager
def wires(url: str, count: int, data: bytes | str = b"", tls: ssl.SSLContext | None = None) -> Iterator[list[Wire]]:
    """``count`` connections, on each of which ``data`` was sent."""
    with ExitStack() as stack:
        opened = [stack.enter_context(wire(url, tls=tls)) for _ in range(count)]
        for one in opened:
            if data:
                one.send(data)
        yield opened


def exchange(url: str, data: bytes | str, *, head: bool = False, tls: ssl.SSLContext | None = None) -> Received:
    """The answer to ``data``; says whether the connection is closed then."""
    with wire(url, tls=tls) as one:
        one.send(data)
        received = one.response(head=head)
        received.closed = received.headers.get("connection") == "close" and one.ends()
        return received
