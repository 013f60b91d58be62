"""The two that are compared: something that answers over HTTP and can be made empty."""

import http.client
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from baremetal_sched.app import with_middleware
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.api.edge import PlacementApi
from baremetal_sched.placement.names import sync_standard_names
from baremetal_sched.settings import load
from baremetal_sched.web.application import build
from tests import databases
from tests.conformance.differential.calls import Answer, Call, Known
from tests.conformance.differential.serving import Served
from tests.waiting import PATIENCE


class Side:
    """A server on ``port``; ``make_empty`` starts it anew."""

    def __init__(self, name: str, port: int, make_empty: Callable[[], None]) -> None:
        self.name = name
        self._port = port
        self._make_empty = make_empty
        self.known = Known()

    def reset(self) -> None:
        """Forget everything."""
        self._make_empty()
        self.known = Known()

    def send(self, call: Call) -> Answer:
        """Make the call, and learn the generations that are answered."""
        text = call.text(self.known)
        headers = dict(call.headers)
        if call.version is not None:
            headers["OpenStack-API-Version"] = f"placement {call.version}"
        if text is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        headers = {name: value for name, value in headers.items() if value}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(call.method, call.path, text.encode() if text is not None else None, headers)
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            answer = Answer(response.status, received, response.read().decode())
        finally:
            connection.close()
        self.known.learn(call, answer)
        return answer


@contextmanager
def ours(folder: Path, url: str | None = None) -> Iterator[Side]:
    """Our own service in this process, its Placement API at the root, over the database at ``url``, whose rows are
    deleted; or over a SQLite file in ``folder``."""
    path = folder / "ours.sqlite"
    settings = load(
        overrides={
            "database": {"connection": url or f"sqlite:///{path}"},
            "api": {"auth_strategy": "noauth2"},
            "oslo_policy": {"enforce_new_defaults": False, "policy_file": "/nonexistent/policy.yaml"},
        }
    )
    database = Database(settings)
    make_empty = partial(databases.make_empty, url) if url else _restoring(database, path)
    served = Served()
    app: Any = with_middleware(build(PlacementApi(settings), database), settings)
    served.app = app
    try:
        yield Side("ours", served.port, make_empty)
    finally:
        served.close()
        database.dispose()


def _restoring(database: Database, path: Path) -> Callable[[], None]:
    """Fill the SQLite file at ``path`` with schema and standard names."""
    schema.upgrade(database.engine)
    database.write(sync_standard_names)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.dispose()
    template = path.read_bytes()

    def restore() -> None:
        database.dispose()
        for rest in path.parent.glob(f"{path.name}*"):
            rest.unlink()
        path.write_bytes(template)

    return restore


@contextmanager
def original(python: str, folder: Path) -> Iterator[Side]:
    """OpenStack Placement in a process of ``python``, which has it installed."""
    script = Path(__file__).with_name("original.py")
    with (
        (folder / "original.log").open("w") as log,
        subprocess.Popen(
            [python, script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        reads, writes = process.stdout, process.stdin

        def ready() -> int:
            line = reads.readline()
            assert line.startswith("ready "), (folder / "original.log").read_text()
            return int(line.split()[1])

        def make_empty() -> None:
            writes.write("\n")
            writes.flush()
            ready()

        try:
            yield Side("original", ready(), make_empty)
        finally:
            writes.close()
            process.wait(PATIENCE)
