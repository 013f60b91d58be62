"""Images for virtual media: an emulator downloads what is inserted."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: What every image holds.
CONTENT = b"an image to boot from\n" * 50


@dataclass
class ImageServer:
    """An HTTP server that answers any path with an image; paths that begin with ``/missing`` are not there."""

    url: str
    #: The paths that were asked for.
    fetched: list[str] = field(default_factory=list)

    def image(self, name: str = "boot.iso") -> str:
        """The URL of an image."""
        return f"{self.url}/{name}"


@contextmanager
def image_server(address: str = "127.0.0.1", contents: Mapping[str, bytes] | None = None) -> Iterator[ImageServer]:
    """Serve images on a free port, with threads that have ended when this ends.

    ``contents`` are those of images that are not the same as all others, by name.
    """
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
            body = (contents or {}).get(self.path[1:], CONTENT) if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer((address, 0), Handler) as server:
        server.daemon_threads = False  # so that they are waited for
        images.url = f"http://{address}:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield images
        finally:
            server.shutdown()
            thread.join()
