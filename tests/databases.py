"""Databases of tests: each worker has one on each server, and a file of SQLite.

Between tests they are emptied: the rows that a test left are deleted before the next, and missing rows are made again.
Nearly all tables are empty already: one statement says which are not.
"""

import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, insert, make_url, select, text
from sqlalchemy.exc import DBAPIError

from baremetal_sched.db import schema, schema_state
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.engine import database_url
from baremetal_sched.db.models import Base, Conductor, ConductorHardwareType, ConductorInterface, table_of
from baremetal_sched.db.transaction import Database
from baremetal_sched.placement.names import STANDARD_CLASSES, standard_traits, sync_standard_names
from baremetal_sched.settings import load
from tests import applications

_KEPT = {"traits", "resource_classes", "schema_state", "event_stream"}  # the standard names stay
#: Those whose rows belong to others first.
_TABLES = [table.name for table in reversed(Base.metadata.sorted_tables) if table.name not in _KEPT]
_CUSTOM = "name LIKE 'CUSTOM!_%' ESCAPE '!'"

_FILLED = text(
    " UNION ALL ".join(
        f"SELECT '{table}' FROM (SELECT 1 AS one) AS row_{place} WHERE EXISTS (SELECT 1 FROM {table})"
        for place, table in enumerate(_TABLES)
    )
)
_STATE = text(
    "SELECT (SELECT version_num FROM alembic_version), (SELECT count(*) FROM traits),"
    f" (SELECT count(*) FROM resource_classes), (SELECT count(*) FROM traits WHERE {_CUSTOM}),"
    f" (SELECT count(*) FROM resource_classes WHERE {_CUSTOM}), (SELECT served_since FROM schema_state)"
)
#: Which files and tests also run on the servers that TEST_DATABASE_URLS names: where the database matters.
ON_SERVERS = (
    "tests/clients/test_parallel_claims.py",
    "tests/database/",
    "tests/fault/",
    "tests/functional/baremetal/test_allocations.py",
    "tests/functional/baremetal/test_long_reasons.py",
    "tests/functional/baremetal/test_node_list.py",
    "tests/functional/baremetal/test_recorded_keys.py",
    "tests/functional/baremetal/test_traits.py",
    "tests/functional/baremetal/test_waiting_allocations.py",
    "tests/functional/compute/test_booting.py::test_machines_that_others_are_about_to_take",
    "tests/functional/compute/test_server_groups.py",
    "tests/functional/compute/test_waiting_group_members.py",
    "tests/functional/compute/test_waiting_servers.py::test_a_deletion_waits_for_the_hand_over",
    "tests/functional/conductor/test_call_watch.py",
    "tests/functional/conductor/test_clocks.py",
    "tests/functional/conductor/test_site_clocks.py",
    "tests/functional/conductor/test_daemon.py",
    "tests/functional/conductor/test_known_nodes.py",
    "tests/functional/conductor/test_life_statements.py",
    "tests/functional/conductor/test_lost_races.py",
    "tests/functional/conductor/test_reconciliation.py",
    "tests/functional/fuzz/test_every_route.py",
    "tests/functional/placement/test_allocations.py",
    "tests/functional/placement/test_candidates",
    "tests/functional/placement/test_hard_requests.py",
    "tests/functional/placement/test_indivisible_trees.py",
    "tests/functional/placement/test_many_conditions.py",
    "tests/functional/placement/test_providers.py",
    "tests/functional/placement/test_providers_of_nodes.py::test_nothing_but_its_class_can_be_claimed_of_a_node",
    "tests/functional/placement/test_races.py",
    "tests/functional/placement/test_usages.py",
    "tests/functional/scheduling/test_capacity.py",
    "tests/functional/scheduling/test_closing.py",
    "tests/functional/scheduling/test_domains",
    "tests/functional/scheduling/test_failovers.py",
    "tests/functional/scheduling/test_events",
    "tests/functional/scheduling/test_fair_turns.py",
    "tests/functional/scheduling/test_gathering.py",
    "tests/functional/scheduling/test_gathering_turns.py",
    "tests/functional/scheduling/test_handover.py",
    "tests/functional/scheduling/test_hidden_holds.py::test_rules_about_types_hide_these_types",
    "tests/functional/scheduling/test_newcomers.py",
    "tests/functional/scheduling/test_project_admins.py",
    "tests/functional/scheduling/test_recorded_statements.py",
    "tests/functional/scheduling/test_several.py",
    "tests/functional/scheduling/test_shared_resources.py",
    "tests/functional/scheduling/test_shares.py",
    "tests/functional/scheduling/test_stored_requests.py",
    "tests/functional/scheduling/test_uuids_of_requests.py",
    "tests/functional/scheduling/test_webhook",
    "tests/functional/test_concurrency.py",
    "tests/functional/test_database_errors.py",
    "tests/functional/test_health.py",
    "tests/functional/test_lost_races.py",
    "tests/functional/test_schema_guard.py",
    "tests/functional/test_sizes.py",
    "tests/moving/test_generated_rows.py",
    "tests/races/",
)
#: What a conductor enters when it registers.
_OF_CONDUCTORS = (Conductor, ConductorHardwareType, ConductorInterface)

ConductorRows = list[list[dict[str, Any]]]


def make_empty(url: str) -> None:
    """Empty the tables that tests fill; the schema and the standard names are made when they are missing."""
    with closing(ServerDatabase(url)) as database:
        database.make_empty()


class TestDatabase:
    """A database, and one connection to it that stays."""

    __test__ = False

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url
        self._engine = create_engine(database_url(url), pool_size=1, max_overflow=0, **options)

    def make_empty(self) -> None:
        """Delete all rows that tests enter; make the schema and the standard names if they are missing."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""
        self._engine.dispose()

    def read_conductors(self) -> ConductorRows:
        """Return the rows of all conductors."""
        with self._engine.connect() as connection:
            return [
                [dict(row) for row in connection.execute(select(table_of(kind))).mappings()] for kind in _OF_CONDUCTORS
            ]

    def enter_conductors(self, rows: ConductorRows) -> None:
        """Enter conductors, as if they had just registered."""
        with self._engine.begin() as connection:
            for kind, of_kind in zip(_OF_CONDUCTORS, rows, strict=True):
                statement = insert(table_of(kind))
                if kind is Conductor:
                    statement = statement.values(heartbeat_at=epoch())
                    of_kind = [{name: row[name] for name in row if name != "heartbeat_at"} for row in of_kind]
                connection.execute(statement, of_kind)

    def _delete_rows(self) -> bool:
        """Return whether the schema is of this release, and all standard names are there."""
        try:
            with self._engine.begin() as connection:
                return _delete_rows(connection)
        except DBAPIError:  # there are no tables
            return False


#: A worker's databases, by kind.
WorkerDatabases = Callable[[str], TestDatabase]


class SqliteFile(TestDatabase):
    """A file of SQLite, which begins as a copy of ``template``."""

    def __init__(self, path: Path, template: bytes) -> None:
        super().__init__(f"sqlite:///{path}", pool_pre_ping=False)
        event.listen(self._engine, "connect", applications.never_wait_for_the_disk)
        self._path, self._template = path, template
        self._identity: tuple[int, int] | None = None

    def make_empty(self) -> None:
        """Delete all rows that tests enter; write the file anew if a test replaced it, or changed its schema."""
        if self._identity is None or self._read_identity() != self._identity or not self._delete_rows():
            self._write()

    def _read_identity(self) -> tuple[int, int] | None:
        with suppress(OSError, DBAPIError):
            inode = self._path.stat().st_ino
            with self._engine.connect() as connection:
                return inode, connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
        return None

    def _write(self) -> None:
        applications.forget()
        self._engine.dispose()
        for rest in self._path.parent.glob(f"{self._path.name}*"):
            rest.unlink()
        self._path.touch(mode=0o600)
        self._path.write_bytes(self._template)
        self._identity = self._read_identity()


class ServerDatabase(TestDatabase):
    """A database on a server."""

    def __init__(self, url: str) -> None:
        is_sqlite = make_url(url).get_backend_name() == "sqlite"
        super().__init__(url, pool_pre_ping=True, **({} if is_sqlite else {"isolation_level": "READ COMMITTED"}))

    def make_empty(self) -> None:
        """Empty the tables that tests fill; the schema and the standard names are made when they are missing."""
        if not self._delete_rows():
            self._make_anew()

    def _make_anew(self) -> None:
        with closing(_Opened(self.url)) as opened:
            if schema.current(opened.database.engine) != schema.head():
                self._drop_everything()
                schema.upgrade(opened.database.engine)
            if not self._delete_rows():
                opened.database.write(sync_standard_names)

    def _drop_everything(self) -> None:
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("DROP SCHEMA public CASCADE"))
                connection.execute(text("CREATE SCHEMA public"))
            else:
                connection.execute(text("SET FOREIGN_KEY_CHECKS = 0"))
                for (table,) in connection.execute(text("SHOW TABLES")).all():
                    connection.execute(text(f"DROP TABLE `{table}`"))
                connection.execute(text("SET FOREIGN_KEY_CHECKS = 1"))


class _Opened:
    def __init__(self, url: str) -> None:
        self.database = Database(load(overrides={"database": {"connection": url}}))

    def close(self) -> None:
        self.database.dispose()


def template(path: Path) -> bytes:
    """Make a file of SQLite with the schema and the standard names; return its content."""
    path.touch(mode=0o600)
    with closing(_Opened(f"sqlite:///{path}")) as opened:
        schema.upgrade(opened.database.engine)
        opened.database.write(sync_standard_names)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@contextmanager
def of_worker(url: str, worker: str, folder: Path) -> Iterator[str]:
    """Make a database for the worker beside the one at ``url``; give its URL, and drop it at the end.

    ``folder`` is shared by the workers. On PostgreSQL the new database is a copy.
    """
    parsed = make_url(url)
    mine = parsed.set(database=f"{parsed.database}_{worker}")
    with _locked(folder / "databases"):
        _create(parsed, mine)
    yield mine.render_as_string(hide_password=False)
    applications.forget()
    _execute(parsed, *_drop(mine))


def _create(base: URL, mine: URL) -> None:
    if mine.get_backend_name() == "postgresql":
        make_empty(base.render_as_string(hide_password=False))
        _execute(base, *_drop(mine), f'CREATE DATABASE "{mine.database}" TEMPLATE "{base.database}"')
    else:
        _execute(base, *_drop(mine), f"CREATE DATABASE `{mine.database}` CHARACTER SET utf8mb4")


def _drop(url: URL) -> list[str]:
    if url.get_backend_name() == "postgresql":
        return [f'DROP DATABASE IF EXISTS "{url.database}" WITH (FORCE)']
    return [f"DROP DATABASE IF EXISTS `{url.database}`"]


def _execute(url: URL, *statements: str) -> None:
    """Execute statements on the server of ``url``, outside transactions."""
    server = url.set(database="postgres") if url.get_backend_name() == "postgresql" else url
    address = database_url(server.render_as_string(hide_password=False))
    engine = create_engine(address, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
    finally:
        engine.dispose()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _delete_rows(connection: Connection) -> bool:
    revision, traits, classes, custom_traits, custom_classes, served_since = connection.execute(_STATE).one()
    if revision != schema.head():
        return False
    if served_since != revision:  # a test of migrations left it like that
        schema_state.finish(connection, revision)
    filled = set(connection.scalars(_FILLED))
    if not filled.isdisjoint({"event_notes", "events"}):
        connection.execute(text("UPDATE event_stream SET last = 0, holder = NULL, held_until = 0"))
    if "resource_providers" in filled:
        connection.execute(text("UPDATE resource_providers SET parent_id = NULL, root_id = NULL"))
    if "domains" in filled:
        connection.execute(text("UPDATE domains SET parent_id = NULL"))
    for table in _TABLES:
        if table in filled:
            connection.execute(text(f"DELETE FROM {table}"))
    for table, count in (("resource_classes", custom_classes), ("traits", custom_traits)):
        if count:
            connection.execute(text(f"DELETE FROM {table} WHERE {_CUSTOM}"))
    return [traits - custom_traits, classes - custom_classes] == [len(standard_traits()), len(STANDARD_CLASSES)]
