"""What all tests share: databases, and the service over them.

Every test that asks for ``database_url`` (and so for ``service``) runs on SQLite, and on each database that
TEST_DATABASE_URLS names (URLs separated by blanks; their tables are dropped and made anew), unless it has the mark
``sqlite_only``. Tests of requests and of conductors run on one of those databases each, unless TEST_EVERY_DATABASE is
set: what databases do differently is tested in the other folders.
"""

import io
import logging
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import pymysql
import pytest
import structlog
from oslo_policy import policy
from xdist.scheduler import LoadScopeScheduling

from baremetal_sched import logs
from baremetal_sched.app import settle
from baremetal_sched.db import schema
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.names import sync_standard_names
from baremetal_sched.settings import load
from tests import built_once, compiled, emptying, examples, fast_path, leaks
from tests.service import Service
from tests.slowness import Slowness

SERVERS = os.environ.get("TEST_DATABASE_URLS", "").split()


#: URLs of the servers' databases, by how their tests are called.
KINDS = {url.split(":")[0].split("+")[0]: url for url in SERVERS}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Slowness())
    examples.choose(few=config.option.markexpr == "not slow")


def pytest_collection_finish() -> None:
    """Garbage is collected as in production: not among thousands of tests, again and again."""
    settle()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database_kind" in metafunc.fixturenames:
        kinds = _servers_of(metafunc.definition)
        metafunc.parametrize("database_kind", ["sqlite", *kinds.values()], ids=["sqlite", *kinds])


def _servers_of(definition: Any) -> Mapping[str, str]:
    """The servers that a test runs on, by kind."""
    if definition.get_closest_marker("sqlite_only"):
        return {}
    if not KINDS or "TEST_EVERY_DATABASE" in os.environ or not definition.nodeid.startswith(_ON_ONE_SERVER):
        return KINDS
    kind = sorted(KINDS)[crc32(definition.nodeid.encode()) % len(KINDS)]
    return {kind: KINDS[kind]}


#: Folders of tests that run on one server each.
_ON_ONE_SERVER = tuple(
    f"tests/functional/{name}/"
    for name in ("baremetal", "compute", "conductor", "fuzz", "image", "scheduling", "tenants", "ui")
)


#: Tests that share what takes long to start: one process has them all.
_TOGETHER = ("tests/clients/nova/", "tests/clients/keystone/", "tests/clients/browser/")


class _OneWorkerPerServer(LoadScopeScheduling):
    """Any test in any process, but for those of a server: they empty its database, so one process has them all."""

    def _split_scope(self, nodeid: str) -> str:
        for folder in _TOGETHER:
            if nodeid.startswith(folder):
                return folder
        _, _, parameters = nodeid.partition("[")
        kinds = (part for part in re.split(r"[-\]]", parameters) if part in KINDS)
        return next(kinds, nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _OneWorkerPerServer:
    return _OneWorkerPerServer(config, log)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with schema and standard names, to be copied."""
    path = tmp_path_factory.mktemp("template") / "template.sqlite"
    database = Database(load(overrides={"database": {"connection": f"sqlite:///{path}"}}))
    schema.upgrade(database.engine)
    database.write(sync_standard_names)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.dispose()
    return path


@pytest.fixture(scope="session")
def sqlite_template_with_conductor(sqlite_template: Path) -> bytes:
    """The same, with the entry of a conductor c1 in the default group."""
    path = sqlite_template.with_name("conductor.sqlite")
    path.touch(mode=0o600)
    path.write_bytes(sqlite_template.read_bytes())
    with Service(f"sqlite:///{path}") as service:
        service.add_conductor("c1")
    return path.read_bytes()


@pytest.fixture(scope="session")
def servers() -> Iterator[Mapping[str, emptying.Server]]:
    """The databases of TEST_DATABASE_URLS, by URL, each with a connection that stays."""
    found = {url: emptying.Server(url) for url in SERVERS}
    yield found
    for server in found.values():
        server.close()


@pytest.fixture
def database_url(
    database_kind: str, sqlite_template: Path, servers: Mapping[str, emptying.Server], tmp_path: Path
) -> Iterator[str]:
    """URL of an empty database with schema and standard names."""
    if database_kind == "sqlite":
        path = tmp_path / "test.sqlite"
        path.touch(mode=0o600)
        path.write_bytes(sqlite_template.read_bytes())
        yield f"sqlite:///{path}"
    else:
        servers[database_kind].make_empty()
        yield database_kind


@pytest.fixture(scope="session", autouse=True)
def search_with_or_without_fast_path() -> Iterator[None]:
    """With TEST_FAST_PATH=off candidates are searched for without the fast path."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in fast_path.ENVIRONMENT.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates() -> Iterator[None]:
    """Read the system's certificates once: PyMySQL reads them for each connection, a tenth of the time of tests."""
    original, contexts = pymysql.Connection._create_ssl_ctx, list[Any]()

    def create(connection: Any, options: Any) -> Any:
        if options:
            return original(connection, options)
        if not contexts:
            contexts.append(original(connection, options))
        return contexts[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pymysql.Connection, "_create_ssl_ctx", create)
        yield


@pytest.fixture
def service(
    database_kind: str, database_url: str, sqlite_template_with_conductor: bytes, tmp_path: Path
) -> Iterator[Service]:
    """The service, in process, with one live conductor in the default group."""
    if database_kind == "sqlite":
        (tmp_path / "test.sqlite").write_bytes(sqlite_template_with_conductor)
    with Service(database_url) as running:
        if database_kind == "sqlite":
            running.resume_conductor("c1")
        else:
            running.add_conductor("c1")
        yield running


@pytest.fixture(scope="session", autouse=True)
def watched() -> Iterator[None]:
    """Logs are as they are in production, and watched, as requests are."""
    logs.configure(load())
    logging.getLogger().handlers.clear()
    with leaks.watched():
        yield


@pytest.fixture(scope="session", autouse=True)
def compiled_statements() -> Iterator[None]:
    """What is compiled for one test is there for the others."""
    with compiled.shared():
        yield


@pytest.fixture(scope="session", autouse=True)
def worlds_built_once() -> Iterator[None]:
    """What ``built_once`` keeps, it keeps until the end."""
    yield
    built_once.forget()


@pytest.fixture(scope="session", autouse=True)
def rules_checked_once() -> Iterator[None]:
    """Search the default rules of policies for circles once, and not again for the applications of each test."""
    original, checked = policy.Enforcer.check_rules, set[frozenset[str]]()

    def check_rules(enforcer: policy.Enforcer, *arguments: Any, **named: Any) -> bool:
        names = frozenset(enforcer.rules)
        if names in checked and not enforcer.file_rules:
            return True
        is_right: bool = original(enforcer, *arguments, **named)
        if is_right and not enforcer.file_rules:
            checked.add(names)
        return is_right

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy.Enforcer, "check_rules", check_rules)
        yield


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """No secret that a test sends is said again."""
    leaks.WATCH.begin(answers_may=request.node.get_closest_marker("shows_secrets") is not None)
    root = logging.getLogger()
    root.addHandler(leaks.WATCH)
    yield
    root.removeHandler(leaks.WATCH)
    assert leaks.WATCH.found == []


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What is logged meanwhile, as JSON lines."""
    root = logging.getLogger()
    before, level, config = root.handlers[:], root.level, structlog.get_config()
    logs.configure(load())
    written = io.StringIO()
    root.handlers[0].setStream(written)  # type: ignore[attr-defined]
    yield written
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**config)
