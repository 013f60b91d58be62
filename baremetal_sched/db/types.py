"""Column types of our own."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, String, Text, type_coerce
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

#: A SELECT under construction, and the rows that one returned. (SQLAlchemy 2.0 and 2.1 type these differently.)
Query = Any
Rows = Sequence[Any]

#: Text without a practical limit: MySQL's own TEXT ends at 64 KiB.
LongText = Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


class Json(TypeDecorator[Any]):
    """JSON kept as text, so that a list can pass it through without decoding (see ``as_text``)."""

    impl = LongText
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else dump_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)

    def compare_values(self, x: Any, y: Any) -> bool:
        # To Python 1, 1.0 and True are equal; to JSON they are not.
        return dump_json(x) == dump_json(y)


def dump_json(value: Any) -> str:
    """``value`` as a Json column holds it: ASCII, so that no database can refuse or change a character."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def as_text(column: ColumnElement[Any]) -> ColumnElement[str]:
    """A Json column as the text that it holds."""
    return type_coerce(column, String())
