"""Deadlines: no thread waits for the database longer than its request may.

The time-outs of a server end one statement, those of a driver one wait for bytes, and each begins anew with the next.
The whole of a transaction is bounded here: what a thread does inside ``until`` is cut off when the deadline passes. The
socket of its connection is shut down, so that the driver, which waits for an answer, gets an error at once; SQLite's
statement is interrupted. That needs no answer from the database and costs no statement.
"""

import os
import socket
import sqlite3
import threading
import time
import weakref
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import Any

#: The attribute with a descriptor of a connection's socket, where the driver does not tell it.
_DESCRIPTOR = "baremetal_sched_descriptor"

#: How late a connection may be cut, in seconds.
_TICK = 0.25


class until:  # noqa: N801 - used like a function
    """A context in which this thread's connections are cut when ``deadline`` (``time.monotonic()``) has passed.

    None: they never are. Only connections that ``watch`` is told of are.
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
    """Seconds until the deadline of what this thread does, 0 if it has passed; None if there is no deadline."""
    current = _current.get()
    if current is None or current.deadline is None:
        return None
    return max(0.0, current.deadline - time.monotonic())


def watch(connection: Any) -> None:
    """Cut this connection of a driver when the deadline of what this thread does has passed, until ``unwatch``."""
    current = _current.get()
    if current is not None and current.deadline is not None:
        with _cutter.lock:
            current.connections.append(connection)


def unwatch(connection: Any) -> None:
    """Undo ``watch``: this thread has no use for the connection any more."""
    current = _current.get()
    if current is not None and current.connections:
        with _cutter.lock:
            if connection in current.connections:
                current.connections.remove(connection)


class _Cutter:
    """Cuts what is late, in a thread that starts with the first deadline of the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._watched: set[until] = set()
        self._thread: threading.Thread | None = None

    def add(self, watched: until) -> None:
        with self.lock:
            self._watched.add(watched)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="database-deadlines", daemon=True)
                self._thread.start()

    def remove(self, watched: until) -> None:
        with self.lock:
            self._watched.discard(watched)

    def _run(self) -> None:
        while True:
            time.sleep(_TICK)
            now = time.monotonic()
            # Under the lock: a connection is given back, or closed, before or after, but not meanwhile.
            with self.lock:
                for watched in self._watched:
                    if watched.deadline is not None and watched.deadline <= now:
                        for connection in watched.connections:
                            cut(connection)

    def reset(self) -> None:
        """Begin anew, in a process that was forked: the thread and whatever held the lock are not there."""
        self.__init__()  # type: ignore[misc]


def cut(connection: Any) -> None:
    """End what a driver's connection is waiting for, from another thread."""
    if isinstance(connection, sqlite3.Connection):
        with suppress(sqlite3.Error):
            connection.interrupt()
        return
    # It may be closed already, in whatever way its driver says so.
    with suppress(Exception), socket.socket(fileno=os.dup(_descriptor(connection))) as shared:
        shared.shutdown(socket.SHUT_RDWR)


def _descriptor(connection: Any) -> int:
    descriptor: int
    if hasattr(connection, "pgconn"):
        descriptor = connection.pgconn.socket
    elif hasattr(connection, _DESCRIPTOR):
        descriptor = getattr(connection, _DESCRIPTOR)
    else:
        descriptor = connection._sock.fileno()
    return descriptor


def remember_descriptor(connection: Any) -> None:
    """Make it possible to cut a connection of mysqlclient, which says nothing to another thread while it waits.

    It is a descriptor of our own: the driver closes its own when the server is lost, and the number may be another
    socket's then. It is closed when the connection object is gone.
    """
    descriptor = os.dup(connection.fileno())
    setattr(connection, _DESCRIPTOR, descriptor)
    weakref.finalize(connection, os.close, descriptor)


_cutter = _Cutter()
os.register_at_fork(after_in_child=_cutter.reset)
