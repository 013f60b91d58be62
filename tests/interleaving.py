"""Changes of another transaction between two statements of this one, without luck."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from baremetal_sched.db.transaction import Database


@contextmanager
def just_before(database: Database, beginning: str, change: str, *, in_parts: bool = False) -> Iterator[list[str]]:
    """Run ``change`` before each statement that begins with ``beginning``; yields these statements. ``in_parts``: and
    before each with a part (WITH) that begins so.

    It is run in the same transaction, which sees it as what another has just committed. (With SQLite no other could.)
    """
    seen: list[str] = []
    is_changing = False

    def interrupt(connection: Any, cursor: Any, sent: str, parameters: Any, context: Any, many: bool) -> None:
        nonlocal is_changing
        statement = context.statement if context is not None else sent
        text = statement or ""
        begins = text.startswith(beginning) or (in_parts and f"({beginning}" in text)
        if not is_changing and begins:
            is_changing = True
            connection.exec_driver_sql(change)
            is_changing = False
            seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", interrupt)
    try:
        yield seen
    finally:
        event.remove(database.engine, "before_cursor_execute", interrupt)


#: Statements that fail as one does whose transaction the server aborts.
_ABORTED = {
    "mysql": "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'",
    "postgresql": "DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$",
}


@contextmanager
def aborted_within_savepoint(database: Database, place: int) -> Iterator[list[str]]:
    """Have the server abort the first transaction that gets so far at its statement ``place`` (from 1) within a
    savepoint: it rolls back all of it, savepoints included, and reports a deadlock. Yields that statement."""
    seen: list[str] = []
    inside = 0

    def abort(connection: Any, cursor: Any, sent: str, parameters: Any, context: Any, many: bool) -> tuple[str, Any]:
        nonlocal inside
        inside = 1 if sent.startswith("SAVEPOINT") else inside + 1 if inside else 0
        if inside != place or seen:
            return sent, parameters
        seen.append(sent)
        cursor.execute("ROLLBACK")
        name = "postgresql" if connection.dialect.name == "postgresql" else "mysql"
        return _ABORTED[name], [()] if many else ()

    def leave(connection: Any, cursor: Any, sent: str, *_: Any) -> None:
        nonlocal inside
        if sent.startswith(("RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")):
            inside = 0

    def end(connection: Any) -> None:
        nonlocal inside
        inside = 0

    listeners = (("before_cursor_execute", abort), ("after_cursor_execute", leave), ("rollback", end), ("commit", end))
    for name, listener in listeners:
        event.listen(database.engine, name, listener, retval=listener is abort)
    try:
        yield seen
    finally:
        for name, listener in listeners:
            event.remove(database.engine, name, listener)
