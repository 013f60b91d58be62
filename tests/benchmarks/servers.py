"""Both services, each behind gunicorn with sync workers, and the client that calls them."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.names import sync_standard_names
from baremetal_sched.settings import load
from tests.benchmarks.stores import Store

_PATIENCE = 900


class Failed(Exception):
    """A request was not answered as it should have been."""


@dataclass
class Answer:
    status: int
    body: bytes
    seconds: float

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One HTTP client that keeps its connection for as long as the server does."""

    def __init__(self, port: int, mount: str, headers: dict[str, str]) -> None:
        self._port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        self._mount = mount
        self._headers = {"Accept": "application/json", **headers}

    def another(self) -> "Client":
        """A client like this one, with a connection of its own."""
        return Client(self._port, self._mount, self._headers)

    def call(self, method: str, path: str, body: Any = None, *, expect: int = 200) -> Answer:
        """Like ``ask``. Raises Failed for any other status."""
        answer = self.ask(method, path, body)
        if answer.status != expect:
            said = " ".join(answer.body.decode(errors="replace").split())
            raise Failed(f"{method} {path}: {answer.status} {said[:200]}")
        return answer

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """The answer, once all of it is here, and how long that took. Raises Failed if there is none."""
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        started = time.perf_counter()
        try:
            self._connection.request(method, self._mount + path, data, headers)
            response = self._connection.getresponse()
            answer = Answer(response.status, response.read(), time.perf_counter() - started)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Failed(f"{method} {path}: {error!r}") from error
        return answer


@dataclass
class Server:
    """A gunicorn, from ``with`` to the end of it."""

    name: str
    python: Path
    application: str
    folder: Path
    mount: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    workers: int = 1

    def __enter__(self) -> Self:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            self.python,
            "-m",
            "gunicorn",
            "--workers",
            self.workers,
            "--worker-class",
            "sync",
            "--no-control-socket",
        ]
        command += [
            "--timeout",
            str(_PATIENCE),
            "--graceful-timeout",
            "5",
            "--bind",
            f"127.0.0.1:{port}",
            "--pythonpath",
            self.folder,
        ]
        command += ["--log-level", "warning", self.application]
        self.log = self.folder / f"{self.name}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command], env=os.environ | self.environment, stdout=log, stderr=log
            )
        self.client = Client(port, self.mount, self.headers)
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self) -> None:
        for _ in range(600):
            try:
                self.client.call("GET", "/")
            except Failed as error:
                if self.process.poll() is not None or "OSError" not in repr(error.__cause__.__class__.__mro__):
                    raise Failed(f"{self.name} does not start ({error}); see {self.log}") from error
                time.sleep(0.1)
            else:
                return
        raise Failed(f"{self.name} does not answer; see {self.log}")

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait(30)


def ours(store: Store, folder: Path, mount: str, headers: dict[str, str]) -> Server:
    """Our service over a database that has its schema; the client calls the API at ``mount``."""
    environment = {
        "OS_API__AUTH_STRATEGY": "none",
        "OS_DATABASE__CONNECTION": store.url_of(),
        "OS_DEFAULT__LOG_LEVEL": "WARNING",
    }
    return Server("us", Path(sys.executable), "baremetal_sched.wsgi:app", folder, mount, headers, environment)


def make_schema_of_ours(store: Store) -> None:
    """Our migrations, and the standard names."""
    database = Database(load(overrides={"database": {"connection": store.url_of()}}))
    schema.upgrade(database.engine)
    database.write(sync_standard_names)
    database.dispose()


def install(original: str, folder: Path, *, mysqlclient: bool = True) -> Path:
    """A Python that has the original (a requirement of pip), drivers and our version of gunicorn; installed if it is
    not there yet. ``mysqlclient``, a driver that is compiled, may be left out."""
    python = folder / "bin" / "python"
    complete = folder / "complete"
    wanted = [
        original,
        "SQLAlchemy<2.1",
        "PyMySQL",
        *(["mysqlclient"] if mysqlclient else []),
        "psycopg2-binary",
        f"gunicorn=={version('gunicorn')}",
    ]
    if complete.exists() and complete.read_text().split() == wanted:
        return python
    print(f"Installing {original} into {folder}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "-qq", *wanted], check=True)
    complete.write_text("\n".join(wanted))
    return python
