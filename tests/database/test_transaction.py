# tier: first
"""The transaction runner: races are run again, everything else is not; nothing of a failure stays."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Conductor, ResourceClass
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import ConflictError, DatabaseAway, TooManyConflicts
from baremetal_sched.settings import load
from tests.waiting import PATIENCE, wait_until


@contextmanager
def opened(url: str, attempts: int, **options: Any) -> Iterator[Database]:
    values = {"connection": url, "transaction_retries": attempts, **options}
    database = Database(load(overrides={"database": values}))
    yield database
    database.dispose()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with opened(database_url, attempts=5) as database:
        yield database


def add(session: Session, name: str) -> None:
    session.execute(insert(ResourceClass).values(name=name, created_at=utcnow()))


def names(database: Database) -> set[str]:
    query = select(ResourceClass.name).where(ResourceClass.name.startswith("CUSTOM_"))
    return set(database.read(lambda session: session.scalars(query).all()))


def test_what_is_written_is_there_and_what_fails_is_not(database: Database) -> None:
    database.write(lambda session: add(session, "CUSTOM_A"))

    def fail(session: Session) -> None:
        add(session, "CUSTOM_B")
        raise ConflictError(message="no")

    with pytest.raises(ConflictError):
        database.write(fail)
    assert names(database) == {"CUSTOM_A"}


def test_a_lost_race_is_run_again_from_the_start(database: Database) -> None:
    attempts = []

    def lose_twice(session: Session) -> str:
        attempts.append(1)
        add(session, "CUSTOM_A")
        if len(attempts) < 3:
            raise StaleDataError
        return "done"

    assert database.write(lose_twice) == "done"
    assert len(attempts) == 3
    assert names(database) == {"CUSTOM_A"}


def test_a_key_that_somebody_took_meanwhile_is_seen_by_the_next_run(database: Database) -> None:
    attempts = []

    def add_unless_there(session: Session) -> str:
        found = session.scalar(select(ResourceClass.id).where(ResourceClass.name == "CUSTOM_A"))
        attempts.append(found)
        if len(attempts) == 1:
            return _insert_twice(session)
        return "there" if found else "missing"

    def _insert_twice(session: Session) -> str:
        add(session, "CUSTOM_A")
        add(session, "CUSTOM_A")
        return "impossible"

    assert database.write(add_unless_there) == "missing"
    assert len(attempts) == 2


def test_who_always_loses_gives_up_in_words(database: Database) -> None:
    def lose(session: Session) -> None:
        raise StaleDataError

    with pytest.raises(TooManyConflicts, match="lost 5 races"):
        database.write(lose)


def test_who_gives_up_does_not_wait_before(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(session: Session) -> None:
        raise StaleDataError

    pauses = []
    sleep, this_thread = time.sleep, threading.get_ident()

    def note(seconds: float) -> None:
        if threading.get_ident() == this_thread:
            pauses.append(seconds)
        else:
            sleep(seconds)

    monkeypatch.setattr("baremetal_sched.db.transaction.time.sleep", note)
    with pytest.raises(TooManyConflicts):
        database.write(lose)
    assert len(pauses) == 4


def test_a_database_that_is_away_is_looked_for_once_more(database: Database) -> None:
    attempts = []

    def find_nobody(session: Session) -> None:
        attempts.append(1)
        raise PoolTimeout

    with pytest.raises(DatabaseAway):
        database.write(find_nobody)
    assert len(attempts) == 2


def test_a_database_that_is_away_in_the_last_attempt(database_url: str) -> None:
    def find_nobody(session: Session) -> None:
        raise PoolTimeout

    with opened(database_url, attempts=1) as database, pytest.raises(DatabaseAway):
        database.read(find_nobody)


def test_a_mistake_of_ours_is_not_tried_again(database: Database) -> None:
    attempts = []

    def insert_null(session: Session) -> None:
        attempts.append(1)
        session.execute(insert(ResourceClass).values(name=None, created_at=utcnow()))

    with pytest.raises(IntegrityError):
        database.write(insert_null)
    assert len(attempts) == 1


def test_two_who_lock_in_opposite_order_both_finish(database: Database) -> None:
    for name in ("CUSTOM_A", "CUSTOM_B"):
        database.write(lambda session, name=name: add(session, name))
    first_locked = [threading.Event(), threading.Event()]
    is_sqlite = database.engine.dialect.name == "sqlite"

    def touch(session: Session, name: str) -> None:
        session.execute(update(ResourceClass).where(ResourceClass.name == name).values(updated_at=utcnow()))

    def both(number: int, order: tuple[str, str]) -> None:
        def work(session: Session) -> None:
            touch(session, order[0])
            first_locked[number].set()
            if not is_sqlite:  # where only one writes at a time
                assert first_locked[1 - number].wait(PATIENCE)
            touch(session, order[1])

        database.write(work)

    threads = [
        threading.Thread(target=both, args=(0, ("CUSTOM_A", "CUSTOM_B"))),
        threading.Thread(target=both, args=(1, ("CUSTOM_B", "CUSTOM_A"))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    touched = select(ResourceClass.name).where(ResourceClass.updated_at.is_not(None))
    # Standard classes stay from test to test.
    assert database.read(lambda session: set(session.scalars(touched))) >= {"CUSTOM_A", "CUSTOM_B"}


@pytest.mark.ci
def test_who_stands_still_in_a_transaction_does_not_keep_others_waiting(database_url: str) -> None:
    """A process that was suspended, or whose host is gone, holds no lock for long; its transaction is void."""
    if database_url.startswith("sqlite"):
        pytest.skip("the file belongs to whoever writes, as long as he lives")
    locked, written, attempts = threading.Event(), threading.Event(), []
    with opened(database_url, attempts=5, idle_transaction_timeout=1) as database:
        database.write(lambda session: add(session, "CUSTOM_A"))

        def rename(session: Session, name: str) -> None:
            statement = update(ResourceClass).where(ResourceClass.name.in_(("CUSTOM_A", "CUSTOM_B")))
            session.execute(statement.values(name=name))

        def stand_still(session: Session) -> None:
            attempts.append(1)
            rename(session, "CUSTOM_C")
            if len(attempts) == 1:
                locked.set()
                assert written.wait(PATIENCE), "the other waits as long as this one stands still"
                add(session, "CUSTOM_D")

        still = threading.Thread(target=database.write, args=(stand_still,))
        still.start()
        assert locked.wait(PATIENCE)
        database.write(lambda session: rename(session, "CUSTOM_B"))
        written.set()
        still.join(PATIENCE)
        assert len(attempts) == 2
        assert names(database) == {"CUSTOM_C"}


def test_the_clock_of_the_database_runs(database: Database) -> None:
    def now() -> float:
        return database.read(lambda session: session.scalar(select(epoch())))

    # Servers may be on other machines: their clocks are compared with themselves.
    before = now()
    wait_until(lambda: now() > before, "a later time")
    # It counts seconds since 1970, as ours does: a day is more than clocks differ, and less than units and zones do.
    assert before == pytest.approx(time.time(), abs=86_400)


def test_many_threads_write_at_once(database: Database) -> None:
    def register(session: Session) -> None:
        session.execute(insert(Conductor).values(hostname="c", created_at=utcnow(), heartbeat_at=0, online=False))

    database.write(register)

    def count_up() -> None:
        for _ in range(5):
            database.write(
                lambda session: session.execute(update(Conductor).values(heartbeat_at=Conductor.heartbeat_at + 1))
            )

    threads = [threading.Thread(target=count_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.read(lambda session: session.scalar(select(Conductor.heartbeat_at))) == 40


def test_a_snapshot_sees_one_moment(database: Database) -> None:
    def look_twice(session: Session) -> list[int]:
        count = select(func.count()).select_from(ResourceClass)
        first = session.scalars(count).one()
        database.write(lambda other: add(other, "CUSTOM_LATER"))
        return [first, session.scalars(count).one()]

    first, second = database.snapshot(look_twice)
    assert first == second
    assert names(database) == {"CUSTOM_LATER"}


#: How long a transaction of a session may stand still, as its server knows it.
IDLE_LIMIT = {
    "postgresql": "SHOW idle_in_transaction_session_timeout",
    "mariadb": "SELECT concat(@@idle_transaction_timeout, 's', @@idle_readonly_transaction_timeout)",
}


def test_a_snapshot_may_stand_still(database_url: str) -> None:
    """While what it read is compared. Other transactions may not."""
    with opened(database_url, attempts=1, idle_transaction_timeout=7) as database:
        query = IDLE_LIMIT.get(database.engine.dialect.name.replace("mysql", "mariadb"))
        if query is None:
            pytest.skip("whatever is open may stand still")
        assert database.snapshot(lambda session: session.scalar(text(query))) in ("0", "0s0")
        assert database.write(lambda session: session.scalar(text(query))) in ("7s", "7s0")


@pytest.mark.ci
def test_a_snapshot_that_stands_still_for_longer_than_others_may(database_url: str) -> None:
    """The server's shortest limit is a second."""
    if database_url.startswith("sqlite"):
        pytest.skip("whatever is open may stand still")

    def pause(session: Session) -> int:
        session.execute(select(ResourceClass.id)).all()
        time.sleep(1.5)
        return len(session.execute(select(ResourceClass.id)).all())

    with opened(database_url, attempts=1, idle_transaction_timeout=1) as database:
        assert database.snapshot(pause)
        with pytest.raises(DatabaseAway):
            database.write(pause)
        assert database.read(lambda session: session.scalar(select(1))) == 1


#: How a session learns its number, and how another ends it.
KILLS = {
    "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend({})"),
    "mariadb": ("SELECT connection_id()", "KILL {}"),
}


def test_a_connection_that_was_lost_in_the_pool_is_replaced(database: Database) -> None:
    number, kill = KILLS.get(database.engine.dialect.name.replace("mysql", "mariadb"), ("", ""))
    if not number:
        pytest.skip("it has no server")
    killer = create_engine(database.engine.url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    for run, engine in (
        (database.snapshot, database.engine),
        (database.write, database.engine),
        (database.read, database.reading_engine),
    ):
        with engine.connect() as pooled:
            lost = pooled.scalar(text(number))
        with killer.connect() as connection:
            connection.exec_driver_sql(kill.format(lost))
        assert run(lambda session: session.scalar(text(number))) != lost


def test_a_snapshot_writes_nothing(database: Database) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("it would be rolled back")
    with pytest.raises((DBAPIError, DatabaseAway)):
        database.snapshot(lambda session: add(session, "CUSTOM_A"))
    assert names(database) == set()


def test_sqlite_waits_for_the_disk_unless_told_not_to(tmp_path: Path) -> None:
    for value, mode in ((True, 2), (False, 1)):
        with opened(f"sqlite:///{tmp_path}/x.sqlite", attempts=1, sqlite_synchronous=value) as database:
            assert database.engine.connect().exec_driver_sql("PRAGMA synchronous").scalar() == mode
