"""The stage of the fault tests that kill things while clients are at work."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import KINDS
from tests.emptying import make_empty
from tests.fault.servers import SERVERS, Server, server
from tests.fault.troubles import SECONDS, Stage


@pytest.fixture
def stage(database_kind: str, sqlite_template: Path, tmp_path: Path) -> Iterator[Stage]:
    """The service, on a database of which the server is this test's own if the run is to be longer than a moment."""
    kind = next(iter(kind for kind, url in KINDS.items() if url == database_kind), "sqlite")
    with ExitStack() as stack:
        mine: Server | None = None
        if kind == "sqlite":
            url = f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'stage.sqlite')}"
        elif SECONDS and kind in SERVERS and SERVERS[kind].is_installed():
            mine = stack.enter_context(server(kind))
            url = mine.url
        else:
            url = database_kind
        if kind != "sqlite":
            make_empty(url)
        yield Stage(tmp_path, url, stack, mine)
