"""The stage of the fault tests that kill things while clients are at work."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.databases import WorkerDatabases, make_empty
from tests.fault.servers import SERVERS, Server, server
from tests.fault.troubles import SECONDS, Stage


@pytest.fixture
def stage(
    database_kind: str, worker_databases: WorkerDatabases, sqlite_template: Path, tmp_path: Path
) -> Iterator[Stage]:
    """The service, on a database of which the server is this test's own if the run is to be longer than a moment."""
    with ExitStack() as stack:
        mine: Server | None = None
        if database_kind == "sqlite":
            url = f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'stage.sqlite')}"
        elif SECONDS and database_kind in SERVERS and SERVERS[database_kind].is_installed():
            mine = stack.enter_context(server(database_kind))
            url = mine.url
            make_empty(url)
        else:
            found = worker_databases(database_kind)
            found.make_empty()
            url = found.url
        yield Stage(tmp_path, url, stack, mine)
