"""What another transaction does between two statements of this one, without luck."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from baremetal_sched.db.transaction import Database


@contextmanager
def just_before(database: Database, beginning: str, change: str) -> Iterator[list[str]]:
    """Run ``change`` before each statement that begins with ``beginning``; yields those that it was run before.

    It is run in the same transaction, which sees it as what another has just committed. (With SQLite no other could.)
    """
    seen: list[str] = []
    is_changing = False

    def interrupt(connection: Any, cursor: Any, sent: str, parameters: Any, context: Any, many: bool) -> None:
        nonlocal is_changing
        statement = context.statement if context is not None else sent
        if not is_changing and (statement or "").startswith(beginning):
            is_changing = True
            connection.exec_driver_sql(change)
            is_changing = False
            seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", interrupt)
    try:
        yield seen
    finally:
        event.remove(database.engine, "before_cursor_execute", interrupt)
