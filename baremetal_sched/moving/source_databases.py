"""The databases of the originals, read in snapshots that write nothing."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, MetaData, NullPool, Table, create_engine, event, inspect, select
from sqlalchemy.exc import DBAPIError

from baremetal_sched.db.documents import text_fault
from baremetal_sched.db.engine import database_url
from baremetal_sched.db.faults import unavailable
from baremetal_sched.db.snapshot import open_snapshot
from baremetal_sched.errors import InvalidValue, UnavailableError
from baremetal_sched.moving.forms import Form, form_of

#: Rows that are read at once.
BATCH = 1000

#: A row of the original.
SourceRow = Mapping[str, Any]


class SourceDatabase:
    """A snapshot of one original's database: its tables, and their rows as dictionaries.

    Identifiers are in the form that the API enforces (``forms``), so that those of both originals and ours compare.
    Raises UnavailableError if the database cannot be read.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._metadata = MetaData()
        self._spellings: dict[tuple[str, str], Mapping[str, list[str]]] = {}
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
            with _reading(self.name):
                self._metadata.reflect(self._connection, only=[name], resolve_fks=False)
        return self._metadata.tables[name]

    def rows(self, name: str, column: str, values: Iterable[Any], order: Sequence[str] = ()) -> list[SourceRow]:
        """Return the rows whose ``column`` has one of these values, ordered by columns.

        SELECT * FROM name WHERE column IN (…) ORDER BY …
        """
        table = self.table(name)
        # A text that cannot be stored cannot be looked for either; it is reported where it is.
        keys = [key for key in values if not (isinstance(key, str) and text_fault(key))]
        result: list[SourceRow] = []
        if form_of(name, column):
            spellings = self.spellings(name, column)
            keys += [other for key in keys for other in spellings.get(key, ()) if other != key]
        for start in range(0, len(keys), BATCH):
            part = table.c[column].in_(keys[start : start + BATCH])
            result += self._rows(name, select(table).where(part).order_by(*(table.c[each] for each in order)))
        return result

    def batches(self, name: str, columns: Sequence[str] = (), key: str = "id") -> Iterator[list[SourceRow]]:
        """Yield all rows in the order of ``key``, which is unique: in batches, so that they are never all in memory.

        SELECT … FROM name WHERE key > the last one ORDER BY key LIMIT …
        """
        table = self.table(name)
        query = select(*(table.c[each] for each in columns)) if columns else select(table)
        query = query.order_by(table.c[key]).limit(BATCH)
        found = self._rows(name, query)
        while found:
            yield found
            found = self._rows(name, query.where(table.c[key] > found[-1][key]))

    def all(self, name: str, columns: Sequence[str] = ()) -> Iterator[SourceRow]:
        """Yield all rows of a table with an ``id``, in its order."""
        for batch in self.batches(name, columns):
            yield from batch

    def spellings(self, name: str, column: str) -> Mapping[str, list[str]]:
        """Return the values of a column of identifiers, as they are stored, by their form: of each identifier that is
        stored in another one. A text that cannot be one is its own form."""
        if (name, column) not in self._spellings:
            form = form_of(name, column) or str
            found: dict[str, list[str]] = {}
            others: set[str] = set()
            # SELECT DISTINCT would take values that differ by case for the same one on MariaDB.
            for text in self.scalars(select(self.table(name).c[column])):
                own = None if text is None else form(text)
                if text is None or own == text or text in others:
                    continue
                others.add(text)
                found.setdefault(own or text, []).append(text)
            self._spellings[name, column] = found
        return self._spellings[name, column]

    def scalars(self, query: Any) -> list[Any]:
        """Return the first column of a SELECT, with identifiers as they are stored."""
        return [row[0] for row in self.select(query)]

    def select(self, query: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT, with identifiers as they are stored."""
        with _reading(self.name):
            return [tuple(row) for row in self._connection.execute(query)]

    def _rows(self, name: str, query: Any) -> list[SourceRow]:
        with _reading(self.name):
            rows: list[dict[str, Any]] = [dict(row) for row in self._connection.execute(query).mappings()]
        forms = [(each, form) for each in rows[0] if (form := form_of(name, each))] if rows else []
        for row in rows:
            for column, form in forms:
                row[column] = _formed(form, row[column])
        return [*rows]


def _formed(form: Form, value: Any) -> Any:
    return form(value) or value if isinstance(value, str) else value


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Raise UnavailableError for an error of the database of the original called ``name``."""
    try:
        yield
    except DBAPIError as error:
        reason = str(unavailable(error)) if not isinstance(error.orig, sqlite3.Error) else str(error.orig)
        raise UnavailableError(message=f"The database of {name} cannot be read: {reason}") from error


@contextmanager
def opened(url: str, name: str) -> Iterator[SourceDatabase]:
    """Yield the database at ``url`` (of the original called ``name``), as it is now, for reading only.

    Raises InvalidValue for a URL that names no database, UnavailableError if it cannot be read.
    """
    try:
        engine = _engine(url)
    except ValueError as error:
        raise InvalidValue(message=f"The database of {name}: {error}.") from None
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        # Not around what is done with it: that has errors of other databases, too.
        with _reading(name):
            session = stack.enter_context(open_snapshot(engine))
            source = SourceDatabase(session.connection(), name)
        yield source


def _engine(url: str) -> Engine:
    parsed = database_url(url)
    if parsed.get_backend_name() != "sqlite":
        if parsed.get_backend_name() != "postgresql":
            parsed = parsed.update_query_dict({"charset": "utf8mb4"})
        return create_engine(parsed, poolclass=NullPool, hide_parameters=True)
    path = Path(parsed.database or "")
    if not path.is_file():
        raise ValueError(f"there is no file {parsed.database}")

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, isolation_level=None)
        # SQLite holds any bytes: a text that is no UTF-8 is reported with its row.
        connection.text_factory = lambda data: data.decode(errors="surrogateescape")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    # The driver would begin no transaction for SELECTs, and each would see a state of its own.
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine
