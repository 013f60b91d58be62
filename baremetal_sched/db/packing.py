"""SQL functions that join many texts, and many rows, into one value, in the three dialects.

A Python driver takes longer to read a row and each of its columns than the database needs to find it. So a long list is
selected as lines of text, many of them in one value: ``select(packed(id, text)).group_by(packet(id))``, and ``lines``
of the result.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, String, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

#: Number of consecutive ids whose rows share a value, as a power of 2.
_BITS = 6

#: Added to the id at the start of a line, so that all have the same number of digits and sort like the ids.
_BASE = 10**10
_DIGITS = len(str(_BASE))


def constant(text: str) -> ColumnElement[str]:
    """Return ``text`` as a literal of the statement. As a parameter, the driver would quote it again for each
    execution."""
    return literal_column("'{}'".format(text.replace("'", "''")), String())


class concatenated(FunctionElement[str]):  # noqa: N801 - used like a function of SQL
    """The concatenation of texts (columns or strings); NULL if one is NULL."""

    type = String()
    inherit_cache = True

    def __init__(self, *parts: SQLColumnExpression[Any] | str) -> None:
        super().__init__(*(constant(part) if isinstance(part, str) else part for part in parts))


@compiles(concatenated, "mysql")
@compiles(concatenated, "mariadb")
def _mysql_concatenated(element: concatenated, compiler: SQLCompiler, **kw: Any) -> str:
    return f"concat({compiler.process(element.clauses, **kw)})"


@compiles(concatenated)
def _default_concatenated(element: concatenated, compiler: SQLCompiler, **kw: Any) -> str:
    return f"({' || '.join(compiler.process(part, **kw) for part in element.clauses)})"


class joined(FunctionElement[str]):  # noqa: N801
    """The texts of a group joined by a separator, in no particular order; NULL if there are none."""

    type = String()
    inherit_cache = True

    def __init__(self, column: SQLColumnExpression[Any], separator: str = ",") -> None:
        super().__init__(column, constant(separator))


@compiles(joined, "mysql")
@compiles(joined, "mariadb")
def _mysql_joined(element: joined, compiler: SQLCompiler, **kw: Any) -> str:
    column, separator = (compiler.process(part, **kw) for part in element.clauses)
    return f"group_concat({column} SEPARATOR {separator})"


@compiles(joined, "postgresql")
def _postgresql_joined(element: joined, compiler: SQLCompiler, **kw: Any) -> str:
    return f"string_agg({compiler.process(element.clauses, **kw)})"


@compiles(joined)
def _default_joined(element: joined, compiler: SQLCompiler, **kw: Any) -> str:
    return f"group_concat({compiler.process(element.clauses, **kw)})"


class number(FunctionElement[str]):  # noqa: N801
    """A number as part of a text."""

    type = String()
    inherit_cache = True

    def __init__(self, column: SQLColumnExpression[Any]) -> None:
        super().__init__(column)


@compiles(number, "mysql")
@compiles(number, "mariadb")
def _mysql_number(element: number, compiler: SQLCompiler, **kw: Any) -> str:
    # Concatenation converts it to text, and a CAST would double the time.
    return compiler.process(element.clauses, **kw)


@compiles(number)
def _default_number(element: number, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS VARCHAR)"


def packed(row_id: SQLColumnExpression[int], text: SQLColumnExpression[str]) -> ColumnElement[str]:
    """Return ``text``, which has no line break and is not NULL, of all rows of a packet."""
    return joined(concatenated(number(row_id + literal_column(str(_BASE))), text), "\n")


def packet(row_id: SQLColumnExpression[int], bits: int = _BITS) -> ColumnElement[int]:
    """Return the expression to group rows by: ids that differ only in the last ``bits`` share a packet."""
    return row_id.bitwise_rshift(literal_column(str(bits)))


def lines(packets: Iterable[str]) -> list[str]:
    """Return the packed texts, ordered by the ids of their rows."""
    numbered = [line for packet in packets for line in packet.split("\n")]
    numbered.sort()
    return [line[_DIGITS:] for line in numbered]
