"""The databases of the originals, read in snapshots that write nothing."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, MetaData, NullPool, Table, create_engine, event, inspect, select
from sqlalchemy.exc import DBAPIError

from baremetal_sched.db.engine import database_url
from baremetal_sched.db.faults import unavailable
from baremetal_sched.db.snapshot import open_snapshot
from baremetal_sched.errors import InvalidValue, UnavailableError

#: Rows that are read at once.
BATCH = 1000

#: A row of the original.
SourceRow = Mapping[str, Any]


class SourceDatabase:
    """A snapshot of one original's database: its tables, and their rows as dictionaries."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._metadata = MetaData()
        self._present = set(inspect(connection).get_table_names())

    @property
    def tables(self) -> frozenset[str]:
        """Return the names of the tables."""
        return frozenset(self._present)

    def table(self, name: str) -> Table:
        """Return a table with the columns that this database has. Raises InvalidValue if the table does not exist."""
        if name not in self._metadata.tables:
            if name not in self._present:
                raise InvalidValue(message=f"The database of {self.name} has no table {name}: check the URL.")
            self._metadata.reflect(self._connection, only=[name], resolve_fks=False)
        return self._metadata.tables[name]

    def rows(self, name: str, column: str, values: Iterable[Any], order: Sequence[str] = ()) -> list[SourceRow]:
        """Return the rows whose ``column`` has one of these values, ordered by columns.

        SELECT * FROM name WHERE column IN (…) ORDER BY …
        """
        table = self.table(name)
        keys, result = list(values), list[SourceRow]()
        for start in range(0, len(keys), BATCH):
            part = table.c[column].in_(keys[start : start + BATCH])
            query = select(table).where(part).order_by(*(table.c[each] for each in order))
            result += [dict(row) for row in self._connection.execute(query).mappings()]
        return result

    def batches(self, name: str, columns: Sequence[str] = (), key: str = "id") -> Iterator[list[SourceRow]]:
        """Yield all rows in the order of ``key``, which is unique: in batches, so that they are never all in memory.

        SELECT … FROM name WHERE key > the last one ORDER BY key LIMIT …
        """
        table = self.table(name)
        query = select(*(table.c[each] for each in columns)) if columns else select(table)
        query = query.order_by(table.c[key]).limit(BATCH)
        found: list[SourceRow] = [dict(row) for row in self._connection.execute(query).mappings()]
        while found:
            yield found
            following = query.where(table.c[key] > found[-1][key])
            found = [dict(row) for row in self._connection.execute(following).mappings()]

    def all(self, name: str, columns: Sequence[str] = ()) -> Iterator[SourceRow]:
        """Yield all rows of a table with an ``id``, in its order."""
        for batch in self.batches(name, columns):
            yield from batch

    def scalars(self, query: Any) -> list[Any]:
        """Return the first column of a SELECT."""
        return list(self._connection.scalars(query))

    def select(self, query: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT."""
        return [tuple(row) for row in self._connection.execute(query)]


@contextmanager
def opened(url: str, name: str) -> Iterator[SourceDatabase]:
    """Yield the database at ``url`` (of the original called ``name``), as it is now, for reading only.

    Raises InvalidValue for a URL that names no database, UnavailableError if it cannot be read.
    """
    try:
        engine = _engine(url)
    except ValueError as error:
        raise InvalidValue(message=f"The database of {name}: {error}.") from None
    try:
        with open_snapshot(engine) as session:
            yield SourceDatabase(session.connection(), name)
    except DBAPIError as error:
        reason = str(unavailable(error)) if not isinstance(error.orig, sqlite3.Error) else str(error.orig)
        raise UnavailableError(message=f"The database of {name} cannot be read: {reason}") from error
    finally:
        engine.dispose()


def _engine(url: str) -> Engine:
    parsed = database_url(url)
    if parsed.get_backend_name() != "sqlite":
        if parsed.get_backend_name() != "postgresql":
            parsed = parsed.update_query_dict({"charset": "utf8mb4"})
        return create_engine(parsed, poolclass=NullPool, hide_parameters=True)
    path = Path(parsed.database or "")
    if not path.is_file():
        raise ValueError(f"there is no file {parsed.database}")
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, isolation_level=None),
        poolclass=NullPool,
        hide_parameters=True,
    )
    # The driver would begin no transaction for SELECTs, and each would see a state of its own.
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine
