"""What all tests share: databases, and the service over them.

Every test that asks for ``database_url`` (and so for ``service``) runs on SQLite, and on each database that
TEST_DATABASE_URLS names (URLs separated by blanks; their tables are dropped and made anew), unless it has the mark
``sqlite_only``.
"""

import io
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
import structlog
from sqlalchemy import create_engine, func, select, text
from xdist.scheduler import LoadScopeScheduling

from baremetal_sched import logs
from baremetal_sched.db import schema
from baremetal_sched.db.engine import database_url as normal_url
from baremetal_sched.db.models import Base, ResourceClass, Trait
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.names import STANDARD_CLASSES, STANDARD_TRAITS, sync_standard_names
from baremetal_sched.settings import load
from tests import leaks
from tests.service import Service

SERVERS = os.environ.get("TEST_DATABASE_URLS", "").split()


#: URLs of the servers' databases, by how their tests are called.
KINDS = {url.split(":")[0].split("+")[0]: url for url in SERVERS}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database_kind" in metafunc.fixturenames:
        kinds = {} if metafunc.definition.get_closest_marker("sqlite_only") else KINDS
        metafunc.parametrize("database_kind", ["sqlite", *kinds.values()], ids=["sqlite", *kinds])


#: Tests that share what takes long to start: one process has them all.
_TOGETHER = ("tests/clients/nova/", "tests/clients/keystone/")


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


@pytest.fixture
def database_url(database_kind: str, sqlite_template: Path, tmp_path: Path) -> Iterator[str]:
    """URL of an empty database with schema and standard names."""
    if database_kind == "sqlite":
        path = tmp_path / "test.sqlite"
        path.touch(mode=0o600)
        path.write_bytes(sqlite_template.read_bytes())
        yield f"sqlite:///{path}"
    else:
        make_empty(database_kind)
        yield database_kind


def make_empty(url: str) -> None:
    """Empty the tables that tests fill; the schema and the standard names are made when they are missing."""
    settings = load(overrides={"database": {"connection": url}})
    database = Database(settings)
    if schema.current(database.engine) != schema.head():
        _drop_everything(url)
        schema.upgrade(database.engine)
    _delete_rows(database)
    with database.engine.connect() as connection:
        there = [connection.scalar(select(func.count()).select_from(model)) for model in (Trait, ResourceClass)]
    if there != [len(STANDARD_TRAITS), len(STANDARD_CLASSES)]:
        database.write(sync_standard_names)
    database.dispose()


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


def _delete_rows(database: Database) -> None:
    kept = {"traits", "resource_classes", "schema_state"}  # the standard names stay
    statements = [
        "UPDATE resource_providers SET parent_id = NULL, root_id = NULL",
        *(f"DELETE FROM {table.name}" for table in reversed(Base.metadata.sorted_tables) if table.name not in kept),
        *(f"DELETE FROM {table} WHERE name LIKE 'CUSTOM!_%' ESCAPE '!'" for table in ("resource_classes", "traits")),
    ]
    with database.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def _drop_everything(url: str) -> None:
    engine = create_engine(normal_url(url))
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        else:
            connection.execute(text("SET FOREIGN_KEY_CHECKS = 0"))
            for (table,) in connection.execute(text("SHOW TABLES")).all():
                connection.execute(text(f"DROP TABLE `{table}`"))
    engine.dispose()


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    """The service, in process, with one live conductor in the default group."""
    with Service(database_url) as running:
        running.add_conductor("c1")
        yield running


@pytest.fixture(scope="session", autouse=True)
def watched() -> Iterator[None]:
    """Logs are as they are in production, and watched, as requests are."""
    logs.configure(load())
    logging.getLogger().handlers.clear()
    with leaks.watched():
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
