"""Serving the controller on 127.0.0.1, in threads of this process."""

import logging
import threading
from types import TracebackType
from typing import Any, Self

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from tests.redfish_service.application import make_application
from tests.redfish_service.controller import Controller


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: the controller has its journal."""


class RedfishService:
    """``url`` is where it serves ``controller``. ``certificate`` and ``key`` are files, for HTTPS."""

    def __init__(self, controller: Controller | None = None, *, tls: tuple[str, str] | None = None) -> None:
        self.controller = controller or Controller()
        self._ended = threading.Event()
        self._tls = tls
        self._server: BaseWSGIServer
        self._thread: threading.Thread
        self.url = ""
        self._port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Serve; after ``stop``, at the same port again."""
        logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
        self._ended.clear()
        application = make_application(self.controller, self._ended)
        self._server = make_server(
            "127.0.0.1", self._port, application, threaded=True, request_handler=_Quiet, ssl_context=self._tls
        )
        self._server.daemon_threads = False  # so that closing waits for them
        self._port = self._server.server_port
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="redfish-service")
        self._thread.start()

    def stop(self) -> None:
        """Be gone: connections are refused. Answers that hang are given up."""
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def driver_info(self, **more: Any) -> dict[str, Any]:
        """The ``driver_info`` of a node with this controller."""
        return {
            "redfish_address": self.url,
            "redfish_system_id": "/redfish/v1/Systems/1",
            "redfish_username": self.controller.username,
            "redfish_password": self.controller.password,
            **more,
        }
