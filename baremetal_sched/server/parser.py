"""A request being received."""

import re
import time

from waitress.parser import HTTPRequestParser, ParsingError, unquote_bytes_to_wsgi
from waitress.utilities import BadRequest, Error

from baremetal_sched.server.threads import Bodies, Limits

#: Maximum length of a line between two chunks of a body, and of trailers.
_CHUNK_LINE = 4096
_TRAILER = 16 * 1024

_METHOD = re.compile(r"[A-Z]{1,20}")


class UriTooLong(BadRequest):  # type: ignore[misc]
    """The request line is too long."""

    code = 414
    reason = "URI Too Long"


class TooManyBodies(Error):  # type: ignore[misc]
    """The bodies of all requests together are too large."""

    code = 503
    reason = "Service Unavailable"


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """Collects a request. If ``error`` is set it cannot be served; ``command`` and ``path`` are then what could be
    parsed."""

    command = "GET"
    path = "/"
    query = ""
    request_uri = "/"
    adj: Limits

    def __init__(self, limits: Limits, bodies: Bodies) -> None:
        super().__init__(limits)
        self._bodies = bodies
        self._counted = 0
        self.url_scheme = limits.url_scheme
        self.began_at = time.monotonic()
        #: Time of arrival of the last byte.
        self.accepted_at = 0.0

    def received(self, data: bytes) -> int:
        """Process more bytes; return how many of them belong to this request."""
        head = self.header_plus + data if self.body_rcv is None else None
        consumed: int = super().received(data)
        if head is not None:
            self._check_head(head)
        else:
            if self.chunked and not self.completed:
                self._check_chunks()
            self._count()
        if self.completed:
            # Nothing more to wait for: there is no body, or it will not be read.
            self.expect_continue = False
            self.accepted_at = time.monotonic()
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Raise ParsingError for invalid headers, and for headers that a proxy may have interpreted differently."""
        try:
            super().parse_header(header_plus)
        except ValueError:  # more digits than Python converts
            raise ParsingError("Content-Length is not a number of bytes") from None
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Content-Length and Transfer-Encoding cannot be combined")
        if self.version != "1.1" and "TRANSFER_ENCODING" in self.headers:
            raise ParsingError("Transfer-Encoding needs HTTP/1.1")

    def _check_head(self, head: bytes) -> None:
        line = head.lstrip().partition(b"\r\n")[0]
        if len(line) > self.adj.request_line:
            self.error = UriTooLong("first line too long")
            self.completed = True
        if self.error:
            self._guess(line[: self.adj.request_line])

    def _guess(self, line: bytes) -> None:
        """Parse the request line provisionally, so that the API that was addressed can answer."""
        command, _, target = line.decode("latin-1").partition(" ")
        if _METHOD.fullmatch(command):
            self.command = command
        path = target.partition(" ")[0].partition("?")[0]
        if path.startswith("/"):
            self.path = unquote_bytes_to_wsgi(path.encode("latin-1"))

    def close(self) -> None:
        """Called when the request has been served, or is given up."""
        super().close()
        self._forget()

    def __del__(self) -> None:
        self._forget()

    def _count(self) -> None:
        """Count what has been received. Small bodies are never refused: they are in memory, as headers are."""
        size, self._counted = self.body_bytes_received - self._counted, self.body_bytes_received
        self._bodies.add(size)
        limits = self.adj
        if self._bodies.size > limits.bodies_size and self._counted > limits.small_body_size and not self.error:
            self.error = TooManyBodies("too many bodies")
            self.completed = True

    def _forget(self) -> None:
        size, self._counted = self._counted, 0
        if size:
            self._bodies.add(-size)

    def _check_chunks(self) -> None:
        body = self.body_rcv
        if len(body.control_line) > _CHUNK_LINE or len(body.trailer) > _TRAILER:
            self.error = BadRequest("The framing of the chunks is too long")
            self.completed = True
