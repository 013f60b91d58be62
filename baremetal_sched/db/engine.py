"""Engines for SQLite, PostgreSQL and MariaDB/MySQL."""

import sqlite3
from collections.abc import Callable
from functools import partial
from math import ceil
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import ArgumentError

from baremetal_sched.db import deadline, first_error, prepared, sealing, sqlite_file
from baremetal_sched.db.faults import Fault, classify
from baremetal_sched.db.limits import NONE, Limits
from baremetal_sched.db.types import LEAST_PACKET
from baremetal_sched.errors import DriverMissing
from baremetal_sched.settings import Settings

log = structlog.get_logger(__name__)

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}

#: Drivers written in C, whose installation needs a compiler.
_OTHER_DRIVERS = ("mysql+mysqldb", "mariadb+mysqldb")

_PACKAGES = {"psycopg": "psycopg[binary]", "pymysql": "PyMySQL", "mysqldb": "baremetal-sched[mysql]"}

#: Seconds to wait for SQLite's write lock, unless limited otherwise.
_SQLITE_LOCK_TIMEOUT = 30

#: Keep-alive options, which detect a vanished peer while an answer is awaited.
_POSTGRESQL_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}

#: Seconds for which a server may leave unacknowledged what was sent to it, if the network fails silently.
_LONGEST_SILENCE = 10

#: Execution option of an engine whose transactions write: on SQLite they take the write lock at once.
WRITES = "baremetal_sched_writes"

#: Execution option of an engine whose statements are transactions of their own: none begins, and none is rolled back.
SINGLE = "baremetal_sched_single"


def database_url(text: str) -> URL:
    """Return the URL with the driver filled in (``postgresql://`` means psycopg 3, ``mariadb://`` PyMySQL).

    ``mariadb+mysqldb://`` and ``mysql+mysqldb://`` mean mysqlclient. Raises ValueError, with a readable message, for an
    invalid URL or an unsupported database.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The part before the @ may contain a password.
        shown = f"***@{text.rpartition('@')[2]}" if "@" in text else text
        raise ValueError(
            f"{shown!r} is not a database URL; examples: sqlite:///baremetal-sched.sqlite, "
            "postgresql://USER:PASSWORD@HOST/DATABASE (in a password, @ is written %40, / %2F and : %3A)"
        ) from None
    if "+" in url.drivername and url.drivername in (*_DRIVERS.values(), *_OTHER_DRIVERS):
        return url
    if url.drivername not in _DRIVERS:
        raise ValueError(f"database {url.drivername!r} is not supported; use sqlite, postgresql, mariadb or mysql")
    return url.set(drivername=_DRIVERS[url.drivername])


def make_engine(settings: Settings, *, reads_only: bool = False, limits: Limits = NONE) -> Engine:
    """Return an engine for ``[database] connection``. It connects later, so a process may still fork.

    ``reads_only``: each statement is a transaction of its own, which saves one or two round trips (except with SQLite).
    READ COMMITTED transactions would not give a consistent view of several statements either. ``limits`` are set once
    per connection. Raises DriverMissing, and oslo.config's ``cfg.Error`` for an unusable key file.
    """
    options = settings.database
    isolation: dict[str, Any] = (
        {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True} if reads_only else {}
    )
    url = database_url(options.connection)
    backend = url.get_backend_name()
    if backend == "sqlite":
        engine = _sqlite_engine(url, options, limits)
    elif backend == "postgresql":
        engine = _create(url, connect_args=_POSTGRESQL_KEEPALIVES, **isolation, **_pool(options))
        event.listen(engine, "do_connect", partial(_connect_postgresql, options, limits))
    else:
        url = url.update_query_dict({"charset": "utf8mb4"})
        # READ COMMITTED: no gap locks, hence far fewer deadlocks. Invariants rest on keys and conditional updates.
        # One style for both drivers.
        isolation.setdefault("isolation_level", "READ COMMITTED")
        engine = _create(url, paramstyle="pyformat", **isolation, **_pool(options))
        event.listen(engine, "do_connect", partial(_connect_mysql, options, limits))
        event.listen(engine, "first_connect", _check_packet)
        prepared.listen(engine)
    sealing.attach(engine.dialect, settings)
    for name, listener in (("checkout", _checkout), ("checkin", _unwatch), ("close", _unwatch)):
        event.listen(engine, name, listener)
    event.listen(engine, "invalidate", _unwatch)
    event.listen(engine, "handle_error", _leave_read_only)
    first_error.listen(engine)
    return engine


def _create(url: URL, **options: Any) -> Engine:
    try:
        return create_engine(url, **options)
    except ModuleNotFoundError as error:
        raise DriverMissing(package=_PACKAGES.get(url.get_driver_name(), error.name), name=url.drivername) from error


class _Pool(QueuePool):
    """A pool whose threads wait for a connection at most until their deadline."""

    _longest: float

    @property
    def _timeout(self) -> float:
        left = deadline.remaining()
        return self._longest if left is None else min(self._longest, left)

    @_timeout.setter
    def _timeout(self, seconds: float) -> None:
        self._longest = seconds


def _pool(options: Any) -> dict[str, Any]:
    return {
        "poolclass": _Pool,
        "pool_size": options.max_pool_size,
        "max_overflow": options.max_overflow,
        "pool_timeout": options.pool_timeout,
        "pool_recycle": options.connection_recycle_time,
        # Transactions are always committed or rolled back before; another rollback would be a round trip.
        "pool_reset_on_return": None,
        # Parameters of statements may be passwords, which must not appear in tracebacks.
        "hide_parameters": True,
    }


def _checkout(connection: Any, record: Any, proxy: Any) -> None:
    deadline.watch(connection)


def _unwatch(connection: Any, *others: Any) -> None:
    deadline.unwatch(connection)


def _leave_read_only(context: ExceptionContext) -> None:
    """Reconnect if a server refuses writes: it may be the old primary, and the new one may answer."""
    if classify(context.sqlalchemy_exception or context.original_exception) is Fault.READ_ONLY:
        context.is_disconnect = True


def _sqlite_engine(url: URL, options: Any, limits: Limits) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise ValueError("SQLite in memory is not supported: every connection would see a database of its own")
    wait = _SQLITE_LOCK_TIMEOUT if limits.lock is None else limits.lock
    engine = _create(url, connect_args={"timeout": wait, "check_same_thread": False}, **_pool(options))
    event.listen(engine, "do_connect", partial(sqlite_file.make_private, url))
    event.listen(engine, "connect", partial(_sqlite_connect, options.sqlite_synchronous))
    event.listen(engine, "begin", _sqlite_begin)
    return engine


def _sqlite_connect(is_durable: bool, connection: sqlite3.Connection, record: Any) -> None:
    # We begin transactions ourselves (below): the driver would begin them late, as readers, and then fail to upgrade.
    connection.isolation_level = None
    # FULL: commits survive a power failure. NORMAL: only the last transactions may be lost.
    synchronous = "FULL" if is_durable else "NORMAL"
    for pragma in ("journal_mode = WAL", f"synchronous = {synchronous}", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _sqlite_begin(connection: Connection) -> None:
    if connection.get_execution_options().get(WRITES):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        # It locks nothing, so it cannot raise errors that SQLAlchemy would wrap.
        driver: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
        driver.execute("BEGIN").close()


def _silence(limits: Limits) -> float:
    """Return the seconds after which a server that acknowledges nothing is given up."""
    return _LONGEST_SILENCE if limits.transaction is None else min(_LONGEST_SILENCE, limits.transaction)


def _seconds_to_connect(options: Any) -> int:
    """Return the connection time-out: drivers take whole seconds, at least one."""
    configured: int = options.connect_timeout
    left = deadline.remaining()
    return configured if left is None else max(1, min(configured, int(left)))


def _connect_postgresql(options: Any, limits: Limits, dialect: Any, record: Any, arguments: Any, given: Any) -> Any:
    given = {**given, "connect_timeout": _seconds_to_connect(options), "tcp_user_timeout": int(_silence(limits) * 1000)}
    connection = dialect.connect(*arguments, **given)
    return _set_up(connection, partial(_postgresql_session, options.idle_transaction_timeout, limits))


def _connect_mysql(options: Any, limits: Limits, dialect: Any, record: Any, arguments: Any, given: Any) -> Any:
    seconds = _seconds_to_connect(options)
    if dialect.driver == "mysqldb":
        connection = dialect.connect(*arguments, **{**given, "connect_timeout": seconds})
        deadline.remember_descriptor(connection)
    else:
        # Its connect_timeout ends with TCP's handshake; these limit the wait for a server that is silent after it.
        waits = {"connect_timeout": seconds, "read_timeout": seconds, "write_timeout": seconds}
        connection = dialect.connect(*arguments, **{**given, **waits})
        # From now on the deadline applies (see ``deadline``).
        connection._read_timeout = connection._write_timeout = None
    deadline.bound_silence(connection, _silence(limits))
    return _set_up(connection, partial(_mysql_session, options.idle_transaction_timeout, limits))


def _set_up(connection: Any, session: Callable[[Any], None]) -> Any:
    deadline.watch(connection)
    try:
        session(connection)
    except BaseException:
        connection.close()
        raise
    finally:
        deadline.unwatch(connection)
    return connection


def _postgresql_session(idle_timeout: int, limits: Limits, connection: Any) -> None:
    # Compiling a statement with hundreds of conditions takes many times as long as running it.
    variables = {"jit": 0, "idle_in_transaction_session_timeout": float(idle_timeout)}
    if limits.statement is not None:
        variables["statement_timeout"] = limits.statement
    if limits.lock is not None:
        variables["lock_timeout"] = limits.lock
    autocommit, connection.autocommit = connection.autocommit, True
    connection.execute("; ".join(f"SET {name} = {int(seconds * 1000)}" for name, seconds in variables.items()))
    connection.autocommit = autocommit


def _mysql_session(idle_timeout: int, limits: Limits, connection: Any) -> None:
    # TRADITIONAL: a value that does not fit is an error instead of being truncated; so is group_concat's.
    # materialization=off: an EXISTS over traits is evaluated for the rows at hand. Otherwise MariaDB would first read
    # every provider with the trait, however few rows are needed. subquery_cache=off: rows hardly ever repeat the
    # parameters of earlier ones, so the cache would only be filled.
    switches, variables = ["materialization=off"], ["sql_mode = 'TRADITIONAL'", "group_concat_max_len = 16777216"]
    is_mariadb = "MariaDB" in connection.get_server_info()
    if is_mariadb:  # not supported by MySQL
        switches.append("subquery_cache=off")
        variables.append(f"idle_transaction_timeout = {idle_timeout}")
    if limits.statement is not None:
        # MySQL's is in milliseconds, and applies only to SELECT.
        limit = f"max_statement_time = {limits.statement}" if is_mariadb else None
        variables.append(limit or f"max_execution_time = {int(limits.statement * 1000)}")
    if limits.lock is not None:
        seconds = ceil(limits.lock)
        variables += [f"innodb_lock_wait_timeout = {seconds}", f"lock_wait_timeout = {seconds}"]
    variables.append(f"optimizer_switch = '{','.join(switches)}'")
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION {', '.join(variables)}")


def _check_packet(connection: Any, record: Any) -> None:
    """Check max_allowed_packet once, with the first connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@max_allowed_packet")
        ((packet,),) = cursor.fetchall()
    if packet < LEAST_PACKET:
        log.warning(
            "large documents cannot be stored or read: raise max_allowed_packet of the database server",
            max_allowed_packet=packet,
            needed=LEAST_PACKET,
        )
