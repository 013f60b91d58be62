"""Statements that are created once and run often, without SQLAlchemy's work for each execution; INSERT of rows that may
exist already, in the three dialects.

Looking up a compiled statement by all of its parts takes longer than the database needs to find a row, and so does
describing its columns. A statement kept as an object is looked up by its identity, runs on the driver's own cursor, and
its columns are described once.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import index
from typing import Any

from sqlalchemy import ColumnClause, ColumnElement, Connection, Dialect, Float, Table, insert, literal_column
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session
from sqlalchemy.sql.base import Executable

from baremetal_sched.db.engine import SINGLE
from baremetal_sched.db.types import Query

#: Placeholder for the ids passed to ``run``: ``column.in_([IDS])``.
IDS: ColumnClause[int] = literal_column("given_ids")


#: Number of rows fetched at once while the server continues: with few, it works in parallel.
_AT_ONCE = 4


@dataclass(frozen=True)
class StatementResult:
    """The rows that a statement returned, with the names of their columns, and the number of those that it changed."""

    rows: Sequence[Any]
    rowcount: int
    #: The id of the row that was inserted, in MariaDB and MySQL.
    lastrowid: int | None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def all(self) -> Sequence[Any]:
        """Return the rows."""
        return self.rows

    def first(self) -> Any:
        """Return the first row, None if there is none."""
        return self.rows[0] if self.rows else None

    def one(self) -> Any:
        """Return the row, of which there is one."""
        (row,) = self.rows
        return row

    def scalar(self) -> Any:
        """Return the first column of the first row, None if there is none."""
        return self.rows[0][0] if self.rows else None


@dataclass
class _Statement:
    """A compiled statement: its text (under SQLAlchemy's name, for listeners), the preset parameters, the order of all
    parameters for drivers without named ones, and converters of values. ``rows`` makes named tuples of rows."""

    statement: str
    values: dict[str, Any]
    order: list[str] | None
    processors: list[tuple[str, Callable[[Any], Any]]] = field(default_factory=list)
    rows: Callable[[Any], Any] | None = None

    def parameters(self, given: Mapping[str, Any]) -> Any:
        values = {**self.values, **given}
        for name, process in self.processors:
            values[name] = process(values[name])
        return values if self.order is None else tuple([values[name] for name in self.order])

    def execute(self, connection: Connection, text: str, parameters: Any) -> StatementResult:
        """Do what ``exec_driver_sql`` does, without its result, which describes its columns each time."""
        if not connection.in_transaction() and not connection.get_execution_options().get(SINGLE):
            connection.begin()
        cursor = connection.connection.cursor()
        for listen in connection.dispatch.before_cursor_execute:
            text, parameters = listen(connection, cursor, text, parameters, self, False)
        try:
            cursor.execute(text, parameters)
            count, found = cursor.rowcount, []
            if self.rows is None and cursor.description is not None:
                names = [column[0] for column in cursor.description]
                self.rows = namedtuple("Row", names, rename=True)._make  # type: ignore[attr-defined]
            if self.rows is not None:
                found = [*map(self.rows, cursor.fetchall())]
            for listen in connection.dispatch.after_cursor_execute:
                listen(connection, cursor, text, parameters, self, False)
            cursor.close()
        except BaseException as error:
            connection._handle_dbapi_exception(error, text, parameters, cursor, None)
        return StatementResult(found, count, getattr(cursor, "lastrowid", None))


def run(
    connection: Connection, query: Query, given: Mapping[str, Any], ids: Iterable[int] = (), *, stream: bool = False
) -> Any:
    """Execute ``query``, which must be the same object each time, and return the result. ``given`` are the values of
    its parameters: texts and numbers, which are passed to the driver unchanged.

    ``ids``, if the query has ``IDS``, are at least one, and integers (anything else raises TypeError). They become part
    of the text, which is cheaper than as many parameters. Then no column may be of a type whose values
    SQLAlchemy makes of those of the driver.

    ``stream``: rows may come while the server looks for more (PyMySQL can do that; psycopg in transactions only). Until
    the result (a CursorResult) is read to its end or closed, there is no other statement on the connection.
    """
    found = _compiled(query, connection.dialect)
    if found is None:
        return connection.execute(query, given)
    text, parameters = found.statement, found.parameters(given)
    text = _with_ids(text, ids)
    if not stream:
        return found.execute(connection, text, parameters)
    can_stream = connection.dialect.name in ("mysql", "mariadb")
    options = {"stream_results": True, "max_row_buffer": _AT_ONCE} if can_stream else None
    return connection.exec_driver_sql(text, parameters, options)


def _with_ids(text: str, ids: Iterable[int]) -> str:
    return text.replace(IDS.name, ",".join(map(str, map(index, ids)))) if ids else text


def change(connection: Connection, statement: Executable, given: Mapping[str, Any], ids: Iterable[int] = ()) -> Any:
    """Execute an INSERT, UPDATE or DELETE, which must be the same object each time; return the result.

    ``given`` are the values of its parameters, of any type but lists; values of other parameters are ignored. ``ids``
    are as in ``run``.
    """
    found = _compiled_change(statement, connection.dialect, tuple(given))
    if found is None:
        return connection.execute(statement, given)
    return found.execute(connection, _with_ids(found.statement, ids), found.parameters(given))


def part(
    connection: Connection, statement: Executable, given: Mapping[str, Any], prefix: str
) -> tuple[str, dict[str, Any]]:
    """Return an INSERT as a part of another statement on PostgreSQL, and its parameters, with ``prefix`` in their
    names."""
    found = _compiled_change(statement, connection.dialect, tuple(given))
    if found is None:
        raise TypeError(f"{statement} has defaults that are computed for each row")
    parameters = {f"{prefix}_{name}": value for name, value in found.parameters(given).items()}
    return found.statement.replace("%(", f"%({prefix}_"), parameters


def change_all(connection: Connection, statement: Executable, many: Sequence[Mapping[str, Any]]) -> None:
    """The same once for each of ``many``, whose keys are the same."""
    if len(many) > 1:
        connection.execute(statement, many)
    for given in many if len(many) == 1 else ():
        change(connection, statement, given)


@lru_cache(maxsize=1000)
def _compiled(query: Query, dialect: Dialect) -> _Statement | None:
    """Return the statement; None if SQLAlchemy converts the values of a column: then it must process every value."""
    if any(_is_converted(column.type, dialect) for column in query.selected_columns):
        return None
    compiled = query.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    return _Statement(str(compiled), dict(compiled.params), compiled.positiontup)


def _is_converted(kind: Any, dialect: Dialect) -> bool:
    # Floats come as they are from every driver; PostgreSQL's dialect can say so only of a result.
    if isinstance(kind, Float) and not kind.asdecimal:
        return False
    return kind.dialect_impl(dialect).result_processor(dialect, None) is not None


@lru_cache(maxsize=1000)
def _compiled_change(statement: Any, dialect: Dialect, names: tuple[str, ...]) -> _Statement | None:
    """Return the statement; None if columns have defaults that are computed for each row: then SQLAlchemy must
    compute them."""
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    if compiled.insert_prefetch or compiled.update_prefetch:
        return None
    # Of parameters with the same name there is one value.
    parameters = {name: parameter for parameter, name in compiled.bind_names.items()}
    processors = [
        (name, process)
        for name, parameter in parameters.items()
        if (process := parameter.type.dialect_impl(dialect).bind_processor(dialect)) is not None
    ]
    return _Statement(str(compiled), dict(compiled.params), compiled.positiontup, processors)


# -- rows that may exist already ---------------------------------------------------------------------------------------


def insert_missing(writer: Session | Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert the ``rows`` that violate no unique key; existing rows stay unchanged."""
    if rows:
        connection = writer if isinstance(writer, Connection) else writer.connection()
        connection.execute(if_missing(table, connection.dialect.name), rows)


def insert_if_missing(
    connection: Connection, table: Table, row: dict[str, Any], **expressions: ColumnElement[Any] | None
) -> int | None:
    """Insert ``row`` and return its id; if it violates a unique key, change nothing and return None.

    ``expressions`` are those of other columns, by name; ``row`` has their parameters.
    """
    dialect = connection.dialect.name
    returning = dialect in ("sqlite", "postgresql")
    statement = if_missing(table, dialect, returning=returning, **expressions)
    result = change(connection, statement, row)
    new: int | None = result.scalar() if returning else result.lastrowid if result.rowcount else None
    return new


@lru_cache
def if_missing(table: Table, dialect: str, *, returning: bool = False, **expressions: ColumnElement[Any] | None) -> Any:
    """Return the INSERT that does nothing if the row violates a unique key. ``expressions`` as in
    ``insert_if_missing``."""
    match dialect:
        case "sqlite":
            statement: Any = sqlite.insert(table).on_conflict_do_nothing()
        case "postgresql":
            from sqlalchemy.dialects import postgresql  # where it is in use, it has been imported; elsewhere it is dear

            statement = postgresql.insert(table).on_conflict_do_nothing()
        case _:
            statement = insert(table).prefix_with("IGNORE")
    if expressions:
        statement = statement.values(expressions)
    return statement.returning(table.c.id) if returning else statement
