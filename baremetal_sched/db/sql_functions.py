"""SQL that SQLAlchemy does not have in all three dialects: joined texts, numbers in texts, having all of some rows."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    SQLColumnExpression,
    String,
    bindparam,
    cast,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine


def constant(text: str) -> ColumnElement[str]:
    """Return ``text`` as a literal of the statement. As a parameter, the driver would quote it again for each
    execution."""
    return literal_column("'{}'".format(text.replace("'", "''")), String())


class concat(FunctionElement[str]):  # noqa: N801 - used like a function of SQL
    """The concatenation of texts (columns or strings); NULL if one is NULL."""

    type = String()
    inherit_cache = True

    def __init__(self, *parts: SQLColumnExpression[Any] | str) -> None:
        super().__init__(*(constant(part) if isinstance(part, str) else part for part in parts))


@compiles(concat, "mysql")
@compiles(concat, "mariadb")
def _mysql_concat(element: concat, compiler: SQLCompiler, **kw: Any) -> str:
    return f"concat({compiler.process(element.clauses, **kw)})"


@compiles(concat)
def _default_concat(element: concat, compiler: SQLCompiler, **kw: Any) -> str:
    return f"({' || '.join(compiler.process(part, **kw) for part in element.clauses)})"


class string_agg(FunctionElement[str]):  # noqa: N801
    """The texts of a group joined by a separator, in no particular order; NULL for an empty group."""

    type = String()
    inherit_cache = True

    def __init__(self, column: SQLColumnExpression[Any], separator: str = ",") -> None:
        super().__init__(column, constant(separator))


@compiles(string_agg, "mysql")
@compiles(string_agg, "mariadb")
def _mysql_string_agg(element: string_agg, compiler: SQLCompiler, **kw: Any) -> str:
    column, separator = (compiler.process(part, **kw) for part in element.clauses)
    return f"group_concat({column} SEPARATOR {separator})"


@compiles(string_agg, "postgresql")
def _postgresql_string_agg(element: string_agg, compiler: SQLCompiler, **kw: Any) -> str:
    return f"string_agg({compiler.process(element.clauses, **kw)})"


@compiles(string_agg)
def _default_string_agg(element: string_agg, compiler: SQLCompiler, **kw: Any) -> str:
    return f"group_concat({compiler.process(element.clauses, **kw)})"


class as_digits(FunctionElement[str]):  # noqa: N801
    """A number (its one argument) as part of a text."""

    type = String()
    inherit_cache = True


@compiles(as_digits, "mysql")
@compiles(as_digits, "mariadb")
def _mysql_as_digits(element: as_digits, compiler: SQLCompiler, **kw: Any) -> str:
    # Concatenation converts it to text, and a CAST would double the time.
    return compiler.process(element.clauses, **kw)


@compiles(as_digits)
def _default_as_digits(element: as_digits, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **kw)} AS VARCHAR)"


def has_all(own: ColumnElement[bool], things: Sequence[ColumnElement[bool]], most: int) -> ColumnElement[bool]:
    """Return the condition that each of ``things`` is met by a row that meets ``own``.

    No row may meet two of them. ``most``: how many rows there can be; nothing has more.

    EXISTS (SELECT * FROM tags WHERE own AND tag = 'a'), or, of several,
    (SELECT count(*) FROM tags WHERE own AND (tag = 'a' OR tag = 'b')) = 2

    An EXISTS for each would be a join for each: PostgreSQL plans a hundred of these for longer than a request may take.
    """
    if not things:
        return true()
    if len(things) > most:
        return false()
    if len(things) == 1:
        return exists().where(own, things[0])
    return select(func.count()).where(own, or_(*things)).scalar_subquery() == len(things)


def listed(name: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    """Return the array of a parameter that is a text of values, separated by commas, on PostgreSQL."""
    return cast(func.string_to_array(bindparam(name, type_=String()), constant(",")), ARRAY(kind))
