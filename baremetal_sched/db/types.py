"""Types of what statements are run on, of what they return, and of columns."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, Text, type_coerce
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DontWrapMixin
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeDecorator

from baremetal_sched.db.documents import MAX_DEPTH, DocumentTooDeep, require_depth
from baremetal_sched.errors import DocumentTooLarge
from baremetal_sched.masking import mask_text

#: A SELECT under construction, and a row and all rows that it returned. SQLAlchemy 2.0 and 2.1 type these differently.
Query = Any
AnyRow = Any
Rows = Sequence[AnyRow]

#: For reads without entities: a view gets a connection, which costs a fraction of a session.
Reader = Session | Connection

#: For writes without entities.
Writer = Session | Connection

#: Name of the cache among the notes of a session or a connection.
CACHE = "process_cache"

#: Maximum bytes of a Text in MariaDB and MySQL, in UTF-8, and those of a character.
LARGEST_MESSAGE = 65_535
_WIDEST = 4

#: Text without a practical limit.
LongText = Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


#: Minimum of MariaDB's ``max_allowed_packet``.
LEAST_PACKET = 16 * 2**20

#: Maximum bytes of JSON in a column, as counted by ``size_of``: see ``sizes``.
LARGEST_TEXT = 29 * 2**19

#: Smaller texts are not measured exactly.
SMALL_TEXT = 64 * 2**10


def connection_of(reader: Reader | Writer) -> Connection:
    """Return the connection that ``reader`` is or uses."""
    return reader if isinstance(reader, Connection) else reader.connection()


def selecting(session: Session) -> Connection:
    """Return the session's connection, which shares its cache: for selecting columns in its transaction."""
    cache = process_cache(session)
    connection = session.connection()
    return connection if cache is None else connection.execution_options(**{CACHE: cache})


def process_cache(reader: Reader) -> dict[Any, Any] | None:
    """Return this process's cache of rows that never change while they exist; None with SQLite, where it has none."""
    notes = reader.info if isinstance(reader, Session) else reader.get_execution_options()
    cache: dict[Any, Any] | None = notes.get(CACHE)
    return cache


class _TextTooLarge(DocumentTooLarge, DontWrapMixin):
    """Passed on by SQLAlchemy as it is."""


class Json(TypeDecorator[Any]):
    """JSON stored as text, so that a list can pass it through without decoding (see ``as_text``).

    Writing a document deeper than MAX_DEPTH raises DocumentTooDeep, as every answer with it would fail.
    """

    impl = LongText
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        if value is None:
            return None
        try:
            text = dump_json(value)
        except RecursionError:
            raise DocumentTooDeep(limit=MAX_DEPTH) from None
        if text.count("{") + text.count("[") > MAX_DEPTH:
            require_depth(value)
        require_size(text)
        return text

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)

    def compare_values(self, x: Any, y: Any) -> bool:
        # To Python 1, 1.0 and True are equal; in JSON they differ.
        return x is y or dump_json(x) == dump_json(y)


class Message(TypeDecorator[str]):
    """A message for people, for example the reason of a failure. Secrets in it are masked before it is stored."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else message_of(value)


def message_of(text: str) -> str:
    """Return a message as it is stored: without secrets, and as much of it as every database holds."""
    text = mask_text(text)
    if len(text) * _WIDEST <= LARGEST_MESSAGE:
        return text
    encoded = text.encode()
    return text if len(encoded) <= LARGEST_MESSAGE else f"{encoded[: LARGEST_MESSAGE - 3].decode(errors='ignore')}…"


def dump_json(value: Any) -> str:
    """Return ``value`` as a Json column holds it: ASCII, so that no database can refuse or change a character."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def require_size(text: str) -> None:
    """Raise DocumentTooLarge if a column cannot hold the text."""
    size = size_of(text)
    if size > LARGEST_TEXT:
        raise _TextTooLarge(size=size, limit=LARGEST_TEXT)


def size_of(text: str) -> int:
    """Return the size in bytes of a text in a statement, with quotation marks and backslashes escaped; escapes in small
    texts are not counted."""
    return len(text) if len(text) <= SMALL_TEXT else len(text) + text.count('"') + text.count("\\")


def as_text(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Return a Json column as its stored text."""
    return type_coerce(column, String())
