"""Controllers that break the protocol: servers that send bytes, slowly or for ever, or nothing."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.waiting import PATIENCE


class RawServer:
    """Listens on 127.0.0.1 and lets ``answer`` deal with each connection, in a thread of its own, until it is closed.

    ``connections`` is how many there were.
    """

    def __init__(self, answer: Callable[["RawServer", socket.socket], None]) -> None:
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.ended = threading.Event()
        self.connections = 0
        self._threads = [threading.Thread(target=self._accept, name="raw-server")]
        self._threads[0].start()

    def close(self) -> None:
        """Close everything, and wait for the threads."""
        self.ended.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _accept(self) -> None:
        while not self.ended.is_set():
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._deal_with, args=(accepted,), name="raw-server")
            self._threads.append(thread)
            thread.start()

    def _deal_with(self, accepted: socket.socket) -> None:
        with accepted, suppress(OSError):
            accepted.settimeout(PATIENCE)
            self._answer(self, accepted)


@contextmanager
def raw(answer: Callable[[RawServer, socket.socket], None]) -> Iterator[RawServer]:
    """A RawServer that is closed at the end."""
    server = RawServer(answer)
    try:
        yield server
    finally:
        server.close()


def silent(server: RawServer, accepted: socket.socket) -> None:
    """Take the connection, and never say anything."""
    server.ended.wait()


def dribbling(beginning: bytes, seconds: float = 0.05) -> Callable[[RawServer, socket.socket], None]:
    """Send ``beginning``, and then a letter every so many seconds, for ever."""

    def answer(server: RawServer, accepted: socket.socket) -> None:
        accepted.recv(65536)
        accepted.sendall(beginning)
        while not server.ended.wait(seconds):
            accepted.sendall(b"a")

    return answer


def endless(beginning: bytes, more: bytes) -> Callable[[RawServer, socket.socket], None]:
    """Send ``beginning``, and then ``more`` again and again, as fast as it is taken."""

    def answer(server: RawServer, accepted: socket.socket) -> None:
        accepted.recv(65536)
        accepted.sendall(beginning)
        while not server.ended.is_set():
            accepted.sendall(more)

    return answer


def saying(answer: bytes) -> Callable[[RawServer, socket.socket], None]:
    """Send just this, whatever is asked, and close the connection."""

    def send(server: RawServer, accepted: socket.socket) -> None:
        accepted.recv(65536)
        accepted.sendall(answer)
        accepted.shutdown(socket.SHUT_WR)
        while accepted.recv(65536):  # else the answer may be lost
            pass

    return send


def document(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An answer of HTTP with this body."""
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Content-Type: application/json", *headers)
    return "\r\n".join((*lines, "", "")).encode() + body
