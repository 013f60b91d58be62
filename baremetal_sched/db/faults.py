"""What a database error means for the transaction that met it."""

import enum
import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm.exc import StaleDataError


class Fault(enum.Enum):
    """RACE: another transaction was faster, run this one again. AWAY: no database to talk to. BUG: ours."""

    RACE = "race"
    AWAY = "away"
    BUG = "bug"


# serialization failure, deadlock, lock not available
_POSTGRESQL_RACES = {"40001", "40P01", "55P03"}
# too many connections, shutdown by the administrator, crash, not started yet, no such database, read only standby,
# transaction stood still for too long, no such table (a database without our schema)
_POSTGRESQL_AWAY = {"53300", "57P01", "57P02", "57P03", "3D000", "25006", "25P03", "42P01"}
# deadlock (on Galera: certification failed), lock wait time-out, record changed since it was read
_MYSQL_RACES = {1213, 1205, 1020}
# too many connections, no such database, not ready for queries (Galera), shutting down, killed, cannot connect, gone,
# lost, read only, no such table
_MYSQL_AWAY = {1040, 1049, 1047, 1053, 1927, 2002, 2003, 2006, 2013, 2055, 1290, 1836, 1146}


def classify(error: BaseException) -> Fault:
    """What ``error`` means. A violated key is a RACE: the checks come first, so only somebody faster can cause it, and
    the next run's checks see what he did and say it in words."""
    if isinstance(error, StaleDataError):
        return Fault.RACE
    if isinstance(error, IntegrityError):
        return Fault.RACE if _is_key_violation(error.orig) else Fault.BUG
    if isinstance(error, PoolTimeout):
        return Fault.AWAY
    if not isinstance(error, DBAPIError):
        return Fault.BUG
    if error.connection_invalidated:
        return Fault.AWAY
    original: Any = error.orig
    if isinstance(original, sqlite3.Error):
        return _classify_sqlite(original)
    if _is_mysql(original):
        return _classify_mysql(original)
    return _classify_postgresql(original)


def _classify_sqlite(error: sqlite3.Error) -> Fault:
    text = str(error)
    if "locked" in text or "busy" in text:
        return Fault.RACE
    if any(words in text for words in ("unable to open", "disk I/O", "readonly", "disk is full", "no such table")):
        return Fault.AWAY
    return Fault.BUG


def _classify_postgresql(error: Any) -> Fault:
    state = error.sqlstate
    if state in _POSTGRESQL_RACES:
        return Fault.RACE
    # A connection that was never made has no state.
    if state in _POSTGRESQL_AWAY or (state or "").startswith("08") or (state is None and _is_operational(error)):
        return Fault.AWAY
    return Fault.BUG


def _classify_mysql(error: Any) -> Fault:
    number = error.args[0] if getattr(error, "args", None) else None
    if number in _MYSQL_RACES:
        return Fault.RACE
    # (0, "") is PyMySQL's word for a connection that somebody closed.
    if number in _MYSQL_AWAY or number == 0:
        return Fault.AWAY
    return Fault.BUG


def _is_key_violation(error: Any) -> bool:
    """Is it a unique or a foreign key (and not, say, a NULL where none may be)?"""
    if isinstance(error, sqlite3.Error):
        return "UNIQUE" in str(error) or "FOREIGN KEY" in str(error)
    if _is_mysql(error):
        return error.args[0] in {1062, 1451, 1452, 1216, 1217}
    return error.sqlstate in {"23503", "23505"}


def _is_mysql(error: Any) -> bool:
    return type(error).__module__.startswith("pymysql")


def _is_operational(error: Any) -> bool:
    return type(error).__name__ in {"OperationalError", "ConnectionTimeout", "InterfaceError"}
