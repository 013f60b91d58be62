"""Responses."""

import json
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIEnvironment

import structlog
from waitress.task import WSGITask
from waitress.utilities import build_http_date

from baremetal_sched.server.threads import ServerLimits
from baremetal_sched.web.http_errors import RefusedRequest
from baremetal_sched.web.slots import ACCEPTED_AT, REFUSAL

log = structlog.get_logger(__name__)


class Response(WSGITask):  # type: ignore[misc]
    """The application's response to a request."""

    wrote_header: bool
    close_on_finish: bool

    @property
    def has_body(self) -> bool:
        """Return whether a body is sent: not with these statuses, and never after HEAD."""
        return self.request.command != "HEAD" and not self.status.startswith(("1", "204", "304"))

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment of the request."""
        environ: WSGIEnvironment = super().get_environment()
        host, port = self.channel.local_address
        environ |= {
            "PATH_INFO": self.request.path,
            "SERVER_NAME": host,
            "SERVER_PORT": str(port),
            "wsgi.multiprocess": self.channel.server.is_one_of_many,
            ACCEPTED_AT: self.request.accepted_at,
        }
        return environ

    def write(self, data: bytes) -> None:
        """Send a part of the body, the first one together with the headers."""
        if not self.complete:
            raise RuntimeError("start_response was not called before body written")
        head = b""
        if not self.wrote_header:
            head = self.build_response_header()
            self.wrote_header = True
        body = data if self.has_body else b""
        if body and self.chunked_response:
            body = b"%X\r\n%b\r\n" % (len(body), body)
        elif body and self.content_length is not None:
            body = body[: self.content_length - self.content_bytes_written]
        self.content_bytes_written += len(data)
        self.channel.write_soon(head + body if head else body)

    def build_response_header(self) -> bytes:
        """Return the status line and all headers; this determines how the body ends and whether the connection is
        kept."""
        headers = [(name, value) for name, value in self.response_headers if name.lower() not in _OURS]
        known = any(name.lower() == "content-length" for name, _ in headers)
        wishes = self.request.headers.get("CONNECTION", "").lower()
        keep = "keep-alive" in wishes if self.version == "1.0" else "close" not in wishes
        if self.has_body and not known:
            if self.content_length is not None:
                headers.append(("Content-Length", str(self.content_length)))
            elif self.version == "1.1":
                headers.append(("Transfer-Encoding", "chunked"))
                self.chunked_response = True
            else:
                keep = False  # the connection's end marks the end of the body
        elif known and self.status.startswith(("1", "204")):
            headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
        if self.close_on_finish or not keep or self.channel.server.is_stopping:
            self.close_on_finish = True
            headers.append(("Connection", "close"))
        elif self.version == "1.0":
            headers.append(("Connection", "keep-alive"))
        lines = [f"HTTP/{self.version} {self.status}", f"Server: {self.channel.adj.ident}"]
        lines.append(f"Date: {build_http_date(self.start_time)}")
        lines.extend(f"{name}: {value}" for name, value in headers)
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


#: Headers that are determined here.
_OURS = frozenset({"connection", "date", "server"})


class Refusal(Response):
    """The response to a request that cannot be served, in the format of the API that was addressed."""

    def execute(self) -> None:
        """Send the response, and close the connection: the end of the request's body is unknown."""
        self.set_close_on_finish()
        error = self.request.error
        if error.code != 500:
            try:
                super().execute()
                return
            except Exception:
                if self.wrote_header:
                    raise
                log.exception("a refusal could not be rendered", status=error.code)
        self._send_plainly(error.code)

    def get_environment(self) -> dict[str, Any]:
        """Return an environment with the error and an empty body."""
        environ = super().get_environment()
        error = self.request.error
        environ[REFUSAL] = RefusedRequest(error.code, self._message(error))
        return environ

    def _message(self, error: Any) -> str:
        limits: ServerLimits = self.channel.adj
        match error.code:
            case 413:
                return f"The request body is too large: at most {limits.body_size} bytes are accepted."
            case 414:
                return f"The URI is too long: the first line of a request may have {limits.request_line} bytes."
            case 431:
                return f"The headers are too long: together they may have {limits.max_request_header_size} bytes."
            case 503:
                return "The bodies of all requests together are more than this process takes at a time. Try again."
            case 501:
                return "No other transfer coding than chunked is supported."
            case _:
                return f"The request is not valid HTTP: {error.body}."

    def _send_plainly(self, status: int) -> None:
        message = "An internal error occurred; see the log." if status >= 500 else HTTPStatus(status).phrase
        body = json.dumps({"error": {"status": status, "message": message}}).encode()
        self.status = f"{status} {HTTPStatus(status).phrase}"
        self.response_headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        self.content_length = len(body)
        self.complete = True
        self.write(body)
