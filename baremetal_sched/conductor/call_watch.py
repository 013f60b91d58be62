"""Watches for requested driver calls and work: they are noticed soon, and an idle conductor costs little.

PostgreSQL notifies of new work (LISTEN, NOTIFY). On other databases a conductor polls.
"""

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.conductors.work_queue import CHANNEL
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.outage import Outage

log = structlog.get_logger(__name__)

#: Seconds after which calls are looked for in any case.
_LONGEST = 0.5

#: Seconds without calls after which the database is polled less often, and how many times less: a question costs
#: MariaDB more. An idle conductor then uses less than 1 % of a processor's core.
_QUIET_AFTER = 5.0
_QUIET_FACTORS = {"sqlite": 5, "mysql": 8, "mariadb": 8}

#: Seconds between two checks whether the listener is to stop.
_TICK = 0.5

#: Work that becomes due later is not new: the conductor looks for that anyway.
_WAITING = (
    "SELECT EXISTS (SELECT 1 FROM driver_calls WHERE conductor = %s AND claimed_by IS NULL), "
    "EXISTS (SELECT 1 FROM node_work WHERE conductor = %s AND claimed_by IS NULL AND not_before IS NULL "
    f"AND kind NOT IN ('{work_queue.SUBORDINATE}', '{work_queue.CALL}'))"
)


class CallWatch:
    """Watches the database with its own connection, in one thread.

    PostgreSQL sends notifications (see ``listen``). SQLite knows without reading whether another connection has
    written. MariaDB is polled with a small statement.
    """

    def __init__(self, host: ConductorHost) -> None:
        self._host = host
        self._dialect: str = host.database.engine.dialect.name
        self._interval: float = host.settings.conductor.driver_call_interval
        self._connection: Any = None
        self._seen: Any = None
        self._noticed = time.monotonic()

    def wait(self, told: threading.Event, wake: Callable[[], object] = lambda: None) -> None:
        """Wait until calls may be waiting, until ``told`` is set, or for a while. ``wake`` is called if work may be."""
        until = time.monotonic() + _LONGEST
        while time.monotonic() < until:
            if told.wait(_LONGEST if self._dialect == "postgresql" else self._pause()):
                told.clear()
                return
            calls, works = (False, False) if self._dialect == "postgresql" else self._news()
            if works:
                wake()
            if calls:
                self._noticed = time.monotonic()
                return

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with suppress(Exception):  # not needed any more, whatever its state
                self._connection.close()
            self._connection = None

    def _pause(self) -> float:
        is_quiet = time.monotonic() - self._noticed > _QUIET_AFTER
        return self._interval * (_QUIET_FACTORS[self._dialect] if is_quiet else 1)

    def _news(self) -> tuple[bool, bool]:
        """Return whether calls may be waiting, and whether work may be."""
        try:
            if self._connection is None:
                self._connection = _connect(self._host)
            if self._dialect == "sqlite":
                written = self._has_been_written()
                return written, written
            return self._waiting()
        except Exception as error:  # each database driver has its own exceptions
            log.debug("cannot watch for calls of drivers", conductor=self._host.name, reason=str(error).split("\n")[0])
            self.close()
            return True, False  # the regular check reports the error

    def _has_been_written(self) -> bool:
        seen = self._connection.execute("PRAGMA data_version").fetchone()
        changed, self._seen = seen != self._seen, seen
        return bool(changed)

    def _waiting(self) -> tuple[bool, bool]:
        with self._connection.cursor() as cursor:
            cursor.execute(_WAITING, (self._host.name, self._host.name))
            calls, works = cursor.fetchone()
            return bool(calls), bool(works)


def listen(host: ConductorHost, wake: Callable[[], None], outage: Outage, stop: threading.Event) -> None:
    """Call ``wake`` whenever work is requested from this conductor, until ``stop`` is set.

    Lost connections are replaced and reported to ``outage``. Returns at once on databases without notifications.
    """
    if host.database.engine.dialect.name != "postgresql":
        return
    import psycopg  # not installed with other databases

    while not stop.is_set():
        try:
            with closing(_connect(host)) as connection:
                connection.execute(f"LISTEN {CHANNEL}")
                outage.works("listener")
                log.debug("listening for work", conductor=host.name)
                wake()  # for earlier requests
                while not stop.is_set():
                    for notification in connection.notifies(timeout=_TICK, stop_after=1):
                        if notification.payload == host.name:
                            wake()
        except (psycopg.Error, DBAPIError, PoolTimeout) as error:
            outage.failed("listener", f"It cannot listen for work: {str(error).splitlines()[0]}")
            stop.wait(outage.pause)


def _connect(host: ConductorHost) -> Any:
    """Return a connection that is detached from the pool, with no open transaction."""
    pooled = host.database.engine.raw_connection()
    connection: Any = pooled.driver_connection
    pooled.detach()
    dialect = host.database.engine.dialect.name
    if dialect == "postgresql":
        connection.autocommit = True
    elif dialect != "sqlite":
        connection.autocommit(True)
    return connection
