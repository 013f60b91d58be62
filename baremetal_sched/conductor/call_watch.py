"""Watches for requested driver calls and work: they are noticed soon, and an idle conductor costs little.

PostgreSQL notifies of new work (LISTEN, NOTIFY), and the processes of ``baremetal-sched serve`` do so by a pipe. Then
the database is read when postponed work becomes due, and every few seconds. Otherwise it is polled.
"""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import wait
from typing import Any

import structlog
from sqlalchemy import Engine, exists, func, select

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.conductors.work_queue import CHANNEL
from baremetal_sched.conductor.host import ConductorHost
from baremetal_sched.conductor.outage import Outage
from baremetal_sched.conductor.wake_pipe import WakePipe
from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import DriverCall, NodeWork

log = structlog.get_logger(__name__)

#: Seconds without calls after which the database is polled less often, and how many times less: a question costs
#: MariaDB more. An idle conductor then uses less than 1 % of a processor's core.
_QUIET_AFTER = 5.0
_QUIET_FACTORS = {"sqlite": 5, "mysql": 8, "mariadb": 8}

#: Seconds between two reads of a database that notifies: the most, and the least. The conductor itself looks for work
#: that it has postponed for a shorter time.
_LONGEST, _SHORTEST = 5.0, 1.0


class CallWatch:
    """Watches the database with a connection of its own, in one thread: ``run``.

    ``call`` is called when calls may be waiting, ``work`` when work may be. Failures are reported to ``outage``.
    """

    def __init__(
        self,
        host: ConductorHost,
        call: Callable[[], object],
        work: Callable[[], object],
        outage: Outage,
        pipe: WakePipe | None = None,
    ) -> None:
        self._host = host
        self._call, self._work = call, work
        self._outage = outage
        self._pipe = pipe
        self._dialect: str = host.database.engine.dialect.name
        self._is_notified = self._dialect == "postgresql" or (self._dialect == "sqlite" and pipe is not None)
        self._interval: float = host.settings.conductor.driver_call_interval
        self._noticed = time.monotonic()
        self._query = _query(host.name, host.database.engine)

    def run(self, stop: threading.Event) -> None:
        """Watch until ``stop`` is set. Lost connections are replaced."""
        while not stop.is_set():
            try:
                with closing(_connect(self._host)) as connection:
                    self._watch(connection, stop)
            except Exception as error:  # each database driver has its own exceptions
                self._outage.failed("watch", f"It cannot look for work: {(str(error) or repr(error)).splitlines()[0]}")
                stop.wait(self._outage.pause)

    def _watch(self, connection: Any, stop: threading.Event) -> None:
        if self._dialect == "postgresql":
            connection.execute(f"LISTEN {CHANNEL}")
            log.debug("listening for work", conductor=self._host.name)
        self._notify()  # of earlier requests
        seen, due = None, 0.0
        while not stop.is_set():
            if self._wait(connection, due - time.monotonic(), stop):
                self._notify()
            now = time.monotonic()
            if self._dialect == "sqlite" and not self._is_notified:
                # SQLite knows without reading whether another connection has written.
                written = connection.execute("PRAGMA data_version").fetchone()
                due, seen = (due if written == seen else now), written
            elif not self._is_notified:
                due = now
            if due <= now:
                due = now + self._look(connection)
                self._outage.works("watch")

    def _wait(self, connection: Any, seconds: float, stop: threading.Event) -> bool:
        """Wait until it is time to look again, in ``seconds`` if the database need not be polled; return True at once
        if there is a notification."""
        if self._dialect == "postgresql":
            return self._is_named(connection) or (
                # psycopg itself would wake up ten times a second.
                bool(wait([connection], max(0.0, seconds))) and self._is_named(connection)
            )
        if self._is_notified and self._pipe is not None:
            return self._pipe.wait(max(0.0, seconds))
        is_quiet = time.monotonic() - self._noticed > _QUIET_AFTER
        stop.wait(self._interval * (_QUIET_FACTORS[self._dialect] if is_quiet else 1))
        return False

    def _is_named(self, connection: Any) -> bool:
        """Return whether a notification for this conductor has arrived."""
        return self._host.name in [each.payload for each in connection.notifies(timeout=0)]

    def _notify(self) -> None:
        self._call()
        self._work()

    def _look(self, connection: Any) -> float:
        """Read what waits, and return the seconds until something may become due."""
        with closing(connection.cursor()) as cursor:
            cursor.execute(self._query)
            calls, seconds = cursor.fetchone()
        if calls:
            self._noticed = time.monotonic()
            self._call()
        if seconds is None:
            return _LONGEST
        if seconds > 0:
            return min(float(seconds), _LONGEST)
        self._work()
        return _SHORTEST


def _query(name: str, engine: Engine) -> str:
    """Return the query whether calls wait for the conductor, and in how many seconds the first work is due:

    SELECT EXISTS (SELECT … FROM driver_calls WHERE conductor = … AND claimed_by IS NULL),
    (SELECT min(coalesce(not_before, 0)) - <now> FROM node_work WHERE conductor = … AND claimed_by IS NULL AND …)
    """
    calls = exists().where(DriverCall.conductor == name, DriverCall.claimed_by.is_(None))
    seconds = select(func.min(func.coalesce(NodeWork.not_before, 0.0)) - epoch()).where(
        NodeWork.conductor == name,
        NodeWork.claimed_by.is_(None),
        NodeWork.kind.not_in((work_queue.SUBORDINATE, work_queue.CALL)),
    )
    return str(select(calls, seconds.scalar_subquery()).compile(engine, compile_kwargs={"literal_binds": True}))


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
