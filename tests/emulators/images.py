"""Images for virtual media: an emulator downloads what is inserted."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: What every image holds.
CONTENT = b"an image to boot from\n" * 50


@dataclass
class ImageServer:
    """An HTTP server that answers any path with the same image; paths that begin with ``/missing`` are not there."""

    url: str
    #: The paths that were asked for.
    fetched: list[str] = field(default_factory=list)

    def image(self, name: str = "boot.iso") -> str:
        """The URL of an image."""
        return f"{self.url}/{name}"


@contextmanager
def image_server() -> Iterator[ImageServer]:
    """Serve images on a free port of 127.0.0.1, with threads that have ended when this ends."""
    images = ImageServer("")

    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            images.fetched.append(self.path)
            self._answer(with_body=True)

        def _answer(self, *, with_body: bool) -> None:
            found = not self.path.startswith("/missing")
            body = CONTENT if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False  # so that they are waited for
        images.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield images
        finally:
            server.shutdown()
            thread.join()
