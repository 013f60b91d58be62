"""One browser for these tests, and the services that it visits. They are closed before other tests run: Playwright has
an event loop in this thread."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from shutil import copy
from threading import Thread

import pytest
from playwright.sync_api import Browser
from sqlalchemy import update
from werkzeug.serving import WSGIRequestHandler, make_server

from baremetal_sched.db.models import Webhook
from baremetal_sched.scheduling import capacity_history
from tests.clients.browser import chromium, fleets
from tests.functional.scheduling.happening import happen
from tests.numbered import number_all
from tests.service import Service


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The browser; tests that ask for it are skipped where it is not installed."""
    if chromium.program() is None:
        pytest.skip("there is no chromium here: install Debian's package chromium")
    with chromium.chromium() as running:
        yield running


@dataclass(frozen=True)
class Served:
    """A service in this process, and its address."""

    service: Service
    url: str


class _Quiet(WSGIRequestHandler):
    def log(self, *arguments: object) -> None:
        """Say nothing: the service logs requests itself."""


@contextmanager
def in_thread(service: Service) -> Iterator[Served]:
    """Serve the service on loopback."""
    server = make_server("127.0.0.1", 0, service.app, threaded=True, request_handler=_Quiet)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield Served(service, f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


FLEETS: dict[int, Callable[[Path], None]] = {
    0: lambda path: None,
    20: lambda path: fleets.twenty(f"sqlite:///{path}"),
    300: partial(fleets.large, size=300),
    fleets.SIZE: fleets.large,
}


@contextmanager
def _served(size: int, template: Path, folder: Path) -> Iterator[Served]:
    """A service over a copy of the empty database that has a fleet of this size."""
    path = folder / "fleet.sqlite"
    copy(template, path)
    path.chmod(0o600)
    FLEETS[size](path)
    with Service(f"sqlite:///{path}", api={"auth_strategy": "none"}) as service, in_thread(service) as served:
        if size:
            _add_a_past(service)
        yield served


def _add_a_past(service: Service) -> None:
    """Events, counts of machines, and a webhook that does not succeed."""
    node = service.baremetal("GET", "/nodes?limit=1").json["nodes"][0]
    data = json.dumps({"consumer": {"uuid": fleets.CLAIMED, "project_id": "p", "user_id": "u"}})
    happen(service, *[node["uuid"]] * 60, name=node["name"], user_id="0123456789abcdef" * 2, data=data)
    service.set_columns(node["uuid"], description="long words " * 30)
    number_all(service)
    service.database.change(capacity_history.write)
    service.http.post_json(
        "/scheduling/v1/webhooks", {"url": f"https://hooks.example.com/{'in' * 100}", "name": "chat"}
    )
    attempt = {
        "time": "2026-11-29T10:00:00Z",
        "status": 500,
        "duration": 0.5,
        "error": "It answered 500.",
        "event": "x",
    }
    values = {"attempts": [attempt] * 20, "parked": True, "last_error": attempt["error"]}
    service.database.write(lambda session: session.execute(update(Webhook).values(**values)) and None)


@pytest.fixture(scope="package")
def served(
    browser: Browser, sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], Served]]:
    """A service with a fleet of a size, the same each time that it is asked for."""
    with ExitStack() as stack:

        @cache
        def serve(size: int) -> Served:
            return stack.enter_context(_served(size, sqlite_template, tmp_path_factory.mktemp("fleet")))

        yield serve


@pytest.fixture(params=FLEETS, ids=lambda size: f"{size} nodes")
def fleet(request: pytest.FixtureRequest, served: Callable[[int], Served]) -> Served:
    """A service with a fleet of each size."""
    return served(request.param)


@pytest.fixture
def twenty(served: Callable[[int], Served]) -> Served:
    """A service with 20 nodes."""
    return served(20)
