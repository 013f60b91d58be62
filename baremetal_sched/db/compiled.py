"""Statements that are created once and run often, without SQLAlchemy's work for each execution.

Looking up a compiled statement by all of its parts takes longer than the database needs to find a row. A statement kept
as an object is looked up by its identity.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import index
from typing import Any

from sqlalchemy import ColumnClause, Connection, Dialect, Float, literal_column
from sqlalchemy.sql.base import Executable

from baremetal_sched.db.types import Query

#: Placeholder for the ids passed to ``run``: ``column.in_([IDS])``.
IDS: ColumnClause[int] = literal_column("given_ids")


#: Number of rows fetched at once while the server continues: with few, it works in parallel.
_AT_ONCE = 4


def run(
    connection: Connection, query: Query, given: Mapping[str, Any], ids: Iterable[int] = (), *, stream: bool = False
) -> Any:
    """Execute ``query``, which must be the same object each time, and return the result (a CursorResult). ``given`` are
    the values of its parameters: texts and numbers, which are passed to the driver unchanged.

    ``ids``, if the query has ``IDS``, are at least one, and integers (anything else raises TypeError). They become part
    of the text, which is cheaper than as many parameters. Then no column may be of a type whose values
    SQLAlchemy makes of those of the driver.

    ``stream``: rows may come while the server looks for more (PyMySQL can do that; psycopg in transactions only). Until
    the result is read to its end or closed, there is no other statement on the connection.
    """
    found = _compiled(query, connection.dialect)
    if found is None:
        return connection.execute(query, given)
    text, values, order = found
    if ids:
        text = text.replace(IDS.name, ",".join(map(str, map(index, ids))))
    values = {**values, **given}
    parameters = values if order is None else tuple(values[name] for name in order)
    options = {"stream_results": True, "max_row_buffer": _AT_ONCE} if stream and _can_stream(connection) else None
    return connection.exec_driver_sql(text, parameters, options)


def change(connection: Connection, statement: Executable, given: Mapping[str, Any]) -> Any:
    """Execute an INSERT, UPDATE or DELETE, which must be the same object each time; return the result (a CursorResult).

    ``given`` are the values of its parameters, of any type but lists; values of other parameters are ignored.
    """
    found = _compiled_change(statement, connection.dialect, tuple(given))
    if found is None:
        return connection.execute(statement, given)
    text, values, processors, order = found
    values = {**values, **given}
    for name, process in processors:
        values[name] = process(values[name])
    return connection.exec_driver_sql(text, values if order is None else tuple([values[name] for name in order]))


def _can_stream(connection: Connection) -> bool:
    return connection.dialect.name in ("mysql", "mariadb")


@lru_cache(maxsize=1000)
def _compiled(query: Query, dialect: Dialect) -> tuple[str, dict[str, Any], list[str] | None] | None:
    """Return the text, the preset parameters, and the order of all parameters for drivers without named ones.

    None if SQLAlchemy converts the values of a column: then it must process every value.
    """
    if any(_is_converted(column.type, dialect) for column in query.selected_columns):
        return None
    compiled = query.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    return str(compiled), dict(compiled.params), compiled.positiontup


def _is_converted(kind: Any, dialect: Dialect) -> bool:
    # Floats come as they are from every driver; PostgreSQL's dialect can say so only of a result.
    if isinstance(kind, Float) and not kind.asdecimal:
        return False
    return kind.dialect_impl(dialect).result_processor(dialect, None) is not None


@lru_cache(maxsize=1000)
def _compiled_change(
    statement: Any, dialect: Dialect, names: tuple[str, ...]
) -> tuple[str, dict[str, Any], list[tuple[str, Callable[[Any], Any]]], list[str] | None] | None:
    """Return the text, the preset parameters, the converters of values for the driver, and the order of parameters.

    None if columns have defaults that are computed for each row: then SQLAlchemy must compute them.
    """
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    if compiled.insert_prefetch or compiled.update_prefetch:
        return None
    processors = [
        (name, process)
        for name, parameter in compiled.binds.items()
        if (process := parameter.type.dialect_impl(dialect).bind_processor(dialect)) is not None
    ]
    return str(compiled), dict(compiled.params), processors, compiled.positiontup
