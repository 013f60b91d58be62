"""Limits of explanations: two at a time in a process, and a limit on the database's time."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.orm import Session

from baremetal_sched.db import deadline
from baremetal_sched.errors.compute import ExplanationTookTooLong, TooManyExplanations

#: The number of explanations that a process works on at once.
AT_ONCE = 2

_places = threading.BoundedSemaphore(AT_ONCE)

#: How statements are limited on the server, in what unit (of a second), by dialect; MySQL's counts SELECT only.
_VARIABLES = {
    "postgresql": ("statement_timeout", 1000),
    "mariadb": ("max_statement_time", 1),
    "mysql": ("max_execution_time", 1000),
}


@contextmanager
def one_of_few() -> Iterator[None]:
    """Work on an explanation. Raises TooManyExplanations if the process is working on the most allowed."""
    if not _places.acquire(blocking=False):
        raise TooManyExplanations(limit=AT_ONCE)
    try:
        yield
    finally:
        _places.release()


@contextmanager
def limited(session: Session, seconds: float, *, cuts: bool = True) -> Iterator[None]:
    """Limit the total time of the session's statements in this context to ``seconds``. 0: the time of the request.

    The server stops a statement by itself, and otherwise the connection is cut; unless it ``cuts`` is false, as a
    transaction that has written must not be lost for this. Raises ExplanationTookTooLong.
    """
    if not seconds:
        yield
        return
    left = deadline.remaining()
    ends = time.monotonic() + (seconds if left is None else min(seconds, left))
    connection = session.connection()
    driver = connection.connection.dbapi_connection
    before = _set(connection, seconds)
    try:
        with deadline.until(ends + _GRACE):
            # SQLite's statements are just interrupted.
            if cuts or connection.dialect.name == "sqlite":
                deadline.watch(driver)
            try:
                yield
            finally:
                deadline.unwatch(driver)
    except BaseException as error:
        is_late = time.monotonic() >= ends
        # A connection that was cut is not used again.
        with suppress(DBAPIError, PendingRollbackError):
            _reset(connection, before)
        if not is_late or not isinstance(error, DBAPIError):
            raise
        if error.connection_invalidated and not cuts:
            raise  # not for its time: the transaction is lost
        raise ExplanationTookTooLong(seconds=f"{seconds:.3g}") from error
    # If the connection was lost meanwhile, this says so, like any other statement.
    _reset(connection, before)


#: Seconds that the server has to stop a statement, before the connection is cut.
_GRACE = 0.5


def _variable(connection: Connection) -> tuple[str | None, int]:
    # A MariaDB is also reached by a URL that says mysql.
    is_mariadb = getattr(connection.dialect, "is_mariadb", False)
    return _VARIABLES.get("mariadb" if is_mariadb else connection.dialect.name, (None, 0))


def _set(connection: Connection, seconds: float) -> Any:
    """Limit statements, and return what the limit was."""
    variable, unit = _variable(connection)
    if variable is None:
        return None
    show = f"SHOW {variable}" if variable == "statement_timeout" else f"SELECT @@SESSION.{variable}"
    before = connection.exec_driver_sql(show).scalar()
    amount = seconds if unit == 1 else max(1, int(seconds * unit))
    connection.exec_driver_sql(f"SET SESSION {variable} = {amount}")
    return before


def _reset(connection: Connection, before: Any) -> None:
    variable, _ = _variable(connection)
    if variable is not None and before is not None:
        value = f"'{before}'" if variable == "statement_timeout" else before
        connection.exec_driver_sql(f"SET SESSION {variable} = {value}")
