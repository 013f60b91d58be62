"""A receiver of webhooks: a real HTTP server on a thread, which keeps what it gets and answers as a test wants."""

import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import orjson
from standardwebhooks.webhooks import Webhook

from tests.certificates import Certificate


@dataclass(frozen=True)
class Received:
    """A request: its headers, by names in lower case, and its body."""

    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = orjson.loads(self.body)
        return event

    def verified(self, secret: str) -> Any:
        """The event, if the signature is right. Raises WebhookVerificationError."""
        return Webhook(secret).verify(self.body, self.headers)


#: Answers a request.
Behaviour = Callable[[BaseHTTPRequestHandler], object]


def answering(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    """Answer every request with this."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@dataclass
class Receiver:
    """``behave`` may be replaced at any time. ``scheme``: https with a ``certificate``."""

    behave: Behaviour = field(default_factory=lambda: answering(204))
    certificate: Certificate | None = None
    received: list[Received] = field(default_factory=list)

    def __enter__(self) -> Self:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append(Received({name.lower(): value for name, value in self.headers.items()}, body))
                with suppress(OSError):  # the other side may have heard enough
                    receiver.behave(self)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *arguments: None  # type: ignore[method-assign] # a handshake may fail
        if self.certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate.certificate, self.certificate.key)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"{'http' if self.certificate is None else 'https'}://127.0.0.1:{self.port}/hook?token=t0ken"

    @property
    def subjects(self) -> list[str]:
        """The subjects of the events that came, in this order."""
        return [each.event["subject"] for each in self.received]
