"""Many small Redfish controllers behind one socket: each has a path of its own, and some of them hang."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Fleet(ThreadingHTTPServer):
    """``power`` has the power states by number, ``hanging`` the numbers of the machines that never answer."""

    daemon_threads = False
    request_queue_size = 200

    def __init__(self, size: int) -> None:
        self.power = ["On"] * size
        self.hanging: set[int] = set()
        self.ended = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    def address(self, number: int) -> str:
        """``redfish_address`` of a machine."""
        return f"http://127.0.0.1:{self.server_port}/bmc{number}"


class _Handler(BaseHTTPRequestHandler):
    server: Fleet

    def do_GET(self) -> None:
        _, controller, *path = self.path.rstrip("/").split("/")
        number = int(controller.removeprefix("bmc"))
        if number in self.server.hanging:
            self.server.ended.wait()
            return
        if not path:
            self._answer({"Id": "Root", "Name": "Root", "Systems": {"@odata.id": f"/{controller}/Systems"}})
        elif len(path) == 1:
            self._answer({"Name": "Systems", "Members": [{"@odata.id": f"/{controller}/Systems/1"}]})
        else:
            self._answer({"Id": "1", "Name": "Machine", "PowerState": self.server.power[number]})

    def _answer(self, document: dict[str, Any]) -> None:
        body = json.dumps({"@odata.id": self.path, **document}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def fleet(size: int) -> Iterator[Fleet]:
    """So many controllers, whose machines are on."""
    with Fleet(size) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="redfish-fleet")
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()
