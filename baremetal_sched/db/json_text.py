"""Columns as the text of a JSON object, assembled by the database.

A Python driver spends its time on columns: reading sixty of them takes longer than the database needs to find the row.
A single text is read at once, and can be sent unchanged.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnClause,
    ColumnElement,
    DateTime,
    Integer,
    String,
    cast,
    func,
    literal_column,
    null,
)
from sqlalchemy import case as sql_case
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from baremetal_sched.db.sealing import SealedJson
from baremetal_sched.db.sql_functions import as_digits, concat, constant, string_agg
from baremetal_sched.db.types import Json, as_text

_NULL = constant("null")


def members(named: Iterable[tuple[str, ColumnElement[Any]]]) -> ColumnElement[Any]:
    """Return the members of a JSON object, without its braces: ``"name":value,"other":value``; NULL if there are none.

    Text becomes a string, a flag a boolean, a time stamp a string in UTC in whole seconds; Json is included as it is,
    as ``{}`` if it is NULL; any other NULL becomes ``null``.

    CONCAT('"name":', COALESCE(JSON_QUOTE(nodes.name), 'null'), ',"extra":', COALESCE(nodes.extra, '{}'), …)
    """
    parts: list[ColumnElement[Any]] = []
    for name, column in named:
        comma = "," if parts else ""
        parts += [constant(f'{comma}"{name}":'), _value(column)]
    return PrecompiledText(concat(*parts)) if parts else null()


def arrays(*columns: ColumnElement[Any]) -> ColumnElement[str]:
    """Return the rows of a group as a JSON array of arrays, in no particular order; NULL for an empty group.

    Columns are numbers or JSON texts; a row with NULL is left out. MariaDB makes a table on disk for texts that may
    have more than 512 characters in a row (seen on 10.11), and counts for each the length that ``quoted`` may need.

    CONCAT('[', GROUP_CONCAT(CONCAT('[', '"', name, '"', ',', total, ']')), ']')
    """
    values = [column if isinstance(column.type, String) else as_digits(column) for column in columns]
    parts = [part for value in values for part in (",", value)]
    return concat("[", string_agg(concat("[", *parts[1:], "]")), "]")


class PrecompiledText(ColumnClause[str]):
    """An immutable ``inner``, which SQLAlchemy's statement cache identifies by a number.

    Comparing hundreds of small expressions with cached ones takes longer than the database needs for a row.
    """

    inherit_cache = True
    _numbers = count()

    def __init__(self, inner: ColumnElement[str]) -> None:
        super().__init__(f"members_{next(self._numbers)}", String())
        self.inner = inner


@compiles(PrecompiledText)
def _precompiled(element: PrecompiledText, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(element.inner)


def _value(column: ColumnElement[Any]) -> ColumnElement[str]:
    match column.type:
        case SealedJson():
            raise TypeError(f"{column} may be encrypted: it must be masked, and cannot be sent unchanged")
        case Json():
            return func.coalesce(as_text(column), constant("{}"))
        case Integer():
            return func.coalesce(cast(column, String), _NULL)
        case Boolean():
            return sql_case((column.is_(None), _NULL), (column, constant("true")), else_=constant("false"))
        case DateTime():
            # All three databases write 2026-01-31 12:00:00, perhaps with a fraction.
            seconds = func.substr(cast(column, String), literal_column("1"), literal_column("19"))
            text = func.replace(seconds, constant(" "), constant("T"))
            return func.coalesce(concat(constant('"'), text, constant('+00:00"')), _NULL)
        case _:
            return func.coalesce(quoted(column), _NULL)


class quoted(FunctionElement[str]):  # noqa: N801 - used like a function of SQL
    """A text (its one argument) as a JSON string; NULL stays NULL."""

    type = String()
    inherit_cache = True


@compiles(quoted, "postgresql")
def _postgresql_quoted(element: quoted, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST(to_json({compiler.process(element.clauses, **kw)}) AS text)"


@compiles(quoted)
def _default_quoted(element: quoted, compiler: SQLCompiler, **kw: Any) -> str:
    return f"json_quote({compiler.process(element.clauses, **kw)})"
