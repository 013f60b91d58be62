"""Many short texts of a group as one, in the three dialects."""

from typing import Any

from sqlalchemy import ColumnElement, String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class joined(FunctionElement[str]):  # noqa: N801 - used like a function of SQL
    """The texts of a group, joined by commas, in no particular order; NULL if there are none."""

    type = String()
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any] | Any) -> None:
        super().__init__(column)


@compiles(joined, "postgresql")
def _postgresql(element: joined, compiler: SQLCompiler, **kw: Any) -> str:
    return f"string_agg({compiler.process(element.clauses, **kw)}, ',')"


@compiles(joined)
def _default(element: joined, compiler: SQLCompiler, **kw: Any) -> str:
    # SQLite and MariaDB both join by a comma unless told otherwise.
    return f"group_concat({compiler.process(element.clauses, **kw)})"
