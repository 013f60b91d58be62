"""Statements that come again and again, which MariaDB parses once for each connection.

To parse a long statement takes MariaDB longer than to find one row. psycopg and SQLite's driver prepare what they are
asked often by themselves; PyMySQL and mysqlclient cannot, so it is done in SQL:

    PREPARE often_1 FROM 'SELECT … WHERE uuid = ?'
    EXECUTE often_1 USING '…'

MySQL takes nothing but variables after USING, so it is sent every statement as it is.
"""

import re
from collections import OrderedDict
from itertools import count
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError

from baremetal_sched.db.faults import mysql_code

#: A statement that comes as often as this to a connection is prepared: as often as psycopg waits.
_OFTEN = 5

#: So many statements a connection remembers, prepared or not: those that it was sent last. A server has room for 16,382
#: that are prepared, of all its connections together.
_REMEMBERED = 100

_PREPARABLE = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
_PARAMETER = re.compile(r"%\((.+?)\)s")

#: The server does not know what was prepared (a proxy between us changed it), or its tables change all the time.
_LOST = {1243, 1615}

#: There is no room for more, it cannot be prepared, or the connection is lost.
_HARMLESS = {1461, 1295, 0, 2006, 2013, 2055}


def listen(engine: Engine) -> None:
    """Prepare on this engine's connections what they are sent often, if they lead to MariaDB."""
    event.listen(engine, "before_cursor_execute", _prepared, retval=True)
    event.listen(engine, "handle_error", _give_up)


def _prepared(
    connection: Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> tuple[str, Any]:
    """What is sent for ``statement``, and its parameters."""
    if executemany or not getattr(connection.dialect, "is_mariadb", False):
        return statement, parameters
    known: _Statements | None = connection.info.get(_Statements)
    if known is None:
        known = connection.info[_Statements] = _Statements(connection.dialect.loaded_dbapi.Error)
    return known.call(cursor, statement), parameters


def _give_up(context: ExceptionContext) -> None:
    """A connection that lost what it had prepared is of no use any more."""
    error = context.original_exception
    if isinstance(error, context.dialect.loaded_dbapi.Error) and mysql_code(error) in _LOST:
        context.is_disconnect = True


class _Statements:
    """What one connection was sent: how often or, if that was often, what to send instead.

    ``error``: what its driver raises.
    """

    def __init__(self, error: type[Exception]) -> None:
        self._error = error
        self._known: OrderedDict[str, int | str] = OrderedDict()
        self._numbers = count(1)

    def call(self, cursor: Any, statement: str) -> str:
        """``statement``, or the EXECUTE that stands for it and has the same parameters ``%(name)s``."""
        known = self._known.get(statement, 0)
        if isinstance(known, int):
            known = known + 1 if known < _OFTEN else self._prepare(cursor, statement)
            self._known[statement] = known
        self._known.move_to_end(statement)
        if len(self._known) > _REMEMBERED:
            self._forget(cursor)
        return known if isinstance(known, str) else statement

    def _prepare(self, cursor: Any, statement: str) -> str:
        if not _PREPARABLE.match(statement):
            return statement
        name = f"often_{next(self._numbers)}"
        parameters = _PARAMETER.findall(statement)
        if not self._execute(cursor, f"PREPARE {name} FROM %s", [statement % dict.fromkeys(parameters, "?")]):
            return statement
        given = ", ".join(f"%({parameter})s" for parameter in parameters)
        return f"EXECUTE {name} USING {given}" if given else f"EXECUTE {name}"

    def _forget(self, cursor: Any) -> None:
        _, oldest = self._known.popitem(last=False)
        if isinstance(oldest, str) and oldest.startswith("EXECUTE"):
            self._execute(cursor, f"DEALLOCATE PREPARE {oldest.split()[1]}")

    def _execute(self, cursor: Any, statement: str, parameters: list[str] | None = None) -> bool:
        """Return whether it worked; if not, the statement that is to follow says why, or works as it is.

        Raises any other error. It may have ended the transaction, of which that statement would not know: on Galera,
        whatever is sent next is told of the deadlock, and what follows begins another transaction.
        """
        try:
            cursor.execute(statement, parameters)
        except self._error as error:
            if mysql_code(error) in _HARMLESS:
                return False
            # SQLAlchemy does not wrap what is raised here.
            raise OperationalError(statement, None, error, hide_parameters=True) from error
        return True
