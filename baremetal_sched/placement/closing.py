"""Claims of rows that may close while the statement waits for them.

PostgreSQL checks the condition of an UPDATE before it waits for the lock of a row, and again only if the row has
changed by then (seen on 15). So the UPDATE says in the end whether the row is still open. MariaDB checks under the
lock (seen on 10.11), and SQLite has one writer at a time.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, FromClause, Update
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db import compiled
from baremetal_sched.db.results import rows_changed
from baremetal_sched.placement.tables import is_open


def take(connection: Connection, statement: Update, table: FromClause, given: Mapping[str, Any]) -> bool:
    """Run an UPDATE of a row in ``table`` that is to be open; return whether there was one.

    Raises StaleDataError if it was, but closed while the statement waited.
    """
    still_open = take_any(connection, statement, table, given)
    if still_open is False:
        raise StaleDataError("a hold of the machine has started")
    return still_open is not None


def take_any(connection: Connection, statement: Update, table: FromClause, given: Mapping[str, Any]) -> bool | None:
    """Run an UPDATE of a row in ``table``; return whether it is still open, None if no row was changed. Databases other
    than PostgreSQL answer True: they have checked it."""
    if connection.dialect.name != "postgresql":
        return True if rows_changed(_run(connection, statement, given)) else None
    still_open: bool | None = _run(connection, _answering(statement, table), given).scalar()
    return still_open


def _run(connection: Connection, statement: Any, given: Mapping[str, Any]) -> Any:
    if any(isinstance(value, list) for value in given.values()):
        return connection.execute(statement, given)
    return compiled.change(connection, statement, given)


@lru_cache
def _answering(statement: Update, table: FromClause) -> Any:
    return statement.returning(is_open(table))
