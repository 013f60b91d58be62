"""Limits of sizes, numbers and times."""

from dataclasses import dataclass


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
