"""The transaction runner: races are run again, everything else is not; nothing of a failure stays."""

import threading

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.db.clock import epoch, utcnow
from baremetal_sched.db.models import Conductor, ResourceClass
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import ConflictError, TooManyConflicts
from baremetal_sched.settings import load


@pytest.fixture
def database(database_url: str) -> Database:
    opened = Database(load(overrides={"database": {"connection": database_url, "transaction_retries": 5}}))
    yield opened
    opened.dispose()


def add(session: Session, name: str) -> None:
    session.execute(insert(ResourceClass).values(name=name, created_at=utcnow()))


def names(database: Database) -> set[str]:
    query = select(ResourceClass.name).where(ResourceClass.name.startswith("CUSTOM_"))
    return set(database.read(lambda session: session.scalars(query).all()))


def test_what_is_written_is_there_and_what_fails_is_not(database: Database) -> None:
    database.write(lambda session: add(session, "CUSTOM_A"))

    def fail(session: Session) -> None:
        add(session, "CUSTOM_B")
        raise ConflictError

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

    def touch(session: Session, name: str) -> None:
        session.execute(update(ResourceClass).where(ResourceClass.name == name).values(updated_at=utcnow()))

    def both(number: int, order: tuple[str, str]) -> None:
        def work(session: Session) -> None:
            touch(session, order[0])
            first_locked[number].set()
            first_locked[1 - number].wait(0.5)
            touch(session, order[1])

        database.write(work)

    threads = [
        threading.Thread(target=both, args=(0, ("CUSTOM_A", "CUSTOM_B"))),
        threading.Thread(target=both, args=(1, ("CUSTOM_B", "CUSTOM_A"))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_the_clock_of_the_database_runs(database: Database) -> None:
    import time

    values = database.read(lambda session: session.scalar(select(epoch())))
    assert abs(values - time.time()) < 5
    later = database.read(lambda session: session.scalar(select(epoch())))
    assert 0 <= later - values < 5


def test_many_threads_write_at_once(database: Database) -> None:
    def register(session: Session) -> None:
        session.execute(insert(Conductor).values(hostname="c", created_at=utcnow(), heartbeat_at=0, online=False))

    database.write(register)

    def count_up() -> None:
        for _ in range(10):
            database.write(
                lambda session: session.execute(update(Conductor).values(heartbeat_at=Conductor.heartbeat_at + 1))
            )

    threads = [threading.Thread(target=count_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.read(lambda session: session.scalar(select(Conductor.heartbeat_at))) == 80
