"""Ensures that a process serves the database only while its release can serve the schema."""

import math
import sqlite3
import threading
import time
from contextlib import nullcontext

import structlog
from sqlalchemy import Connection, Engine, event

from baremetal_sched.db import schema, schema_state
from baremetal_sched.db.deadline import remaining, until
from baremetal_sched.db.engine import make_engine
from baremetal_sched.db.limits import NONE, Limits
from baremetal_sched.db.schema_state import SchemaStatus
from baremetal_sched.errors import DatabaseAway, DatabaseTimeout, IsMirror, SchemaNotServed
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: Seconds between two checks. Between this and ``schema.LEASE_SECONDS`` one thread checks while others continue.
CHECK_SECONDS = 1.0

#: A clock that also runs while the machine is suspended, if available.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _now() -> float:
    return time.clock_gettime(_CLOCK)


class SchemaGuard:
    """Checks, at most once a second, whether this release can serve the database, on a separate connection; and
    whether it is a mirror, which only a process that ``imports`` may write."""

    def __init__(self, settings: Settings, limits: Limits = NONE, *, imports: bool = False) -> None:
        self._limits = limits
        self._imports = imports
        self.is_mirror = False
        self._engine: Engine = make_engine(settings, reads_only=True, limits=limits)
        if self._engine.dialect.name in {"mysql", "mariadb"}:
            event.listen(self._engine, "connect", _wait_for_the_cluster)
        self._asking = threading.Lock()
        self._asked = -math.inf
        self._failed = -math.inf
        self._failure = DatabaseAway()
        self._refusal: SchemaNotServed | None = None

    @property
    def is_refused(self) -> bool:
        """Return whether the last check failed."""
        return self._refusal is not None

    def require(self, *, writes: bool = False) -> None:
        """Raise SchemaNotServed unless this release can serve the database, DatabaseAway if that cannot be checked.

        ``writes``: raise IsMirror, too. Waits at most until this thread's deadline.
        """
        now = _now()
        age = now - self._asked
        if age >= CHECK_SECONDS and self._take_turn(must_wait=age >= schema.LEASE_SECONDS):
            try:
                if self._failed > now:  # another thread has checked while this one waited
                    raise self._failure
                if _now() - self._asked >= CHECK_SECONDS:
                    self._ask()
            finally:
                self._asking.release()
        self._raise_refusal(writes=writes)

    def check(self, *, deadline: float | None = None) -> None:
        """Like ``require``, but always check; until ``deadline`` (``time.monotonic()``), if given."""
        if deadline is None and remaining() is None and self._limits.transaction is not None:
            deadline = time.monotonic() + self._limits.transaction
        with nullcontext() if deadline is None else until(deadline):
            self._take_turn(must_wait=True)
            try:
                self._ask()
            finally:
                self._asking.release()
        self._raise_refusal()

    def confirm(self, connection: Connection) -> None:
        """Raise SchemaNotServed or IsMirror if what was written on ``connection`` must not be committed.

        On SQLite no other session can have changed the schema since this transaction began, so this is certain.
        Elsewhere the last check must be recent: a change of the schema waits longer than that.
        """
        if connection.dialect.name == "sqlite":
            self._confirm_sqlite(connection)
        elif _now() - self._asked >= schema.LEASE_SECONDS:
            row = connection.exec_driver_sql(schema_state.QUERY).first()
            self._judge(SchemaStatus(*row) if row else SchemaStatus(None))
        self._raise_refusal(writes=True)

    def dispose(self) -> None:
        """Close the connection."""
        self._engine.dispose()

    def _take_turn(self, *, must_wait: bool) -> bool:
        """Return whether this thread is to check. Raises DatabaseTimeout after a wait that was too long."""
        if not must_wait:
            return self._asking.acquire(blocking=False)
        left = remaining()
        if not self._asking.acquire(timeout=-1 if left is None else left):
            raise DatabaseTimeout
        return True

    def _confirm_sqlite(self, connection: Connection) -> None:
        driver: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
        try:
            row = driver.execute(schema_state.QUERY).fetchone()
        except sqlite3.Error:
            self.check()
        else:
            self._judge(SchemaStatus(*row) if row else SchemaStatus(None))

    def _ask(self) -> None:
        began = _now()
        try:
            state = schema.read_state(self._engine)
        except DatabaseAway as error:
            self._failed, self._failure = _now(), type(error)(**error.details)
            raise
        self._judge(state)
        self._asked = began

    def _judge(self, state: SchemaStatus) -> None:
        refused, self._refusal = self._refusal, schema_state.refusal(state)
        self.is_mirror = bool(state.is_mirror)
        if self._refusal is not None and refused is None:
            log.error("this release cannot serve the database's schema", reason=str(self._refusal))
        elif self._refusal is None and refused is not None:
            log.info("this release can serve the database's schema again", revision=state.revision)

    def _raise_refusal(self, *, writes: bool = False) -> None:
        refusal = self._refusal
        if refusal is not None:
            raise type(refusal)(**refusal.details)
        if writes and self.is_mirror and not self._imports:
            raise IsMirror


def _wait_for_the_cluster(connection: object, record: object) -> None:
    """On Galera: wait for all transactions committed in the cluster, instead of reading this server's present state."""
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute("SHOW VARIABLES LIKE 'wsrep_sync_wait'")
    if cursor.fetchone():
        cursor.execute("SET SESSION wsrep_sync_wait = 1")
    cursor.close()
