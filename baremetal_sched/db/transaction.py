"""The transaction runner: the only place that begins, retries and commits."""

import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import structlog
from sqlalchemy import Connection
from sqlalchemy.orm import Session, sessionmaker

from baremetal_sched.db.engine import WRITES, make_engine
from baremetal_sched.db.faults import Fault, classify
from baremetal_sched.errors import CommitUnknown, DatabaseAway, TooManyConflicts
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)
T = TypeVar("T")

#: What selects columns: a view that needs no entity is given a connection, which costs a fraction of a session.
Reader = Session | Connection
_Reader = TypeVar("_Reader", Session, Connection)

_REMEMBERED = "remembered"

_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.5


def connection_of(reader: Reader) -> Connection:
    """The connection that ``reader`` is or uses."""
    return reader if isinstance(reader, Connection) else reader.connection()


def remembered(reader: Reader) -> dict[Any, Any]:
    """What this process remembers of rows that never change, as long as they are there."""
    memory: dict[Any, Any] = _notes(reader).get(_REMEMBERED, {})
    return memory


def remembers(reader: Reader) -> bool:
    """Does this process remember anything?"""
    return _REMEMBERED in _notes(reader)


def _notes(reader: Reader) -> Mapping[Any, Any]:
    return reader.info if isinstance(reader, Session) else reader.get_execution_options()


class Database:
    """The database of the settings, and the three ways to use it.

    ``read`` and ``write`` run ``work(session)``, ``select`` runs ``work(connection)``, in one transaction, and return
    what it returns. ``work`` may be run several times, so it must have no effect outside its session. An error that it
    raises rolls everything back and is passed on; whoever lost a deadlock, a serialization or a race on a key is run
    again.

    Raises DatabaseAway if the database cannot be reached (CommitUnknown: lost while it committed, which may have
    happened), TooManyConflicts if every attempt lost.
    """

    def __init__(self, settings: Settings) -> None:
        self.engine = make_engine(settings)
        in_process = self.engine.dialect.name == "sqlite"
        self.reading_engine = self.engine if in_process else make_engine(settings, reads_only=True)
        # Nothing is remembered with SQLite, which gives ids out again.
        self._memory: dict[Any, Any] = {}
        info = {} if in_process else {_REMEMBERED: self._memory}
        self._attempts: int = settings.database.transaction_retries
        self._readers = sessionmaker(self.reading_engine, autoflush=False, expire_on_commit=False, info=info)
        self._writers = sessionmaker(
            self.engine.execution_options(**{WRITES: True}), autoflush=False, expire_on_commit=False, info=info
        )
        self._selecting = self.reading_engine.execution_options(**info)

    def read(self, work: Callable[[Session], T]) -> T:
        """Run ``work``, which writes nothing."""
        return self._run(self._readers, work, commit=False)

    def select(self, work: Callable[[Connection], T]) -> T:
        """Run ``work``, which selects columns and no entities."""
        return self._run(self._selecting.connect, work, commit=False)

    def write(self, work: Callable[[Session], T]) -> T:
        """Run ``work`` and commit what it wrote, all or nothing."""

        def flushed(session: Session) -> T:
            result = work(session)
            session.flush()
            return result

        return self._run(self._writers, flushed, commit=True)

    def dispose(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        self.reading_engine.dispose()

    def _run(
        self, opened: Callable[[], AbstractContextManager[_Reader]], work: Callable[[_Reader], T], *, commit: bool
    ) -> T:
        reconnected = False
        attempt = 0
        while True:
            attempt += 1
            committing = False
            try:
                with opened() as reader:
                    result = work(reader)
                    if commit:
                        committing = True
                        reader.commit()
                    return result
            except Exception as error:
                fault = classify(error)
                if fault is Fault.BUG:
                    raise
                # What was remembered may be why it failed: a trait that is gone, or that was rolled back.
                self._memory.clear()
                log.info("transaction failed", attempt=attempt, fault=fault.value, error=str(error).split("\n")[0])
                is_last = attempt >= self._attempts
                if fault is Fault.AWAY:
                    # Connections of the pool die when the database restarts: try a new one, once. Not after a commit
                    # whose answer was lost, which may have happened.
                    if committing:
                        raise CommitUnknown from error
                    if is_last or reconnected:
                        raise DatabaseAway from error
                    reconnected = True
                    continue
                if is_last:
                    raise TooManyConflicts(attempts=self._attempts) from error
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**attempt)
            time.sleep(random.uniform(0, pause))  # noqa: S311 - jitter, not a secret
