"""The lock that lets only one process at a time change the schema."""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import structlog
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError, OperationalError

from baremetal_sched.db.engine import WRITES
from baremetal_sched.db.faults import Fault, classify
from baremetal_sched.db.models import Base

log = structlog.get_logger(__name__)

#: The number of PostgreSQL's advisory lock, which belongs to one database.
_POSTGRESQL_LOCK = 0x62735F736368656D

_PAUSE_SECONDS = 0.5

#: Seconds that a migration waits for a lock before it gives up, as other sessions queue behind it.
LOCK_TIMEOUT_SECONDS = 10

#: Seconds to wait for earlier transactions: longer than they may be idle.
_WRITERS_TIMEOUT_SECONDS = 60


@contextmanager
def exclusive(engine: Engine) -> Iterator[Connection]:
    """Return a connection that may change the schema; other callers wait.

    On SQLite it is in a transaction, which is committed at the end as a whole. Elsewhere it is not in a transaction. If
    the holder dies, the database releases the lock.
    """
    if engine.dialect.name == "sqlite":
        with engine.execution_options(**{WRITES: True}).connect() as connection:
            _wait(partial(_begin, connection))
            yield connection
            connection.commit()
        return
    with engine.connect() as connection:
        # Closed afterwards instead of reused, which also releases the lock and the settings.
        try:
            for statement in _session_statements(connection):
                connection.exec_driver_sql(statement)
            _wait(partial(_try_lock, connection))
            yield connection
        finally:
            connection.invalidate()


def wait_for_writers(connection: Connection) -> None:
    """Wait until the transactions that are writing now have ended. Fails like any statement that waits too long."""
    tables = sorted(set(Base.metadata.tables) & set(inspect(connection).get_table_names()))
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET lock_timeout = '{_WRITERS_TIMEOUT_SECONDS}s'")
        connection.exec_driver_sql(f"LOCK TABLE {', '.join(tables)} IN SHARE MODE")
    else:
        connection.exec_driver_sql(f"SET SESSION lock_wait_timeout = {_WRITERS_TIMEOUT_SECONDS}")
        connection.exec_driver_sql(f"LOCK TABLES {', '.join(f'{table} READ' for table in tables)}")
        connection.exec_driver_sql("UNLOCK TABLES")
    connection.rollback()
    set_timeouts(connection)


def set_timeouts(connection: Connection) -> None:
    """Limit the time that migrations wait for locks."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_TIMEOUT_SECONDS}s'")
        connection.commit()
    elif connection.dialect.name in {"mysql", "mariadb"}:
        connection.exec_driver_sql(f"SET SESSION lock_wait_timeout = {LOCK_TIMEOUT_SECONDS}")
        connection.commit()


def _session_statements(connection: Connection) -> list[str]:
    """Return the settings of a session that may be idle during a migration."""
    if connection.dialect.name == "postgresql":
        return ["SET idle_in_transaction_session_timeout = 0"]
    return ["SET SESSION idle_transaction_timeout = 0"] if connection.dialect.name == "mariadb" else []


def _wait(attempt: Callable[[], bool]) -> None:
    waits = False
    while not attempt():
        if not waits:
            log.info("another process changes the schema; waiting until it is done")
        waits = True
        time.sleep(_PAUSE_SECONDS)


def _begin(connection: Connection) -> bool:
    try:
        connection.begin()
    except OperationalError as error:
        if classify(error) not in {Fault.RACE, Fault.LOCKED}:
            raise
        connection.rollback()
        return False
    return True


def _try_lock(connection: Connection) -> bool:
    if connection.dialect.name == "postgresql":
        got = connection.scalar(text(f"SELECT pg_try_advisory_lock({_POSTGRESQL_LOCK})"))
    else:
        database = hashlib.sha256((connection.engine.url.database or "").encode()).hexdigest()[:32]
        try:
            got = connection.scalar(text(f"SELECT GET_LOCK('baremetal_sched.{database}', 0)"))
        except DBAPIError as error:
            # A Galera cluster may refuse the lock; otherwise it only applies to one server of the cluster.
            log.warning("cannot lock the schema: make sure that no other db upgrade is running", reason=str(error.orig))
            got = True
    connection.commit()
    return bool(got)
