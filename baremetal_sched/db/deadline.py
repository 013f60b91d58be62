"""Deadlines: no thread waits for the database longer than its request may.

A server's time-out ends one statement, a driver's ends one wait for bytes, and each restarts with the next. This module
limits a whole transaction: what a thread does inside ``until`` is cut off at the deadline. The socket of its connection
is shut down, so that the waiting driver gets an error at once; SQLite's statement is interrupted. This needs no answer
from the database and costs no statement.
"""

import os
import socket
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.orm import Session

#: Name of the attribute with a connection's socket descriptor, for drivers that do not expose it.
_DESCRIPTOR = "baremetal_sched_descriptor"

#: Maximum delay of a cut, in seconds.
_TICK = 0.25


class until:  # noqa: N801 - used like a function
    """A context in which this thread's connections are cut when ``deadline`` (``time.monotonic()``) has passed.

    None: no deadline. Applies only to connections passed to ``watch``.
    """

    def __init__(self, deadline: float | None) -> None:
        self.deadline = deadline
        self.connections: list[Any] = []

    def __enter__(self) -> None:
        self._token: Token[until | None] = _current.set(self)
        if self.deadline is not None:
            _cutter.add(self)

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)
        if self.deadline is not None:
            _cutter.remove(self)


_current: ContextVar[until | None] = ContextVar("until", default=None)


def remaining() -> float | None:
    """Return the seconds until this thread's deadline, 0 if it has passed; None if there is no deadline."""
    current = _current.get()
    if current is None or current.deadline is None:
        return None
    return max(0.0, current.deadline - time.monotonic())


def watch(connection: Any) -> None:
    """Cut this driver connection at this thread's deadline, until ``unwatch``."""
    current = _current.get()
    if current is not None and current.deadline is not None:
        with _cutter.lock:
            current.connections.append(connection)


def unwatch(connection: Any) -> None:
    """Undo ``watch``: this thread no longer uses the connection."""
    current = _current.get()
    if current is not None and current.connections:
        with _cutter.lock:
            if connection in current.connections:
                current.connections.remove(connection)


class _Cutter:
    """Cuts late connections, in a thread that starts with the first deadline of the process, and rests without any."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._watched: set[until] = set()
        self._more = threading.Condition(self.lock)
        self._thread: threading.Thread | None = None

    def add(self, watched: until) -> None:
        with self.lock:
            self._watched.add(watched)
            self._more.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="database-deadlines", daemon=True)
                self._thread.start()

    def remove(self, watched: until) -> None:
        with self.lock:
            self._watched.discard(watched)

    def _run(self) -> None:
        while True:
            time.sleep(_TICK)
            # Under the lock, so that a connection is returned or closed before or after, but not during that.
            with self.lock:
                self._more.wait_for(lambda: self._watched)
                now = time.monotonic()
                for watched in self._watched:
                    if watched.deadline is not None and watched.deadline <= now:
                        for connection in watched.connections:
                            cut(connection)

    def reset(self) -> None:
        """Reset in a forked process, where the thread and the holder of the lock do not exist."""
        self.__init__()  # type: ignore[misc]


def cut(connection: Any) -> None:
    """End a driver connection's wait, from another thread."""
    if isinstance(connection, sqlite3.Connection):
        with suppress(sqlite3.Error):
            connection.interrupt()
        return
    # It may be closed already, which each driver reports differently.
    with suppress(Exception), socket.socket(fileno=os.dup(descriptor(connection))) as shared:
        shared.shutdown(socket.SHUT_RDWR)


def bound_silence(connection: Any, seconds: float) -> None:
    """Let TCP give a driver connection up if the server acknowledges nothing that was sent for ``seconds``."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor(connection))) as shared:
        if shared.family != socket.AF_UNIX and hasattr(socket, "TCP_USER_TIMEOUT"):
            shared.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))


def descriptor(connection: Any) -> int:
    """Return the descriptor of the socket of a driver connection to a server."""
    found: int
    if hasattr(connection, "pgconn"):
        found = connection.pgconn.socket
    elif hasattr(connection, _DESCRIPTOR):
        found = getattr(connection, _DESCRIPTOR)
    else:
        found = connection._sock.fileno()
    return found


def remember_descriptor(connection: Any) -> None:
    """Prepare a mysqlclient connection for cuts, as it tells other threads nothing while it waits.

    It duplicates the descriptor: the driver closes its own when the server is lost, and the number may then belong to
    another socket. The duplicate is closed with the connection object.
    """
    descriptor = os.dup(connection.fileno())
    setattr(connection, _DESCRIPTOR, descriptor)
    weakref.finalize(connection, os.close, descriptor)


_cutter = _Cutter()
os.register_at_fork(after_in_child=_cutter.reset)


# -- less time than the request has ------------------------------------------------------------------------------------

#: How statements are limited on the server, in what unit (of a second), by dialect; MySQL's counts SELECT only.
_VARIABLES = {
    "postgresql": ("statement_timeout", 1000),
    "mariadb": ("max_statement_time", 1),
    "mysql": ("max_execution_time", 1000),
}

#: Seconds that the server has for stopping a statement, before the connection is cut.
_GRACE = 0.5


@contextmanager
def limited(session: Session, seconds: float, *, cuts: bool = True) -> Iterator[None]:
    """Limit the total time of the session's statements in this context to ``seconds``. 0: the time of the request.

    The server stops a statement by itself, and otherwise the connection is cut; unless it ``cuts`` is false, as a
    transaction that has written must not be lost for this. Raises TimeoutError.
    """
    if not seconds:
        yield
        return
    left = remaining()
    ends = time.monotonic() + (seconds if left is None else min(seconds, left))
    connection = session.connection()
    driver = connection.connection.dbapi_connection
    before = _set(connection, seconds)
    try:
        with until(ends + _GRACE):
            # SQLite's statements are just interrupted.
            if cuts or connection.dialect.name == "sqlite":
                watch(driver)
            try:
                yield
            finally:
                unwatch(driver)
    except BaseException as error:
        is_late = time.monotonic() >= ends
        # A connection that was cut is not used again.
        with suppress(DBAPIError, PendingRollbackError):
            _reset(connection, before)
        if not is_late or not isinstance(error, DBAPIError):
            raise
        if error.connection_invalidated and not cuts:
            raise  # not for its time: the transaction is lost
        raise TimeoutError(f"The database took more than {seconds:.3g} seconds.") from error
    # If the connection has been lost, this says so, like any other statement.
    _reset(connection, before)


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
