"""Statements that come often are prepared on MariaDB; only the time that they take shows it."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, func, insert, literal, literal_column, select, text

from baremetal_sched.db import deadline, prepared
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import ResourceClass
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseAway
from baremetal_sched.settings import load

OFTEN = 8


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    if not database_url.startswith(("mariadb", "mysql")):
        pytest.skip("only MariaDB needs it")
    database = Database(load(overrides={"database": {"connection": database_url}}))
    yield database
    database.dispose()


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    with database.engine.connect() as connection:
        if not getattr(connection.dialect, "is_mariadb", False):
            pytest.skip("MySQL cannot do it")
        yield connection


def cursors(database: Database) -> Any:
    """The class of the driver's cursors."""
    return import_module(f"{database.engine.dialect.loaded_dbapi.__name__}.cursors").Cursor


def error(database: Database, code: int, words: str) -> Exception:
    """The driver's error."""
    raised: Exception = database.engine.dialect.loaded_dbapi.OperationalError(code, words)
    return raised


def prepared_now(connection: Connection) -> int:
    """How many statements the server holds for this connection."""
    row = connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'").one()
    closed = connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Com_stmt_close'").one()
    return int(row[1]) - int(closed[1])


@pytest.mark.parametrize("value", ["plain", 'it\'s 100 % "quoted"? \\ :name %(name)s', "", "ünï", 7, -1.5, None, True])
def test_a_parameter_means_the_same_each_time(connection: Connection, value: Any) -> None:
    query = select(literal_column("'%'"), func.coalesce(bindparam("value", value), bindparam("other", "nothing")))
    found = {
        tuple(map(str, connection.execute(query, {"value": value, "other": "nothing"}).one())) for _ in range(OFTEN)
    }
    assert found == {("%", "nothing" if value is None else str(connection.scalar(select(literal(value)))))}


def test_limits_and_rows_that_are_written(connection: Connection) -> None:
    for number in range(OFTEN):
        row = {"name": f"CUSTOM_{number}", "created_at": utcnow()}
        assert connection.execute(insert(ResourceClass), row).rowcount == 1
    names = select(ResourceClass.name).where(ResourceClass.name.startswith("CUSTOM_")).order_by(ResourceClass.name)
    for number in range(OFTEN):
        assert connection.scalars(names.limit(number)).all() == [f"CUSTOM_{name}" for name in range(number)]
    connection.rollback()
    assert connection.scalars(names).all() == []


def test_only_what_comes_often_is_prepared(connection: Connection) -> None:
    before = prepared_now(connection)
    query = select(ResourceClass.id).where(ResourceClass.name == bindparam("name"))
    counts = []
    for _ in range(OFTEN):
        connection.execute(query, {"name": "VCPU"}).one()
        counts.append(prepared_now(connection) - before)
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, 1)


def test_a_connection_does_not_remember_everything(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_REMEMBERED", 10)
    before = prepared_now(connection)
    for number in range(30):
        for _ in range(OFTEN):
            assert connection.exec_driver_sql(f"SELECT {number}").scalar_one() == number
    assert 0 < prepared_now(connection) - before <= 10


def test_who_forgot_what_was_prepared_is_left(database: Database, connection: Connection) -> None:
    """As a proxy does that goes on with another server."""

    def ask(session: Any) -> int:
        found: int = session.scalar(text("SELECT 1 + 1"))
        return found

    for _ in range(OFTEN):
        assert database.read(ask) == 2
    with database.reading_engine.connect() as reading:
        reading.exec_driver_sql("SET @before = 1")
        reading.exec_driver_sql("DEALLOCATE PREPARE often_1")
    assert database.read(ask) == 2
    with database.reading_engine.connect() as reading:
        assert reading.exec_driver_sql("SELECT @before").scalar() is None


@pytest.mark.parametrize("command", ["PREPARE", "DEALLOCATE"])
def test_a_transaction_that_is_aborted_while_a_statement_is_prepared_is_run_again(
    database: Database, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """As on Galera, where another server's transaction wins: the half that is left must not be committed."""
    monkeypatch.setattr(prepared, "_REMEMBERED", 3)
    cursor_class, aborted = cursors(database), []
    execute = cursor_class.execute

    def abort(cursor: Any, statement: str, arguments: Any = None) -> Any:
        if statement.startswith(command) and not aborted:
            aborted.append(statement)
            cursor.connection.rollback()
            raise error(database, 1213, "Deadlock found when trying to get lock; try restarting transaction")
        return execute(cursor, statement, arguments)

    def write(session: Any) -> None:
        session.execute(insert(ResourceClass), {"name": "CUSTOM_FIRST", "created_at": utcnow()})
        for number in range(OFTEN):
            session.execute(select(ResourceClass.id).where(ResourceClass.name == f"{number}"))
        for number in range(OFTEN):  # these push out what was prepared
            session.execute(text(f"SELECT {number}"))

    monkeypatch.setattr(cursor_class, "execute", abort)
    database.write(write)
    assert len(aborted) == 1
    assert database.read(
        lambda session: session.scalar(select(func.count()).where(ResourceClass.name == "CUSTOM_FIRST"))
    )


def test_a_connection_that_is_lost_while_a_statement_is_prepared(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the statement itself that says so, and the connection is given up."""
    cursor_class = cursors(database)
    execute = cursor_class.execute

    def lose(cursor: Any, statement: str, arguments: Any = None) -> Any:
        if statement.startswith("PREPARE"):
            deadline.cut(cursor.connection)
            raise error(database, 2013, "Lost connection to MySQL server during query")
        return execute(cursor, statement, arguments)

    def read(session: Any) -> None:
        for number in range(OFTEN):
            session.execute(select(ResourceClass.id).where(ResourceClass.name == f"{number}"))

    monkeypatch.setattr(cursor_class, "execute", lose)
    with pytest.raises(DatabaseAway):
        database.read(read)
    monkeypatch.undo()
    database.read(read)
