"""Requests as bytes on a connection, so that they may be wrong in any way."""

import http.client
import json
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.functional.fuzz.headers import FRAMING
from tests.functional.fuzz.requests import Request

TIMEOUT = 60


@dataclass(frozen=True)
class Answer:
    """The answer: status 0 if the connection was closed instead."""

    status: int
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)


def version_header(api: str, minor: int) -> tuple[str, str]:
    """The header that asks for a microversion."""
    if api == "baremetal":
        return "X-OpenStack-Ironic-API-Version", f"1.{minor}"
    return "OpenStack-API-Version", f"placement 1.{minor}"


def usual_headers(api: str, request: Request) -> dict[str, str]:
    """Headers that clients send, and then those of the request."""
    usual = dict([version_header(api, request.version), ("Content-Type", "application/json")])
    return usual | dict(request.headers)


class Wire:
    """One connection to a server, made again when it was closed."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname, parts.port)
        self._socket: socket.socket | None = None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(self, api: str, request: Request) -> Answer:
        """The answer to a request. A connection that was idle is tried once more."""
        is_usual = not request.headers
        was_open = self._socket is not None
        half_close = self._misframed(request)
        answer = self._exchange(self._bytes(api, request), request.method, half_close=half_close)
        if answer.status == 0 and was_open:
            answer = self._exchange(self._bytes(api, request), request.method, half_close=half_close)
        if not is_usual:
            self.close()  # nothing of it may be taken for the answer to the next
        return answer

    def call(self, api: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """``worlds.Call``"""
        path, _, query = path.partition("?")
        encoded = None if body is None else json.dumps(body).encode()
        answer = self.send(api, Request(method, path, query, {"baremetal": 115, "placement": 39}.get(api, 0), encoded))
        try:
            return answer.status, json.loads(answer.text)
        except ValueError:
            return answer.status, answer.text

    @staticmethod
    def _misframed(request: Request) -> bool:
        return any(name in FRAMING for name, _ in request.headers)

    def _bytes(self, api: str, request: Request) -> bytes:
        body = request.body or b""
        target = f"/{api}{request.path}" + (f"?{request.query}" if request.query else "")
        headers = {"Host": "localhost", "Content-Length": str(len(body))} | usual_headers(api, request)
        lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        # A line break within a value would be another header.
        head = "\r\n".join(line.replace("\r", " ").replace("\n", " ") for line in lines)
        return head.encode("utf-8", "surrogatepass") + b"\r\n\r\n" + body

    def _exchange(self, sent: bytes, method: str, *, half_close: bool) -> Answer:
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._address, TIMEOUT)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(ConnectionError):  # refused before it was read to its end: the answer says so
                self._socket.sendall(sent)
            if half_close:
                self._socket.shutdown(socket.SHUT_WR)
            response = http.client.HTTPResponse(self._socket, method=method)
            with response:
                response.begin()
                text = response.read().decode("utf-8", "replace")
            if response.will_close:
                self.close()
            return Answer(response.status, text, {name.lower(): value for name, value in response.getheaders()})
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return Answer(0, repr(error))
