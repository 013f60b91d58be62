"""The transaction runner: the only place that begins, retries and commits."""

import logging
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar

import structlog
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, sessionmaker

from baremetal_sched.db import first_error
from baremetal_sched.db.deadline import until
from baremetal_sched.db.engine import SINGLE, WRITES, make_engine
from baremetal_sched.db.faults import COMMIT_UNKNOWN, TRANSIENT, Fault, classify, unavailable
from baremetal_sched.db.handover import Attempts, Handover
from baremetal_sched.db.limits import NONE, Limits
from baremetal_sched.db.notes import WRITES_EVENTS, MachineLocked, Notes, WaitedFor, listen, notes_of
from baremetal_sched.db.schema_guard import SchemaGuard
from baremetal_sched.db.sizes import check_flush
from baremetal_sched.db.snapshot import open_snapshot
from baremetal_sched.db.types import CACHE, Writer, connection_of
from baremetal_sched.db.write_health import WriteHealth, write_and_delete
from baremetal_sched.errors import (
    CommitUnknown,
    DatabaseDenied,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseTimeout,
    LockTimeout,
    TooManyConflicts,
)
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)
T = TypeVar("T")
_Reader = TypeVar("_Reader", Session, Connection)

_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.5

#: Seconds that a snapshot may take in a process with limits.
_LONGEST_SNAPSHOT = 3600


class Database:
    """The configured database, and the five kinds of transactions.

    ``read``, ``snapshot`` and ``write`` run ``work(session)``, ``select`` and ``change`` run ``work(connection)``, in
    one transaction, and return its result. ``work`` may run several times, so it must have no effects outside the
    transaction. If it raises an error, everything is rolled back and the error is passed on; after a deadlock, a
    serialization failure or a race on a key it is retried.

    ``deadline``, by ``time.monotonic()``, is when each of them gives up; without it, ``limits`` apply. Raises
    subclasses of DatabaseAway if the database cannot serve (CommitUnknown: the commit failed, and may have taken
    effect; DatabaseTimeout: the deadline passed; LockTimeout); TooManyConflicts if every attempt lost a race;
    DocumentTooLarge; SchemaNotServed if this release cannot serve the database's schema; IsMirror if the database is a
    mirror, for writes of a process that does not import (``imports``).
    """

    #: Serves claims that wait, at the end of transactions that write; None: no machine is handed over.
    handover: Handover | None = None

    #: Called after the commit of a transaction that requests work from a conductor: wakes one on this machine.
    on_work: Callable[[], object] | None = None

    def __init__(self, settings: Settings, limits: Limits = NONE, *, imports: bool = False) -> None:
        self.limits = limits
        self.engine = make_engine(settings, limits=limits)
        self.schema = SchemaGuard(settings, limits, imports=imports)
        in_process = self.engine.dialect.name == "sqlite"
        self.reading_engine = self.engine if in_process else make_engine(settings, reads_only=True, limits=limits)
        self.idle_limit: float | None = None if in_process else settings.database.idle_transaction_timeout
        # Nothing is cached with SQLite, which reuses ids.
        self._memory: dict[Any, Any] = {}
        self.writes = WriteHealth()
        info = {} if in_process else {CACHE: self._memory}
        self.attempts: int = settings.database.transaction_retries
        self._readers = sessionmaker(self.reading_engine, autoflush=False, expire_on_commit=False, info=info)
        writes = {WRITES: True, WRITES_EVENTS: settings.events.enabled and not imports}
        self._writers = sessionmaker(
            self.engine.execution_options(**writes), autoflush=False, expire_on_commit=False, info=info
        )
        event.listen(self._writers, "before_flush", check_flush)
        listen(self.engine, self._writers)
        self._selecting = self.reading_engine.execution_options(**{SINGLE: not in_process}, **info)
        self._changing = self.engine.execution_options(**writes, **info)

    def read(self, work: Callable[[Session], T], *, deadline: float | None = None) -> T:
        """Run ``work``, which writes nothing.

        On PostgreSQL, MariaDB and MySQL each of its statements sees its own moment of the database; on SQLite all see
        the same. Work that compares what several statements return uses ``snapshot``.
        """
        return self._run(self._readers, work, deadline, commit=False)

    def snapshot(self, work: Callable[[Session], T]) -> T:
        """Run ``work``, which writes nothing, and whose statements all see the same state of the database.

        For work that compares what several statements return; it may take as long as it needs.
        """
        deadline = None if self.limits.transaction is None else time.monotonic() + _LONGEST_SNAPSHOT
        return self._run(lambda: open_snapshot(self.engine), work, deadline, commit=False)

    def select(self, work: Callable[[Connection], T], *, deadline: float | None = None) -> T:
        """Run ``work``, which selects columns and no entities. Its statements see what those of ``read`` do."""
        return self._run(self._selecting.connect, work, deadline, commit=False)

    def write(self, work: Callable[[Session], T], *, deadline: float | None = None) -> T:
        """Run ``work`` and commit its writes as a whole."""

        def flushed(session: Session) -> T:
            result = work(session)
            session.flush()
            return result

        return self._write(self._writers, flushed, deadline)

    def change(self, work: Callable[[Connection], T], *, deadline: float | None = None) -> T:
        """Run ``work``, which executes statements without entities, and commit its writes as a whole.

        It triggers none of the consequences of changed entities, in particular not those of nodes.
        """
        return self._write(self._changing.connect, work, deadline)

    def _write(
        self,
        opened: Callable[[], AbstractContextManager[_Reader]],
        work: Callable[[_Reader], T],
        deadline: float | None,
    ) -> T:
        started, notes = time.monotonic(), Notes()
        attempts = Attempts(self.handover, self.attempts)

        def served(writer: _Reader) -> T:
            nonlocal notes
            attempts.begin(lambda: connection_of(writer))
            try:
                result = work(writer)
                notes = notes_of(writer)
                if attempts.hands_over:
                    self._hand_over(writer, notes)
                notes.write(connection_of(writer))
            except MachineLocked as error:
                attempts.lock_first(error.node)
                raise
            return result

        if deadline is None and self.limits.transaction is not None:
            deadline = started + self.limits.transaction
        try:
            result = self._run_surely(opened, served, deadline, attempts)
        except (DatabaseFull, DatabaseReadOnly, DatabaseDenied) as error:
            self.writes.failed(error)
            raise
        self.writes.succeeded()
        if notes.requests_work and self.on_work is not None:
            self.on_work()
        attempts.look_after(notes, deadline)
        return result

    def _run_surely(
        self,
        opened: Callable[[], AbstractContextManager[_Reader]],
        work: Callable[[_Reader], T],
        deadline: float | None,
        attempts: Attempts,
    ) -> T:
        """Run the work. Run it again after the machines that it claims were offered to waiting claims first, and again
        if others keep machines locked that it would hand over."""
        while True:
            try:
                return self._run(opened, work, deadline, commit=True)
            except LockTimeout:
                if not attempts.is_locking:
                    raise
                attempts.given_up, attempts.is_locking = True, False
            except WaitedFor as error:
                if self.handover is not None:
                    self.handover.offer(error.machines, deadline)
                attempts.offered |= error.machines

    def _hand_over(self, writer: Writer, notes: Notes) -> None:
        """Give the machines that the transaction has freed to waiting requests, before it commits."""
        if self.handover is None or not notes.is_wanted():
            return
        connection = connection_of(writer)
        machines = self.handover.wanted(connection, notes)
        if not machines:
            return
        if isinstance(writer, Session):
            self.handover.serve(writer, machines)
            writer.flush()
            return
        # It takes part in the transaction of the connection, which is committed by its owner.
        with self._writers(bind=connection) as session:
            self.handover.serve(session, machines)
            session.flush()

    def check_writable(self, *, deadline: float | None = None) -> None:
        """Raise the error that a writing transaction would raise if nothing can be written now.

        If this process has not written for a while, a row is written and deleted to find out. A lock held by another
        session is not an error here, nor is a mirror.
        """
        if self.writes.is_known() or self.schema.is_mirror:
            return
        with suppress(LockTimeout, TooManyConflicts):
            self.write(write_and_delete, deadline=deadline)

    def dispose(self) -> None:
        """Close every connection."""
        self.schema.dispose()
        self.engine.dispose()
        self.reading_engine.dispose()

    def _run(
        self,
        opened: Callable[[], AbstractContextManager[_Reader]],
        work: Callable[[_Reader], T],
        deadline: float | None,
        *,
        commit: bool,
    ) -> T:
        started = time.monotonic()
        if deadline is None and self.limits.transaction is not None:
            deadline = started + self.limits.transaction
        with until(deadline):
            return self._attempt(opened, work, _Patience(self, started, deadline), commit=commit)

    def _attempt(
        self,
        opened: Callable[[], AbstractContextManager[_Reader]],
        work: Callable[[_Reader], T],
        patience: "_Patience",
        *,
        commit: bool,
    ) -> T:
        while True:
            patience.begin()
            committing = False
            self.schema.require(writes=commit)
            with first_error.noted() as first:
                try:
                    with opened() as reader:
                        result = work(reader)
                        if commit:
                            self.schema.confirm(connection_of(reader))
                            first.require_none()
                            committing = True
                            reader.commit()
                        return result
                except Exception as last:
                    error = first.decide(last)
            fault = classify(error)
            if fault is Fault.EMPTY or (fault is Fault.BUG and isinstance(error, DBAPIError)):
                self.schema.check()  # it may have changed since
            if fault is Fault.BUG:
                raise error
            # The cache may be the cause: a trait that was deleted, or rolled back.
            self._memory.clear()
            pause = patience.after(error, fault, committing=committing)
            time.sleep(random.uniform(0, pause))  # noqa: S311 - jitter, not a secret


class _Patience:
    """The limits of attempts of a transaction, in number and time."""

    def __init__(self, database: Database, started: float, deadline: float | None) -> None:
        self._most = database.attempts
        self._idle_limit = database.idle_limit
        self._lock_limit = database.limits.lock
        self._started = self._began = started
        self._deadline = deadline
        self._attempt = 0
        self._reconnected = False

    def begin(self) -> None:
        """Call before each attempt. Raises DatabaseTimeout if the deadline has passed."""
        self._attempt += 1
        self._began = time.monotonic()
        if self._is_late():
            raise DatabaseTimeout

    def after(self, error: Exception, fault: Fault, *, committing: bool) -> float:
        """Return the maximum pause before the next attempt; or raise the error to report instead of ``error``."""
        now = time.monotonic()
        if fault is Fault.AWAY and self._idle_limit is not None and now - self._began >= self._idle_limit:
            # MariaDB closes the connection silently (seen on 10.11); a server that was not reached at all is another
            # case.
            fault = Fault.IDLE if getattr(error, "connection_invalidated", False) else fault
        # If the database is unavailable, the caller logs it.
        level = logging.DEBUG if fault in TRANSIENT else logging.INFO
        log.log(level, "transaction failed", attempt=self._attempt, fault=fault.value, error=str(error).split("\n")[0])
        if committing and fault in COMMIT_UNKNOWN:
            raise CommitUnknown from error
        if self._is_late():
            raise DatabaseTimeout from error
        is_last = self._attempt >= self._most
        if fault is Fault.LOCKED and self._lock_limit is None:
            fault = Fault.RACE
        if fault is Fault.RACE:
            if is_last:
                raise TooManyConflicts(attempts=self._attempt) from error
        elif fault is Fault.LOCKED:
            # The attempt waited until its limit; or it was refused at once, and may be retried.
            if is_last or (self._lock_limit is not None and now - self._started >= self._lock_limit):
                raise unavailable(error, fault) from error
        elif fault not in TRANSIENT or is_last or self._reconnected:
            raise unavailable(error, fault) from error
        else:
            # Pooled connections are lost when the database restarts: try a new one, once.
            self._reconnected = True
        pause: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self._attempt)
        return pause

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline
