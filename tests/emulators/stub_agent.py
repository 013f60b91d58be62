"""An agent that executes nothing: the API of ironic-python-agent 13, with everything that can go wrong.

``StubAgent.exchange`` takes the place of ``bounded_http.exchange``; ``serve`` is the same over HTTP or HTTPS.
"""

import json
import ssl
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from baremetal_sched.bounded_http import Answer, CallFailed

URL = "http://192.0.2.1:9999"

#: Commands that are executed while the agent answers.
_SYNCHRONOUS = ("get_clean_steps", "get_deploy_steps", "get_service_steps", "get_partition_uuids", "sync", "lockdown")
_FINISHED = "SUCCEEDED"

#: Raised where a test kills the conductor.
OnRequest = Callable[[str, dict[str, Any] | None], None]


class StubAgent:
    """``executed`` has all commands that were begun, with their parameters.

    ``is_quick``: a command that takes time is done when it is asked for. ``trouble`` says what happens to the next POST
    of a command of this name: "refused" (no connection), "lost" (it does not arrive), "unanswered" (it is executed, but
    the answer is lost), "garbled" (the answer makes no sense), "busy", or a status. ``results`` and ``failures`` are
    those of commands, by name; ``before`` is called with the method and the body of each request, ``after`` likewise
    when it has been executed.
    """

    def __init__(self) -> None:
        #: None: any is accepted.
        self.token: str | None = None
        self.is_quick = True
        self.executed: list[tuple[str, dict[str, Any]]] = []
        self.trouble: dict[str, str | int] = {}
        self.results: dict[str, Any] = {"get_partition_uuids": {}}
        self.failures: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        self.steps: dict[str, list[dict[str, Any]]] = {"clean": [], "deploy": [], "service": []}
        self.versions = {"generic_hardware_manager": "1.2"}
        self.is_silent = False
        self.image: Callable[..., Answer] = lambda url, **options: Answer(200, "OK", None, b"")
        self.before: OnRequest = lambda method, body: None
        self.after: OnRequest = lambda method, body: None
        self._commands: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """Return the commands that were begun, without extension, and without commands that only read."""
        names = [name.rpartition(".")[2] for name, _ in self.executed]
        return [name for name in names if not name.startswith("get_")]

    @property
    def steps_executed(self) -> list[str]:
        """Return the steps that were begun."""
        return [params["step"]["step"] for name, params in self.executed if "execute_" in name]

    def renew(self) -> None:
        """Be as a new agent, for the next row of a table."""
        vars(self).update(vars(type(self)()))

    def restart(self) -> None:
        """Forget all commands, as an agent does that is booted again."""
        self._commands.clear()

    def finish(self) -> None:
        """Finish the command that is executed."""
        for command in self._commands:
            if command["command_status"] == "RUNNING":
                self._end(command)

    def handle(self, method: str, target: str, body: bytes | None) -> tuple[int, bytes]:
        """Return status and body of the answer to a request."""
        parts = urlsplit(target)
        query = parse_qs(parts.query)
        if self.token is not None and query.get("agent_token") != [self.token]:
            return self._fault(401, "Token invalid.")
        path = [part for part in parts.path.split("/") if part]
        if path[:2] != ["v1", "commands"]:
            return self._fault(404, "Not found")
        with self._lock:
            if method == "POST":
                return self._execute(json.loads(body or b""))
            if self.is_quick:
                self.finish()
            if path[2:]:
                found = [command for command in self._commands if command["id"] == path[2]]
                return (200, json.dumps(found[0]).encode()) if found else self._fault(404, "Requested object not found")
            return 200, json.dumps({"commands": self._commands}).encode()

    @staticmethod
    def _fault(status: int, text: str) -> tuple[int, bytes]:
        return status, json.dumps({"faultcode": "Client", "faultstring": text}).encode()

    def _execute(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        name = asked["name"].partition(".")[2]
        if any(command["command_status"] == "RUNNING" for command in self._commands):
            return self._fault(409, "Agent is busy")
        self.executed.append((asked["name"], asked["params"]))
        command = {
            "id": str(uuid.uuid4()),
            "command_name": name,
            "command_params": asked["params"],
            "command_status": "RUNNING",
            "command_error": None,
            "command_result": None,
        }
        self._commands.append(command)
        answer = dict(command)
        if name in _SYNCHRONOUS:
            self._end(command)
            answer = dict(command)
        return 200, json.dumps(answer).encode()

    def _end(self, command: dict[str, Any]) -> None:
        name = command["command_name"]
        if name in self.failures:
            error = {"type": "CommandExecutionError", "message": "Failed", "details": self.failures[name]}
            command.update(command_status=self.statuses.get(name, "FAILED"), command_error=error)
            return
        kind = name.removeprefix("get_").removesuffix("_steps")
        result = self.results.get(name)
        if name.startswith("execute_") and result is None:
            kind = name.removeprefix("execute_").removesuffix("_step")
            result = {f"{kind}_step": command["command_params"]["step"], f"{kind}_result": None}
        elif kind in self.steps:
            result = {f"{kind}_steps": {"Stub": self.steps[kind]}, "hardware_manager_version": self.versions}
        command.update(command_status=_FINISHED, command_result=result)

    # -- instead of a network ------------------------------------------------------------------------------------------

    def exchange(self, method: str, url: str, *, body: bytes | None = None, **options: Any) -> Answer:
        """See ``bounded_http.exchange``; ``image`` answers for servers of images."""
        if method == "HEAD":
            return self.image(url, **options)
        asked = json.loads(body) if body else None
        self.before(method, asked)
        if self.is_silent:
            raise _failure("timed out", sent=method != "POST")
        trouble = self.trouble.pop(asked["name"].partition(".")[2], None) if asked else None
        if trouble == "refused":
            raise _failure("Connection refused", sent=False)
        if trouble == "lost":
            raise _failure("timed out", sent=True)
        if trouble == "busy":
            return Answer(409, "Conflict", None, self._fault(409, "Agent is busy")[1])
        if isinstance(trouble, int):
            return Answer(trouble, "Trouble", None, self._fault(trouble, "it does not work")[1])
        status, content = self.handle(method, url[len(URL) :], body)
        self.after(method, asked)
        if trouble == "unanswered":
            raise _failure("timed out", sent=True)
        if trouble == "garbled":
            content = b"<html>"
        return Answer(status, "", None, content)

    # -- over a network ------------------------------------------------------------------------------------------------

    @contextmanager
    def serve(self, context: ssl.SSLContext | None = None) -> Iterator[int]:
        """Answer on 127.0.0.1, at the port that is yielded; with ``context``, by HTTPS."""
        agent = self

        class Handler(BaseHTTPRequestHandler):
            def _do(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
                asked = json.loads(body) if body else None
                # Who asks may be killed meanwhile, and a hook may break the connection off.
                with suppress(OSError):
                    agent.before(self.command, asked)
                    status, content = agent.handle(self.command, self.path, body)
                    agent.after(self.command, asked)
                    self._answer(status, content)

            do_GET = do_POST = _do  # noqa: N815 - their names are given

            def do_HEAD(self) -> None:
                """An image is here, too."""
                self._answer(200, b"")

            def _answer(self, status: int, content: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _failure(reason: str, *, sent: bool) -> CallFailed:
    failure = CallFailed(reason)
    failure.sent = sent
    return failure
