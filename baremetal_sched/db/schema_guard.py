"""A process serves the database only as long as the schema is one that its release can serve."""

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
from baremetal_sched.db.schema_state import SchemaState
from baremetal_sched.errors import DatabaseAway, DatabaseTimeout, SchemaNotServed
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

#: How often a process asks. Between that and ``schema.LEASE_SECONDS`` one thread asks, and the others go on.
CHECK_SECONDS = 1.0

#: A clock that goes on while the machine sleeps, where there is one.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def _now() -> float:
    return time.clock_gettime(_CLOCK)


class SchemaGuard:
    """Asks, at most once a second, whether this release can serve the database; on a connection of its own."""

    def __init__(self, settings: Settings, limits: Limits = NONE) -> None:
        self._limits = limits
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
        """Return whether the last answer was no."""
        return self._refusal is not None

    def require(self) -> None:
        """Raise SchemaNotServed unless this release can serve the database, DatabaseAway if it cannot be asked.

        It waits no longer than until the deadline of what this thread does.
        """
        now = _now()
        age = now - self._asked
        if age >= CHECK_SECONDS and self._take_turn(must_wait=age >= schema.LEASE_SECONDS):
            try:
                if self._failed > now:  # another thread has asked while this one waited
                    raise self._failure
                if _now() - self._asked >= CHECK_SECONDS:
                    self._ask()
            finally:
                self._asking.release()
        self._raise_refusal()

    def check(self, *, deadline: float | None = None) -> None:
        """Like ``require``, but ask in any case; until ``deadline`` (``time.monotonic()``), if it is given."""
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
        """Raise SchemaNotServed if what was written on ``connection`` must not be committed.

        On SQLite no other session can have changed the schema since this transaction began, so this settles it.
        Elsewhere the last answer has to be young enough: a change of the schema waits for longer than that.
        """
        if connection.dialect.name == "sqlite":
            self._confirm_sqlite(connection)
        elif _now() - self._asked >= schema.LEASE_SECONDS:
            row = connection.exec_driver_sql(schema_state.QUERY).first()
            self._judge(SchemaState(*row) if row else SchemaState(None))
        self._raise_refusal()

    def dispose(self) -> None:
        """Close its connection."""
        self._engine.dispose()

    def _take_turn(self, *, must_wait: bool) -> bool:
        """Return whether it is this thread's turn to ask. Raises DatabaseTimeout after a wait that was too long."""
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
            self._judge(SchemaState(*row) if row else SchemaState(None))

    def _ask(self) -> None:
        began = _now()
        try:
            state = schema.read_state(self._engine)
        except DatabaseAway as error:
            self._failed, self._failure = _now(), type(error)(**error.details)
            raise
        self._judge(state)
        self._asked = began

    def _judge(self, state: SchemaState) -> None:
        refused, self._refusal = self._refusal, schema_state.refusal(state)
        if self._refusal is not None and refused is None:
            log.error("this release cannot serve the database's schema", reason=str(self._refusal))
        elif self._refusal is None and refused is not None:
            log.info("this release can serve the database's schema again", revision=state.revision)

    def _raise_refusal(self) -> None:
        refusal = self._refusal
        if refusal is not None:
            raise type(refusal)(**refusal.details)


def _wait_for_the_cluster(connection: object, record: object) -> None:
    """On Galera: read what any server of the cluster has committed, not what this one has seen so far."""
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute("SHOW VARIABLES LIKE 'wsrep_sync_wait'")
    if cursor.fetchone():
        cursor.execute("SET SESSION wsrep_sync_wait = 1")
    cursor.close()
