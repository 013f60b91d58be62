"""Prepared statements on MariaDB: frequent statements are parsed only once for each connection.

Parsing a long statement takes MariaDB longer than finding one row. psycopg and SQLite's driver prepare frequent
statements by themselves; PyMySQL and mysqlclient cannot, so it is done in SQL:

PREPARE often_1 FROM 'SELECT … WHERE uuid = ?'
EXECUTE often_1 USING '…'

MariaDB accepts values after USING (seen on 10.11). MySQL accepts only variables, so there statements are sent
unchanged.
"""

import re
from collections import OrderedDict
from itertools import count
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError

from baremetal_sched.db import first_error
from baremetal_sched.db.faults import mysql_code

#: Number of executions on a connection after which a statement is prepared, as in psycopg.
_OFTEN = 5

#: Number of statements that a connection remembers, prepared or not: the latest ones. A server has room for 16,382
#: prepared statements, over all its connections.
_REMEMBERED = 100

_PREPARABLE = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)
_PARAMETER = re.compile(r"%\((.+?)\)s")

#: The server does not know the prepared statement (a proxy switched connections), or its tables change all the time.
_LOST = {1243, 1615}

#: There is no room for more, it cannot be prepared, or the connection is lost.
_HARMLESS = {1461, 1295, 0, 2006, 2013, 2055}


def listen(engine: Engine) -> None:
    """Prepare frequent statements on this engine's connections to MariaDB."""
    event.listen(engine, "before_cursor_execute", _prepared, retval=True)
    event.listen(engine, "handle_error", _give_up)


def _prepared(
    connection: Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> tuple[str, Any]:
    """Return the text to send instead of ``statement``, and its parameters."""
    if executemany or not getattr(connection.dialect, "is_mariadb", False):
        return statement, parameters
    known: _Statements | None = connection.info.get(_Statements)
    if known is None:
        known = connection.info[_Statements] = _Statements(connection.dialect.loaded_dbapi.Error)
    return known.call(cursor, statement), parameters


def _give_up(context: ExceptionContext) -> None:
    """Discard a connection that lost its prepared statements."""
    error = context.original_exception
    if isinstance(error, context.dialect.loaded_dbapi.Error) and mysql_code(error) in _LOST:
        context.is_disconnect = True


class _Statements:
    """The statements of one connection: how often each was sent or, if often, what to send instead.

    ``error``: the base of the driver's exceptions.
    """

    def __init__(self, error: type[Exception]) -> None:
        self._error = error
        self._known: OrderedDict[str, int | str] = OrderedDict()
        self._numbers = count(1)

    def call(self, cursor: Any, statement: str) -> str:
        """Return ``statement``, or its EXECUTE with the same parameters ``%(name)s``."""
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
        """Return whether it succeeded; if not, the following statement reports the error, or works unchanged.

        Raises any other error. It may have ended the transaction, which the following statement would not notice: on
        Galera, the next statement receives the deadlock error, and the one after it begins another transaction.
        """
        try:
            cursor.execute(statement, parameters)
        except self._error as error:
            if mysql_code(error) in _HARMLESS:
                return False
            # SQLAlchemy neither wraps nor reports exceptions raised here.
            wrapped = OperationalError(statement, None, error, hide_parameters=True)
            first_error.note(wrapped)
            raise wrapped from error
        return True
