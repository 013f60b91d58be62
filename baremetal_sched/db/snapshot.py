"""Reads of several statements that see one moment of the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session


@contextmanager
def open_snapshot(engine: Engine) -> Iterator[Session]:
    """A session that sees the database as it is at its first statement. PostgreSQL and MariaDB let it write nothing.

    It may stand still while what it read is compared: the server does not end it for that.
    """
    if engine.dialect.name == "sqlite":  # where each transaction sees one moment
        with Session(engine, autoflush=False) as session:
            yield session
        return
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        # What is set now is for this connection only: it is closed afterwards, not used again.
        try:
            _begin(connection)
            with Session(connection, autoflush=False) as session:
                yield session
        finally:
            connection.invalidate()


def _begin(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        return
    if connection.dialect.name == "mariadb":  # MySQL has no such time-outs
        connection.exec_driver_sql("SET SESSION idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0")
    connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
