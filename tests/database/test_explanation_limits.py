"""The time that explanations may take of the database."""

from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from baremetal_sched.db.deadline import limited
from baremetal_sched.db.transaction import Database
from baremetal_sched.settings import load

#: Statements that take minutes, by dialect.
SLOW = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 1e9) SELECT max(i) FROM n",
    "postgresql": "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
    "mysql": "SELECT SUM(a.seq * b.seq) FROM seq_1_to_100000 a, seq_1_to_100000 b",
}
SLOW["mariadb"] = SLOW["mysql"]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(load(overrides={"database": {"connection": database_url, "max_pool_size": 1, "max_overflow": 0}}))
    yield opened
    opened.dispose()


def test_a_statement_that_takes_too_long_is_stopped(database: Database) -> None:
    def work(session: Session) -> None:
        with limited(session, 0.2):
            session.execute(text(SLOW[database.engine.dialect.name])).all()

    with pytest.raises(TimeoutError, match=r"more than 0\.2 seconds"):
        database.read(work)
    # The only connection there is can be used, without a limit.
    variables = {"postgresql": "SHOW statement_timeout", "mysql": "SELECT @@max_statement_time"}
    variables["mariadb"] = variables["mysql"]
    query = variables.get(database.engine.dialect.name, "SELECT 0")
    assert database.read(lambda session: str(session.scalar(text(query)))) in ("0", "0.0", "0.000000")


def test_what_fails_for_another_reason_is_not_said_to_be_slow(database: Database) -> None:
    def work(session: Session) -> None:
        with limited(session, 60):
            session.execute(text("SELECT )"))

    with pytest.raises(DBAPIError):
        database.read(work)


def test_a_connection_that_was_cut_is_left_alone(database: Database) -> None:
    def work(session: Session) -> None:
        with limited(session, 60):
            session.connection().invalidate()
            raise TimeoutError("It took long.")

    with pytest.raises(TimeoutError):
        database.read(work)
    assert database.read(lambda session: session.scalar(text("SELECT 1"))) == 1


#: How a session learns its number, and how another ends it, by dialect.
ENDED = {
    "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend({})"),
    "mysql": ("SELECT CONNECTION_ID()", "KILL {}"),
}
ENDED["mariadb"] = ENDED["mysql"]


@pytest.mark.parametrize("cuts", [True, False])
def test_a_connection_that_others_end_is_lost_for_the_transaction(database: Database, cuts: bool) -> None:
    dialect = database.engine.dialect.name
    if dialect not in ENDED:
        pytest.skip("SQLite has no connections that others can end")
    show, end = ENDED[dialect]
    others = create_engine(database.engine.url)
    attempts = []

    def work(session: Session) -> int:
        with limited(session, 60, cuts=cuts):
            number = session.scalar(text(show))
            attempts.append(number)
            if len(attempts) == 1:
                with others.connect() as other:
                    other.execute(text(end.format(number)))
        return session.execute(text("SELECT 1")).scalar_one()

    assert database.write(work) == 1
    assert len(attempts) == 2, "the transaction is tried again on another connection"
    others.dispose()


def test_no_limit(database: Database) -> None:
    def work(session: Session) -> int:
        with limited(session, 0):
            return session.execute(text("SELECT 1")).scalar_one()

    assert database.read(work) == 1


def test_a_mariadb_whose_url_says_mysql(database_url: str) -> None:
    url = f"mysql{database_url.removeprefix('mariadb')}" if database_url.startswith("mariadb") else database_url
    opened = Database(load(overrides={"database": {"connection": url}}))

    def work(session: Session) -> int:
        with limited(session, 60):
            return session.execute(text("SELECT 1")).scalar_one()

    assert opened.read(work) == 1
    opened.dispose()
