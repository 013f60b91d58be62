"""A WSGI application on a free loopback port. The original's interpreter runs it too: standard library only."""

import threading
from collections.abc import Callable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer


class _Handler(WSGIRequestHandler):
    def get_environ(self) -> dict[str, Any]:
        """A server as in PEP 3333; wsgiref itself invents a content type and drops repeated blanks."""
        environ = super().get_environ()
        if self.headers.get("content-type") is None:
            environ.pop("CONTENT_TYPE", None)
        environ["REMOTE_ADDR"] = self.client_address[0]
        return environ

    def address_string(self) -> str:
        return str(self.client_address[0])

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class _Server(WSGIServer):
    request_queue_size = 128

    def server_bind(self) -> None:
        # Not HTTPServer's, which asks DNS for the name of the host.
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]
        self.setup_environ()


class Served:
    """An application that can be exchanged, served by one thread: one request after the other."""

    def __init__(self) -> None:
        self.app: Callable[..., Any] = lambda environ, start_response: []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.set_app(lambda environ, start_response: self.app(environ, start_response))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
