"""Both services, each behind gunicorn with one sync worker, and the client that calls them."""

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

from tests.benchmarks.stores import Store

ORIGINAL = "openstack-placement==16.0.0"
MICROVERSION = "placement 1.36"
_PATIENCE = 900

_ORIGINAL_WSGI = '''"""openstack-placement for gunicorn. Its settings are in OS_PLACEMENT_CONFIG_DIR."""

from placement.wsgi import init_application

application = init_application()
'''
_ORIGINAL_CONF = """[DEFAULT]
debug = false
default_log_levels = placement=WARNING,routes=WARNING,oslo_policy=WARNING

[api]
auth_strategy = noauth2

[placement_database]
connection = {connection}
sync_on_startup = {sync}
"""


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

    def __init__(self, port: int, mount: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        self._mount = mount
        self._headers = {"OpenStack-API-Version": MICROVERSION, "X-Auth-Token": "admin", "Accept": "application/json"}

    def call(self, method: str, path: str, body: Any = None, *, expect: int = 200) -> Answer:
        """The answer, once all of it is here, and how long that took. Raises Failed for any other status."""
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
        if answer.status != expect:
            said = " ".join(answer.body.decode(errors="replace").split())
            raise Failed(f"{method} {path}: {answer.status} {said[:200]}")
        return answer


@dataclass
class Server:
    """A gunicorn, from ``with`` to the end of it."""

    name: str
    python: Path
    application: str
    folder: Path
    mount: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [self.python, "-m", "gunicorn", "--workers", "1", "--worker-class", "sync", "--no-control-socket"]
        command += ["--timeout", str(_PATIENCE), "--bind", f"127.0.0.1:{port}", "--pythonpath", self.folder]
        command += ["--log-level", "warning", self.application]
        self.log = self.folder / f"{self.name}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(part) for part in command], env=os.environ | self.environment, stdout=log, stderr=log
            )
        self.client = Client(port, self.mount)
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


def ours(store: Store, folder: Path) -> Server:
    environment = {"OS_DATABASE__CONNECTION": store.url_of(), "OS_DEFAULT__LOG_LEVEL": "WARNING"}
    return Server("us", Path(sys.executable), "baremetal_sched.wsgi:app", folder, "/placement", environment)


def original(store: Store, folder: Path, python: Path) -> Server:
    _write_original(store, folder, sync=False)
    environment = {"OS_PLACEMENT_CONFIG_DIR": str(folder)}
    return Server("original", python, "original_wsgi:application", folder, environment=environment)


def make_schema_of_original(store: Store, folder: Path, python: Path) -> None:
    """Its migrations, and the standard names: it does so when it starts."""
    _write_original(store, folder, sync=True)
    environment = os.environ | {"OS_PLACEMENT_CONFIG_DIR": str(folder), "PYTHONPATH": str(folder)}
    done = subprocess.run([python, "-c", "import original_wsgi"], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{ORIGINAL} cannot make its schema:\n{done.stderr[-3000:]}")


def _write_original(store: Store, folder: Path, *, sync: bool) -> None:
    (folder / "original_wsgi.py").write_text(_ORIGINAL_WSGI)
    settings = _ORIGINAL_CONF.format(connection=store.url_of("psycopg2").replace("%", "%%"), sync=str(sync).lower())
    (folder / "placement.conf").write_text(settings)


def install_original(folder: Path) -> Path:
    """A Python that has the original, its drivers and our version of gunicorn; installed if it is not there yet."""
    python = folder / "bin" / "python"
    complete = folder / "complete"
    wanted = [ORIGINAL, "SQLAlchemy<2.1", "PyMySQL", "psycopg2-binary", f"gunicorn=={version('gunicorn')}"]
    if complete.exists() and complete.read_text().split() == wanted:
        return python
    print(f"Installing {ORIGINAL} into {folder}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "-qq", *wanted], check=True)
    complete.write_text("\n".join(wanted))
    return python
