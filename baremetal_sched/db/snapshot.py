"""Consistent reads: several statements that see the same state of the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session


@contextmanager
def open_snapshot(engine: Engine) -> Iterator[Session]:
    """Yield a session that sees the database as of its first statement. PostgreSQL and MariaDB let it write nothing.

    It may be idle while the caller compares data: the server does not end it.
    """
    if engine.dialect.name == "sqlite":  # where each transaction is consistent
        with Session(engine, autoflush=False) as session:
            yield session
        return
    with engine.connect() as connection:
        # These settings apply only to this connection: it is closed afterwards instead of reused.
        try:
            _begin(connection)
            with Session(connection, autoflush=False) as session:
                yield session
        finally:
            connection.invalidate()


def _begin(connection: Connection) -> None:
    """Begin the transaction by statements. SQLAlchemy's option ``isolation_level`` does not wrap the errors of the
    driver, so a connection that was lost in the pool would not be replaced."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        return
    connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    if getattr(connection.dialect, "is_mariadb", False):  # MySQL has no time-outs of this kind
        connection.exec_driver_sql("SET SESSION idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0")
    connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
