"""Databases of the benchmark's own on a server: made, filled in bulk, dropped."""

import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import URL, MetaData, create_engine, make_url, text
from sqlalchemy.pool import NullPool

_CHUNK = 250_000

#: So many seconds at most a server is waited for, until it has no more than so many transactions to purge.
_PATIENCE, _SHORT = 60, 50

DEFAULT_URLS = {
    "mariadb": "mariadb://root@127.0.0.1",
    "postgresql": "postgresql://postgres@127.0.0.1",
    "sqlite": "sqlite://",
}
_DRIVERS = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite"}

#: Drivers of MariaDB: mysqlclient, which is written in C as those of the other databases are, and PyMySQL.
MARIADB_DRIVERS = ("mysqldb", "pymysql")

Row = Sequence[Any]


class Store:
    """One database. ``url`` is that of our driver; ``load`` is how this kind of server likes to be filled.

    ``driver`` is that of both services, if ``kind`` is mariadb.
    """

    def __init__(self, kind: str, server: str, name: str, folder: Path, driver: str = MARIADB_DRIVERS[0]) -> None:
        self.kind = kind
        self.name = name
        self.folder = folder
        url = make_url(server).set(drivername=f"mysql+{driver}" if kind == "mariadb" else _DRIVERS[kind])
        database = str(folder / f"{name}.sqlite") if kind == "sqlite" else name
        self._server = url.set(database="postgres" if kind == "postgresql" else None)
        self.url: URL = url.set(database=database)
        options = {"connect_args": {"local_infile": True}} if kind == "mariadb" else {}
        self.engine = create_engine(self.url, poolclass=NullPool, **options)

    def url_of(self, driver: str | None = None) -> str:
        """The URL, with its password; ``driver`` is another one to use with PostgreSQL."""
        url = self.url
        if driver and self.kind == "postgresql":
            url = url.set(drivername=f"postgresql+{driver}")
        return url.render_as_string(hide_password=False)

    def create(self) -> None:
        """An empty database, whatever was there."""
        self.drop()
        if self.kind != "sqlite":
            self._on_server(f"CREATE DATABASE {self.name}")

    def drop(self) -> None:
        if self.kind == "sqlite":
            for path in self.folder.glob(f"{self.name}.sqlite*"):
                path.unlink()
            return
        force = " WITH (FORCE)" if self.kind == "postgresql" else ""
        self._on_server(f"DROP DATABASE IF EXISTS {self.name}{force}")

    def _on_server(self, statement: str) -> None:
        engine = create_engine(self._server, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(statement))

    def version(self) -> str:
        """The server's own name for itself."""
        call = "sqlite_version()" if self.kind == "sqlite" else "version()"
        return " ".join(str(self.rows(f"SELECT {call}")[0][0]).split()[:2])

    def rows(self, statement: str) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(text(statement)))

    def execute(self, statement: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(statement))

    @contextmanager
    def without_indexes(self, *tables: str) -> Iterator[None]:
        """Within this the tables have none but their keys: making an index takes less time than keeping it. MariaDB
        keeps those of foreign keys, and so all."""
        if self.kind == "mariadb":
            yield
            return
        found = MetaData()
        found.reflect(self.engine, only=tables)
        indexes = [index for table in tables for index in found.tables[table].indexes if not index.unique]
        with self.engine.begin() as connection:
            for index in indexes:
                index.drop(connection)
        yield
        with self.engine.begin() as connection:
            if self.kind == "sqlite":
                _hasten(connection.connection.dbapi_connection)
            for index in indexes:
                index.create(connection)

    def load(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        """Append ``rows``, of ``columns`` (separated by commas), without checking foreign keys."""
        append = {"mariadb": self._load_mariadb, "postgresql": self._load_postgresql, "sqlite": self._load_sqlite}
        source = iter(rows)
        with self.engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            while chunk := list(islice(source, _CHUNK)):
                append[self.kind](raw, table, columns, chunk)
                raw.commit()
        if self.kind == "postgresql" and re.match(r"id\b", columns):
            self.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT coalesce(max(id), 1) FROM {table}))"
            )

    def _load_mariadb(self, raw: Any, table: str, columns: str, rows: list[Row]) -> None:
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".tsv") as file, raw.cursor() as cursor:
            file.writelines(_lines(rows))
            file.flush()
            cursor.execute("SET SESSION foreign_key_checks = 0, unique_checks = 0")
            count = cursor.execute(
                f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE {table} CHARACTER SET utf8mb4 ({columns})"
            )
        if count != len(rows):
            raise RuntimeError(f"{self.name}.{table} took {count} of {len(rows)} rows")

    def _load_postgresql(self, raw: Any, table: str, columns: str, rows: list[Row]) -> None:
        with raw.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                lines = _lines(rows)
                while part := "".join(islice(lines, 1000)):
                    copy.write(part)

    def _load_sqlite(self, raw: Any, table: str, columns: str, rows: list[Row]) -> None:
        if not raw.in_transaction:
            _hasten(raw)
        places = ", ".join("?" * len(rows[0]))
        raw.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", rows)

    def analyze(self) -> None:
        """Let the planner know what is there now, and the server finish what a load leaves behind for later."""
        if self.kind == "mariadb":
            tables = [table for (table,) in self.rows("SHOW TABLES")]
            for table in tables:
                self.rows(f"ANALYZE TABLE {table}")
            self._rest(tables)
        else:
            statement = "VACUUM ANALYZE" if self.kind == "postgresql" else "ANALYZE"
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text(statement))

    def _rest(self, tables: list[str]) -> None:
        """Until the old versions of rows are purged, and the pages written: meanwhile both slow down every request."""
        for _ in range(_PATIENCE):
            ((_, length),) = self.rows("SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'")
            if int(length) < _SHORT:
                break
            time.sleep(1)
        with self.engine.connect() as connection:
            connection.execute(text(f"FLUSH TABLES {', '.join(tables)} FOR EXPORT"))
            connection.execute(text("UNLOCK TABLES"))


def _hasten(raw: Any) -> None:
    """Let a connection of SQLite keep a gigabyte of pages, and not wait for the disk."""
    raw.execute("PRAGMA cache_size = -1000000")
    raw.execute("PRAGMA synchronous = OFF")


def _lines(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield "\t".join(["\\N" if value is None else str(value) for value in row]) + "\n"


def random_uuid(random: Random) -> str:
    """A UUID, version 4: quicker than the uuid module, and the same at every run."""
    text = f"{random.getrandbits(128):032x}"
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"
