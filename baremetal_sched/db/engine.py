"""Engines: how we talk to SQLite, PostgreSQL and MariaDB/MySQL."""

import sqlite3
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from baremetal_sched.db import prepared
from baremetal_sched.settings import Settings

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}

#: Execution option of an engine whose transactions write: on SQLite they take the write lock at once.
WRITES = "baremetal_sched_writes"


def database_url(text: str) -> URL:
    """The URL with our driver filled in (``postgresql://`` means psycopg 3, ``mariadb://`` PyMySQL).

    Raises ValueError, in words, for a URL that is none or names a database that is not supported.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError(f"{text!r} is not a database URL; an example: sqlite:///baremetal-sched.sqlite") from None
    if "+" in url.drivername and url.drivername in _DRIVERS.values():
        return url
    if url.drivername not in _DRIVERS:
        raise ValueError(f"database {url.drivername!r} is not supported; use sqlite, postgresql, mariadb or mysql")
    return url.set(drivername=_DRIVERS[url.drivername])


def make_engine(settings: Settings, *, reads_only: bool = False) -> Engine:
    """An engine for ``[database] connection``. Nothing is connected yet, so a process may still fork.

    ``reads_only``: each statement is a transaction of its own, which saves a round trip or two (not with SQLite, where
    there is none to save). A READ COMMITTED transaction would not see more of one moment than that.
    """
    options = settings.database
    isolation: dict[str, Any] = (
        {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True} if reads_only else {}
    )
    url = database_url(options.connection)
    backend = url.get_backend_name()
    if backend == "sqlite":
        engine = _sqlite_engine(url, options)
    elif backend == "postgresql":
        engine = create_engine(
            url, connect_args={"connect_timeout": options.connect_timeout}, **isolation, **_pool(options)
        )
        event.listen(engine, "connect", partial(_postgresql_session, options.idle_transaction_timeout))
    else:
        url = url.update_query_dict({"charset": "utf8mb4"})
        # READ COMMITTED: no gap locks, hence far fewer deadlocks. Invariants rest on keys and conditional updates.
        engine = create_engine(
            url,
            connect_args={"connect_timeout": options.connect_timeout},
            **(isolation or {"isolation_level": "READ COMMITTED"}),
            **_pool(options),
        )
        event.listen(engine, "connect", partial(_mysql_session, options.idle_transaction_timeout))
        prepared.listen(engine)
    return engine


def _pool(options: Any) -> dict[str, Any]:
    return {
        "pool_size": options.max_pool_size,
        "max_overflow": options.max_overflow,
        "pool_timeout": options.pool_timeout,
        "pool_recycle": options.connection_recycle_time,
        # Whoever used a connection has committed or rolled back; doing so once more would be a round trip.
        "pool_reset_on_return": None,
    }


def _sqlite_engine(url: URL, options: Any) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise ValueError("SQLite in memory is not supported: every connection would see a database of its own")
    engine = create_engine(url, connect_args={"timeout": 30, "check_same_thread": False}, **_pool(options))
    event.listen(engine, "connect", _sqlite_connect)
    event.listen(engine, "begin", _sqlite_begin)
    return engine


def _sqlite_connect(connection: sqlite3.Connection, record: Any) -> None:
    # We begin transactions ourselves (below): the driver would begin them late, as readers, and then fail to upgrade.
    connection.isolation_level = None
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _sqlite_begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgresql_session(idle_timeout: int, connection: Any, record: Any) -> None:
    autocommit, connection.autocommit = connection.autocommit, True
    connection.execute(f"SET idle_in_transaction_session_timeout = '{idle_timeout}s'")
    connection.autocommit = autocommit


def _mysql_session(idle_timeout: int, connection: Any, record: Any) -> None:
    # TRADITIONAL: a value that does not fit is an error, never silently cut; nor is what group_concat joins.
    # materialization=off: an EXISTS over traits is looked up for the rows at hand. MariaDB would otherwise read every
    # holder of the trait first, however few rows are wanted.
    # subquery_cache=off: hardly any row asks what one before it did, so it would only be filled.
    switches, variables = ["materialization=off"], ["sql_mode = 'TRADITIONAL'", "group_concat_max_len = 16777216"]
    if "MariaDB" in connection.get_server_info():  # MySQL cannot do that
        switches.append("subquery_cache=off")
        variables.append(f"idle_transaction_timeout = {idle_timeout}")
    variables.append(f"optimizer_switch = '{','.join(switches)}'")
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION {', '.join(variables)}")
