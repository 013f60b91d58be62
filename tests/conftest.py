"""Fixtures for all tests: databases, and the service over them.

A test that asks for ``database_url`` (and so for ``service``) runs on SQLite, and on each server in TEST_DATABASE_URLS
(URLs separated by blanks) if it is in ``databases.ON_SERVERS``: each worker makes a database of its own beside the one
that is named. With TEST_EVERY_DATABASE all tests do, except those with the mark ``sqlite_only``.
"""

import io
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pymysql
import pytest
import structlog
from oslo_policy import policy
from xdist.scheduler import LoadScopeScheduling

from baremetal_sched import logs
from baremetal_sched.app import settle
from baremetal_sched.settings import load
from tests import (
    applications,
    built_once,
    compiled,
    databases,
    event_members,
    examples,
    fast_path,
    leaks,
    named_errors,
    shares,
    slowness,
    tiers,
)
from tests.counts import Counts
from tests.service import Service
from tests.slowness import Slowness

SERVERS = os.environ.get("TEST_DATABASE_URLS", "").split()


#: URLs of the servers' databases, by how their tests are called.
KINDS = {url.split(":")[0].split("+")[0]: url for url in SERVERS}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Slowness())
    config.pluginmanager.register(Counts())
    config.pluginmanager.register(shares)
    examples.choose(few=config.option.markexpr == tiers.MARKS["first"])


def pytest_collection_finish() -> None:
    """Garbage is collected as in production: not among thousands of tests, again and again."""
    settle()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database_kind" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", ["sqlite", *_servers_of(metafunc.definition)])


def _servers_of(definition: Any) -> Iterable[str]:
    """The kinds of servers that a test runs on."""
    if definition.get_closest_marker("sqlite_only") is not None:
        return ()
    return KINDS if definition.nodeid.startswith(databases.ON_SERVERS) or "TEST_EVERY_DATABASE" in os.environ else ()


#: Tests that share what takes long to start: one process has them all.
_TOGETHER = ("tests/clients/nova/", "tests/clients/keystone/", "tests/clients/browser/")


class _Together(LoadScopeScheduling):
    """Any test in any process, except tests that share a fixture of their module or something that takes long to
    start."""

    def _split_scope(self, nodeid: str) -> str:
        for folder in _TOGETHER:
            if nodeid.startswith(folder):
                return folder
        module = nodeid.partition("::")[0]
        return module if _has_fixture_of_module(module) else nodeid


@cache
def _has_fixture_of_module(module: str) -> bool:
    return 'scope="module"' in (Path(__file__).parent.parent / module).read_text()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Together:
    return _Together(config, log)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with schema and standard names, to be copied."""
    path = tmp_path_factory.mktemp("template") / "template.sqlite"
    databases.template(path)
    return path


@pytest.fixture(scope="session")
def worker_databases(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[databases.WorkerDatabases]:
    """This worker's databases, by kind, each made when it is first asked for."""
    shared = tmp_path_factory.getbasetemp().parent
    with ExitStack() as stack:

        @cache
        def made(kind: str) -> databases.TestDatabase:
            if kind == "sqlite":
                path = tmp_path_factory.mktemp("database") / "test.sqlite"
                found: databases.TestDatabase = databases.SqliteFile(path, sqlite_template.read_bytes())
            elif worker_id == "master":
                found = databases.ServerDatabase(KINDS[kind])
            else:
                url = stack.enter_context(databases.of_worker(KINDS[kind], worker_id, shared))
                found = databases.ServerDatabase(url)
            stack.callback(found.close)
            return found

        yield made
        applications.forget()


@pytest.fixture
def test_database(database_kind: str, worker_databases: databases.WorkerDatabases) -> databases.TestDatabase:
    """An empty database with schema and standard names."""
    found = worker_databases(database_kind)
    found.make_empty()
    return found


@pytest.fixture
def database_url(test_database: databases.TestDatabase) -> str:
    """URL of an empty database with schema and standard names."""
    return test_database.url


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


@pytest.fixture(scope="session")
def conductor_rows(worker_databases: databases.WorkerDatabases) -> databases.ConductorRows:
    """The entry of a conductor c1 in the default group."""
    database = worker_databases("sqlite")
    database.make_empty()
    with Service(database.url) as service:
        service.add_conductor("c1")
        return database.read_conductors()


@pytest.fixture
def service(conductor_rows: databases.ConductorRows, test_database: databases.TestDatabase) -> Iterator[Service]:
    """The service, in process, with one live conductor in the default group."""
    test_database.enter_conductors(conductor_rows)
    with Service(test_database.url) as running:
        running.resume_conductor("c1")
        yield running


@pytest.fixture(scope="session", autouse=True)
def watched() -> Iterator[None]:
    """Logs are as they are in production, and watched, as requests and events are."""
    logs.configure(load())
    logging.getLogger().handlers.clear()
    with leaks.watched(), event_members.watched(), named_errors.watched():
        yield


@pytest.fixture(scope="session", autouse=True)
def counted() -> Iterator[None]:
    """The cost of tests is counted."""
    yield from slowness.counting()


@pytest.fixture(scope="session", autouse=True)
def compiled_statements() -> Iterator[None]:
    """Statements that are compiled for one test are there for the others."""
    with compiled.shared():
        yield


@pytest.fixture(scope="session", autouse=True)
def worlds_built_once() -> Iterator[None]:
    """Keep the worlds of ``built_once`` until the end."""
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
def nothing_found(request: pytest.FixtureRequest) -> Iterator[None]:
    """No secret that a test sends is said again, and each event is as the row of its type says."""
    event_members.FOUND.clear()
    leaks.WATCH.begin(answers_may=request.node.get_closest_marker("shows_secrets") is not None)
    root = logging.getLogger()
    root.addHandler(leaks.WATCH)
    yield
    root.removeHandler(leaks.WATCH)
    assert leaks.WATCH.found == event_members.FOUND == []


@pytest.fixture(autouse=True)
def no_errors_without_name(request: pytest.FixtureRequest) -> Iterator[None]:
    """Routes of the scheduling API name the errors that a test gets there."""
    named_errors.FOUND.clear()
    yield
    assert named_errors.FOUND == [], request.node.nodeid


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """The log lines meanwhile, as JSON. Applications are new ones, which log their start."""
    applications.forget()
    root = logging.getLogger()
    before, level, config = root.handlers[:], root.level, structlog.get_config()
    logs.configure(load())
    written = io.StringIO()
    root.handlers[0].setStream(written)  # type: ignore[attr-defined]
    yield written
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**config)
