"""One process at a time changes the schema."""

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

#: PostgreSQL's advisory locks are numbers, of one database.
_POSTGRESQL_LOCK = 0x62735F736368656D

_PAUSE_SECONDS = 0.5

#: A migration waits this long for a lock, then gives up: better than everybody waiting behind it.
LOCK_TIMEOUT_SECONDS = 10

#: Transactions that were begun before are waited for this long: longer than a database lets them stand still.
_WRITERS_TIMEOUT_SECONDS = 60


@contextmanager
def exclusive(engine: Engine) -> Iterator[Connection]:
    """A connection whose holder may change the schema; who comes second waits.

    On SQLite it is in a transaction, which is committed in the end: all that is done, or nothing. Elsewhere it is in
    none. A holder that dies gives the lock back, since the database notices.
    """
    if engine.dialect.name == "sqlite":
        with engine.execution_options(**{WRITES: True}).connect() as connection:
            _wait(partial(_begin, connection))
            yield connection
            connection.commit()
        return
    with engine.connect() as connection:
        # Closed afterwards, not used again: the lock goes with it, and what is set here.
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
    """Let no migration wait for a lock for long."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_TIMEOUT_SECONDS}s'")
        connection.commit()
    elif connection.dialect.name in {"mysql", "mariadb"}:
        connection.exec_driver_sql(f"SET SESSION lock_wait_timeout = {LOCK_TIMEOUT_SECONDS}")
        connection.commit()


def _session_statements(connection: Connection) -> list[str]:
    """What a session needs that may stand still for as long as a migration takes."""
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
            # A Galera cluster may refuse it; where it does not, the lock is that of one server of the cluster.
            log.warning("cannot lock the schema: see that no other db upgrade is running", reason=str(error.orig))
            got = True
    connection.commit()
    return bool(got)
