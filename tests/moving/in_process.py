"""Requests to a WSGI application in this process. Standard library only: the originals' Pythons import it."""

import io
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote

Application = Callable[..., Iterable[bytes]]


def ask(app: Application, method: str, path: str, headers: dict[str, str], body: Any = None) -> tuple[int, Any]:
    """Make a request; return the status, and the document of the answer or its text."""
    data = json.dumps(body).encode() if body is not None else b""
    path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote(path),
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "HTTP_HOST": "localhost",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(data),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "CONTENT_LENGTH": str(len(data)),
        **({"CONTENT_TYPE": "application/json"} if data else {}),
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
    }
    said: list[str] = []
    answer = b"".join(app(environ, lambda status, headers, error=None: said.append(status)))
    try:
        document = json.loads(answer) if answer else None
    except ValueError:
        document = answer.decode()
    return int(said[0].split()[0]), document


def answer_all(app: Application) -> None:
    """Read lines ``{"headers": …, "paths": […]}``, and write ``{path: [status, document]}`` for each."""
    output, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        wanted = json.loads(line)
        print(
            json.dumps({path: ask(app, "GET", path, wanted["headers"]) for path in wanted["paths"]}),
            file=output,
            flush=True,
        )
