"""Many texts as one, in the three dialects; and many rows as few.

A driver in Python takes longer to read a row, and each of its columns, than the database takes to find it. So a long
list is selected as lines of text, many of them in one value: ``select(packed(id, text)).group_by(packet(id))``, and
``lines`` of what that returns.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, String, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

#: Rows of so many ids side by side share a value: 2 to the power of this.
_BITS = 6

#: Added to the id that a line begins with: so all have as many digits, and sorting the lines sorts the ids.
_BASE = 10**10
_DIGITS = len(str(_BASE))


def constant(text: str) -> ColumnElement[str]:
    """``text`` in the statement. As a parameter the driver would quote it again for each statement."""
    return literal_column("'{}'".format(text.replace("'", "''")), String())


class concatenated(FunctionElement[str]):  # noqa: N801 - used like a function of SQL
    """Texts (columns, or strings, which are taken as they are) one behind the other; NULL if one is NULL."""

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
    """The texts of a group with a separator between them, in no particular order; NULL if there are none."""

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
    """A number as a part of a text."""

    type = String()
    inherit_cache = True

    def __init__(self, column: SQLColumnExpression[Any]) -> None:
        super().__init__(column)


@compiles(number, "mysql")
@compiles(number, "mariadb")
def _mysql_number(element: number, compiler: SQLCompiler, **kw: Any) -> str:
    # To concatenate makes a text of it, and a CAST takes as long again.
    return compiler.process(element.clauses, **kw)


@compiles(number)
def _default_number(element: number, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS VARCHAR)"


def packed(row_id: SQLColumnExpression[int], text: SQLColumnExpression[str]) -> ColumnElement[str]:
    """``text``, which has no line break and is not NULL, of all rows of a packet."""
    return joined(concatenated(number(row_id + literal_column(str(_BASE))), text), "\n")


def packet(row_id: SQLColumnExpression[int], bits: int = _BITS) -> ColumnElement[int]:
    """What to group rows by that come in one packet: those whose ids differ in the last ``bits`` only."""
    return row_id.bitwise_rshift(literal_column(str(bits)))


def lines(packets: Iterable[str]) -> list[str]:
    """The texts that are packed, ordered by the ids of their rows."""
    numbered = [line for packet in packets for line in packet.split("\n")]
    numbered.sort()
    return [line[_DIGITS:] for line in numbered]
