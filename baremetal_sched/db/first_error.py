"""The first error of a transaction decides what becomes of it.

A server that aborts a transaction (a deadlock, or a failed certification on Galera) ends its savepoints, too. Later
statements fail in another way or, on MariaDB (seen on 10.11), begin another transaction. So after one of these errors
no savepoint is rolled back, nothing is committed, and the first error counts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import IntegrityError

from baremetal_sched.db.faults import Fault, classify
from baremetal_sched.errors import SchedulerError

#: Errors after which a transaction may continue from a savepoint: the server has undone the statement, or everything
#: after the savepoint.
_SPARE_SAVEPOINTS = frozenset({Fault.BUG, Fault.TIMEOUT})


@dataclass
class FirstError:
    """The first error that ended a transaction; None until then."""

    error: Exception | None = None

    def require_none(self) -> None:
        """Raise the error if there is one."""
        if self.error is not None:
            raise self.error

    def decide(self, error: Exception) -> Exception:
        """Return the error that counts if ``error`` is raised in the end: the first, unless this is the answer to a
        request. A lost race has no answer."""
        if self.error is None or (isinstance(error, SchedulerError) and classify(self.error) is not Fault.RACE):
            return error
        return self.error


_current: ContextVar[FirstError | None] = ContextVar("first_error", default=None)


@contextmanager
def noted() -> Iterator[FirstError]:
    """Note the first error of the transaction within this context."""
    first = FirstError()
    token = _current.set(first)
    try:
        yield first
    finally:
        _current.reset(token)


def note(error: Exception) -> None:
    """Note an error of a statement, if it ends the transaction."""
    first = _current.get()
    if first is None or first.error is not None or isinstance(error, IntegrityError):
        return
    if classify(error) not in _SPARE_SAVEPOINTS:
        first.error = error


def listen(engine: Engine) -> None:
    """Let the first error decide in the transactions of the engine."""
    event.listen(engine, "handle_error", _note)
    for name in ("commit", "savepoint", "release_savepoint"):
        event.listen(engine, name, _require_none)
    roll_back = engine.dialect.do_rollback_to_savepoint

    def roll_back_what_is_there(connection: Connection, name: str) -> None:
        first = _current.get()
        if first is None or first.error is None:
            roll_back(connection, name)

    # There is no event by which it could be left out.
    engine.dialect.do_rollback_to_savepoint = roll_back_what_is_there  # type: ignore[method-assign]


def _note(context: ExceptionContext) -> None:
    if context.sqlalchemy_exception is not None:
        note(context.sqlalchemy_exception)


def _require_none(*_: Any) -> None:
    first = _current.get()
    if first is not None:
        first.require_none()
