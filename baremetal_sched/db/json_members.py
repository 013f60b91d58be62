"""Members of JSON columns as texts, in the SQL of each database."""

import json
from typing import Any

from sqlalchemy import ColumnElement, String, bindparam, cast
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from baremetal_sched.db.types import as_text


class member_text(FunctionElement[str]):  # noqa: N801 - used like a function of SQL
    """A member of the object in a Json column: a text as it is, a number or true and false as JSON has them. NULL if
    there is no such member."""

    type = String()
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        path = f"$.{json.dumps(name)}"  # in ASCII, as the column is: MariaDB compares what is written
        super().__init__(as_text(column), cast(name, String(255)), bindparam(None, path, String()))


@compiles(member_text, "sqlite")
def _sqlite(element: member_text, compiler: SQLCompiler, **kw: Any) -> str:
    column, name, _ = (compiler.process(each, **kw) for each in element.clauses)
    text = "CASE WHEN j.type IN ('true', 'false') THEN j.type ELSE CAST(j.value AS TEXT) END"
    return f"(SELECT {text} FROM json_each({column}) AS j WHERE j.key = {name} LIMIT 1)"


@compiles(member_text, "postgresql")
def _postgresql(element: member_text, compiler: SQLCompiler, **kw: Any) -> str:
    column, name, _ = (compiler.process(each, **kw) for each in element.clauses)
    return f"(CAST({column} AS json) ->> {name})"


@compiles(member_text, "mysql")
@compiles(member_text, "mariadb")
def _mysql(element: member_text, compiler: SQLCompiler, **kw: Any) -> str:
    column, _, path = element.clauses
    return f"JSON_UNQUOTE(JSON_EXTRACT({compiler.process(column, **kw)}, {compiler.process(path, **kw)}))"
