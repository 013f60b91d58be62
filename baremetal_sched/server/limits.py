"""How much, and for how long."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of one worker. The attributes of the second part have waitress's names, which its channels read."""

    #: Connections that are open at the same time.
    connections: int
    #: Largest request body, in bytes.
    body_size: int
    #: Seconds that an idle connection is kept.
    keep_alive: float
    #: Longest first line of a request, in bytes.
    request_line: int = 8190
    #: Seconds for a handshake of TLS, counted from the connection.
    handshake_seconds: float = 20
    #: Seconds for a request to arrive completely, counted from its first byte.
    receive_seconds: float = 60
    #: Seconds that a client may leave a response unread.
    send_seconds: float = 60
    #: Seconds that a request thread waits for a client that reads too slowly.
    blocked_seconds: float = 15
    #: Seconds in which what a client still sends is read and dropped, after its request was refused.
    linger_seconds: float = 2

    #: All headers of a request together, in bytes.
    max_request_header_size: int = 64 * 1024
    recv_bytes: int = 16 * 1024
    send_bytes: int = 1
    #: What is larger than these goes into a temporary file.
    inbuf_overflow: int = 256 * 1024
    outbuf_overflow: int = 4 * 2**20
    #: A response of which more than this is unsent makes its thread wait.
    outbuf_high_watermark: int = 64 * 2**20
    #: Requests that are read while another one of the connection is served; so a client that goes away is noticed.
    channel_request_lookahead: int = 1
    log_socket_errors: bool = True
    expose_tracebacks: bool = False
    ident: str = "baremetal-sched"
    url_scheme: str = "http"
    url_prefix: str = ""

    @property
    def max_request_body_size(self) -> int:
        """waitress refuses what has this size, and counts the framing of chunks."""
        return self.body_size + 64 * 1024
