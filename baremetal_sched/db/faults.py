"""Classification of database errors: what they mean for a transaction, and how they are reported."""

import enum
import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched import errors


class Fault(enum.Enum):
    """The kind of error: a lost RACE (retry this transaction), a BUG of this service, or a database that cannot serve
    now."""

    BUG = "bug"
    #: Another transaction was faster.
    RACE = "race"
    #: Another session held a lock for too long.
    LOCKED = "locked"
    #: No connection, or it was lost.
    AWAY = "away"
    #: The server ended the transaction because it was idle.
    IDLE = "idle"
    #: The server interrupted the statement, on behalf of an administrator or of the cluster.
    INTERRUPTED = "interrupted"
    #: The commit failed, and its outcome is unknown.
    COMMIT = "commit"
    #: The statement took too long.
    TIMEOUT = "timeout"
    #: No space left.
    FULL = "full"
    READ_ONLY = "read-only"
    #: Too many connections, or another quota.
    OVERLOADED = "overloaded"
    #: The database does not exist.
    MISSING = "missing"
    #: The name of the server's host cannot be resolved.
    HOST = "host unknown"
    #: The file, or its directory, is missing or may not be used.
    FILE = "file unusable"
    #: An unknown user, a wrong password, a host that may not connect.
    LOGIN = "login refused"
    #: The user lacks privileges.
    DENIED = "denied"
    #: The database lacks the tables of this service.
    EMPTY = "empty"
    #: The file is not a database, or is damaged.
    CORRUPT = "corrupt"
    #: More than the server sends or accepts in one packet.
    PACKET = "packet too large"


#: After these, the same transaction may succeed on another connection: it is retried once. A server that refuses writes
#: may have become a standby, and a new connection may reach its successor.
TRANSIENT = frozenset(
    {Fault.AWAY, Fault.HOST, Fault.FILE, Fault.IDLE, Fault.INTERRUPTED, Fault.OVERLOADED, Fault.READ_ONLY}
)

#: If one of these ends a commit, its outcome is unknown.
COMMIT_UNKNOWN = frozenset({Fault.AWAY, Fault.FILE, Fault.INTERRUPTED, Fault.COMMIT, Fault.IDLE})

#: The exceptions raised for each kind; see ``unavailable``.
_ERRORS: dict[Fault, type[errors.SchedulerError]] = {
    Fault.LOCKED: errors.LockTimeout,
    Fault.IDLE: errors.TransactionEnded,
    Fault.INTERRUPTED: errors.StatementInterrupted,
    Fault.COMMIT: errors.CommitUnknown,
    Fault.TIMEOUT: errors.DatabaseTimeout,
    Fault.FULL: errors.DatabaseFull,
    Fault.READ_ONLY: errors.DatabaseReadOnly,
    Fault.OVERLOADED: errors.DatabaseOverloaded,
    Fault.MISSING: errors.DatabaseMissing,
    Fault.HOST: errors.DatabaseHostUnknown,
    Fault.FILE: errors.DatabaseFileUnusable,
    Fault.LOGIN: errors.DatabaseLoginRefused,
    Fault.DENIED: errors.DatabaseDenied,
    Fault.EMPTY: errors.DatabaseEmpty,
    Fault.CORRUPT: errors.DatabaseCorrupt,
    Fault.PACKET: errors.PacketTooLarge,
}

_POSTGRESQL: dict[str, Fault] = {
    "40001": Fault.RACE,  # serialization failure
    "40P01": Fault.RACE,  # deadlock
    "55P03": Fault.LOCKED,  # lock_timeout
    "57014": Fault.INTERRUPTED,  # cancelled; by statement_timeout: see _classify_postgresql
    "25P03": Fault.IDLE,  # idle_in_transaction_session_timeout
    "57P01": Fault.AWAY,  # ended by the administrator
    "57P02": Fault.AWAY,  # crash
    "57P03": Fault.AWAY,  # starting, or stopping
    "57P05": Fault.AWAY,  # idle_session_timeout
    "58000": Fault.AWAY,  # an error of the server's operating system
    "58030": Fault.AWAY,  # the same, of its files
    "53100": Fault.FULL,  # disk full
    "25006": Fault.READ_ONLY,  # a standby, or default_transaction_read_only
    "53000": Fault.OVERLOADED,  # insufficient resources
    "53200": Fault.OVERLOADED,  # out of memory
    "53300": Fault.OVERLOADED,  # too many connections
    "53400": Fault.OVERLOADED,  # a configured limit
    "3D000": Fault.MISSING,  # no such database
    "57P04": Fault.MISSING,  # it was dropped since
    "28000": Fault.LOGIN,  # no such user, or no entry for it in pg_hba.conf
    "28P01": Fault.LOGIN,  # wrong password
    "42501": Fault.DENIED,
    "42P01": Fault.EMPTY,  # no such table
}

#: A failed connection attempt has no code, only a message (in English, if the server's messages are).
_POSTGRESQL_LOGIN: tuple[tuple[str, Fault], ...] = (
    ("password authentication failed", Fault.LOGIN),
    ("no password supplied", Fault.LOGIN),
    ("authentication failed", Fault.LOGIN),
    ("no pg_hba.conf entry", Fault.LOGIN),
    ("pg_hba.conf rejects", Fault.LOGIN),
    ("is not permitted to log in", Fault.LOGIN),
    ("permission denied for database", Fault.DENIED),
    ("too many clients already", Fault.OVERLOADED),
    ("too many connections for", Fault.OVERLOADED),
    ("connection slots are reserved", Fault.OVERLOADED),
)

#: How drivers report a host name that has no address. A resolver that fails for a while is reported in other words.
_NO_ADDRESS = ("[Errno -2]", "[Errno -5]", "' (-2)", "' (-5)", "Name or service not known", "No address associated")

_MYSQL: dict[int, Fault] = {
    1213: Fault.RACE,  # deadlock; on Galera: certification failed
    1020: Fault.RACE,  # record changed since it was read
    1412: Fault.RACE,  # the table was altered since the transaction began
    1205: Fault.LOCKED,  # innodb_lock_wait_timeout, lock_wait_timeout
    3572: Fault.LOCKED,  # NOWAIT
    1317: Fault.INTERRUPTED,  # KILL QUERY; on Galera also at commit
    1180: Fault.COMMIT,  # an error during COMMIT
    1969: Fault.TIMEOUT,  # max_statement_time
    3024: Fault.TIMEOUT,  # max_execution_time
    0: Fault.AWAY,  # reported by the driver for a closed connection
    1047: Fault.AWAY,  # Galera: not ready for queries
    1053: Fault.AWAY,  # shutting down
    1158: Fault.AWAY,  # 1158-1161: network errors
    1159: Fault.AWAY,
    1160: Fault.AWAY,
    1161: Fault.AWAY,
    1927: Fault.AWAY,  # killed
    2002: Fault.AWAY,  # cannot connect
    2003: Fault.AWAY,
    2005: Fault.AWAY,  # unknown host: see _NO_ADDRESS
    2006: Fault.AWAY,  # gone
    2013: Fault.AWAY,  # lost
    2055: Fault.AWAY,
    4031: Fault.AWAY,  # wait_timeout
    1021: Fault.FULL,  # disk full
    1114: Fault.FULL,  # table full
    1290: Fault.READ_ONLY,  # --read-only
    1792: Fault.READ_ONLY,  # a transaction that is read only
    1836: Fault.READ_ONLY,  # read-only mode
    1037: Fault.OVERLOADED,  # out of memory
    1038: Fault.OVERLOADED,  # out of memory to sort
    1041: Fault.OVERLOADED,  # out of resources
    1040: Fault.OVERLOADED,  # too many connections
    1135: Fault.OVERLOADED,  # no thread for another connection
    1203: Fault.OVERLOADED,  # too many connections of this user
    1206: Fault.OVERLOADED,  # no room for more locks
    1226: Fault.OVERLOADED,  # the user's quota
    1637: Fault.OVERLOADED,  # too many transactions
    1049: Fault.MISSING,  # no such database
    1045: Fault.LOGIN,  # access denied
    1129: Fault.LOGIN,  # the host is blocked, because of many connection errors
    1130: Fault.LOGIN,  # the host is not allowed
    1698: Fault.LOGIN,  # access denied, without a password
    1862: Fault.LOGIN,  # the password has expired
    4151: Fault.LOGIN,  # the account is locked
    1044: Fault.DENIED,  # no privilege: of the database, a table, a column, an operation
    1142: Fault.DENIED,
    1143: Fault.DENIED,
    1227: Fault.DENIED,
    1146: Fault.EMPTY,  # no such table
    1153: Fault.PACKET,  # max_allowed_packet
    1301: Fault.PACKET,  # the same, of a function's result
}

_SQLITE: dict[int, Fault] = {
    sqlite3.SQLITE_BUSY: Fault.LOCKED,
    sqlite3.SQLITE_LOCKED: Fault.LOCKED,
    sqlite3.SQLITE_INTERRUPT: Fault.TIMEOUT,
    sqlite3.SQLITE_IOERR: Fault.AWAY,
    sqlite3.SQLITE_CANTOPEN: Fault.FILE,
    sqlite3.SQLITE_PROTOCOL: Fault.LOCKED,
    sqlite3.SQLITE_FULL: Fault.FULL,
    sqlite3.SQLITE_READONLY: Fault.READ_ONLY,
    sqlite3.SQLITE_PERM: Fault.DENIED,
    sqlite3.SQLITE_NOMEM: Fault.OVERLOADED,
    sqlite3.SQLITE_CORRUPT: Fault.CORRUPT,
    sqlite3.SQLITE_NOTADB: Fault.CORRUPT,
    sqlite3.SQLITE_TOOBIG: Fault.PACKET,
}


def classify(error: BaseException) -> Fault:
    """Return the kind of ``error``. A violated key is a RACE: checks come first, so only a concurrent change causes it,
    and the checks of the retry report it properly."""
    if isinstance(error, StaleDataError):
        return Fault.RACE
    if isinstance(error, IntegrityError):
        return Fault.RACE if _is_key_violation(error.orig) else Fault.BUG
    if isinstance(error, PoolTimeout):
        return Fault.OVERLOADED
    if not isinstance(error, DBAPIError):
        return Fault.BUG
    fault = _classify_driver_error(error.orig)
    if fault is Fault.AWAY and any(words in str(error.orig) for words in _NO_ADDRESS):
        return Fault.HOST
    # A connection that SQLAlchemy invalidated is lost, whatever the driver reports.
    return Fault.AWAY if fault is Fault.BUG and error.connection_invalidated else fault


def unavailable(error: BaseException, fault: Fault | None = None) -> errors.SchedulerError:
    """Return the exception to raise for ``error`` of kind ``fault`` (``classify``); its message says what to do."""
    if isinstance(error, PoolTimeout):
        return errors.PoolExhausted()
    return _ERRORS.get(fault or classify(error), errors.DatabaseAway)()


def described(error: Exception) -> str:
    """Return an unexpected error in words for users. What a database or its driver says is for the log only."""
    if isinstance(error, SQLAlchemyError):
        return "the database refused a statement; the log of the conductor has the error."
    return repr(error)


def _classify_driver_error(error: Any) -> Fault:
    if isinstance(error, sqlite3.Error):
        return _classify_sqlite(error)
    number = mysql_code(error)
    if number is not None:
        return _MYSQL.get(number, Fault.BUG)
    # PyMySQL's errors have a sqlstate, too.
    return _classify_postgresql(error) if hasattr(error, "diag") else Fault.BUG


def _classify_sqlite(error: sqlite3.Error) -> Fault:
    # The lowest byte is the primary code; errors of the module itself have none.
    fault = _SQLITE.get((getattr(error, "sqlite_errorcode", None) or 0) & 0xFF)
    return fault or (Fault.EMPTY if "no such table" in str(error) else Fault.BUG)


def _classify_postgresql(error: Any) -> Fault:
    state = error.sqlstate
    if state in _POSTGRESQL:
        is_timeout = state == "57014" and "statement timeout" in str(error)
        return Fault.TIMEOUT if is_timeout else _POSTGRESQL[state]
    if (state or "").startswith("08"):
        return Fault.AWAY
    if state is not None or type(error).__name__ not in {"OperationalError", "ConnectionTimeout", "InterfaceError"}:
        return Fault.BUG
    text = str(error)
    for words, fault in _POSTGRESQL_LOGIN:
        if words in text:
            return fault
    if text.rstrip().endswith("does not exist"):
        return Fault.LOGIN if 'role "' in text else Fault.MISSING if 'database "' in text else Fault.AWAY
    return Fault.AWAY


def _is_key_violation(error: Any) -> bool:
    """Return whether a unique or foreign key was violated (and not, for example, a NOT NULL constraint)."""
    if isinstance(error, sqlite3.Error):
        return "UNIQUE" in str(error) or "FOREIGN KEY" in str(error)
    return mysql_code(error) in {1062, 1451, 1452, 1216, 1217} or getattr(error, "sqlstate", None) in {"23503", "23505"}


def mysql_code(error: Any) -> int | None:
    """Return the code of an error of MariaDB or MySQL, the first argument in both drivers; None for errors of other
    databases or of the driver itself."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else None
