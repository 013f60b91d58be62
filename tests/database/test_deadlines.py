"""No request waits for the database longer than it may, whatever holds it up; others are served meanwhile."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.orm.exc import StaleDataError

from baremetal_sched.baremetal.api import waiting
from baremetal_sched.db import deadline, transaction
from baremetal_sched.db.engine import database_url as with_driver
from baremetal_sched.db.limits import CONDUCTOR
from baremetal_sched.db.transaction import Database
from baremetal_sched.errors import DatabaseTimeout, TooManyConflicts
from baremetal_sched.settings import load
from baremetal_sched.web.slots import ACCEPTED_AT
from tests.clocks import Clock
from tests.relay import Relay
from tests.service import Service, fault
from tests.waiting import wait_until

#: Seconds that requests have, more than any takes; that a hurried one has left; and that a lock may take.
TIMEOUT = 60
HURRY = 2
SHORT = 0.2
LOCK = 2


#: What is said of a lock that was waited for until its time-out.
LOCKED = "Another database session held a lock"


@contextmanager
def at_least(seconds: float) -> Iterator[None]:
    """These tests take that long: each waits for its deadline. The event that it waits for would take a minute."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began >= seconds


@contextmanager
def hurried(service: Service, seconds: float = HURRY) -> Iterator[None]:
    """Requests were accepted so long ago that they have only ``seconds`` left."""
    accepted_at = time.monotonic() + seconds - service.app.settings.api.request_timeout
    service.http.extra_environ[ACCEPTED_AT] = accepted_at
    try:
        yield
    finally:
        del service.http.extra_environ[ACCEPTED_AT]


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is late is cut off at once, once the thread that looks after it has woken up."""
    monkeypatch.setattr(deadline, "_TICK", 0.02)


@pytest.fixture
def quick(database_url: str) -> Iterator[Service]:
    """A service whose requests have little time, and wait for locks for less."""
    with Service(database_url, api={"request_timeout": TIMEOUT}, database={"lock_timeout": LOCK}) as service:
        service.add_conductor("c1")
        yield service


@pytest.fixture
def patient(database_url: str) -> Iterator[Service]:
    """A service whose requests wait for locks longer than anything takes."""
    with Service(database_url, api={"request_timeout": TIMEOUT}, database={"lock_timeout": TIMEOUT}) as service:
        service.add_conductor("c1")
        yield service


@contextmanager
def foreign(url: str) -> Iterator[Engine]:
    """Another program's connections to the database."""
    engine = create_engine(with_driver(url), connect_args={} if "sqlite" not in url else {"isolation_level": None})
    yield engine
    engine.dispose()


def servers_only(url: str) -> None:
    if url.startswith("sqlite"):
        pytest.skip("there is no server")


@contextmanager
def relayed(database_url: str, **options: Any) -> Iterator[tuple[Service, Relay]]:
    """A service that reaches its database through a relay."""
    servers_only(database_url)
    url = make_url(database_url)
    port = url.port or (5432 if url.drivername.startswith("postgresql") else 3306)
    with Relay(url.host or "127.0.0.1", port) as relay:
        through = url.set(port=relay.port).render_as_string(hide_password=False)
        with Service(through, api={"request_timeout": TIMEOUT}, database=options) as service:
            yield service, relay


def test_a_silent_database_frees_every_thread_in_time(database_url: str) -> None:
    with relayed(database_url) as (service, relay):
        service.add_conductor("c1")
        service.add_node("n1")
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda _: service.baremetal("GET", "/nodes", status=200), range(12)))
            relay.silence()

            def ask(number: int) -> Any:
                method, path, body = (
                    ("GET", "/nodes", None),
                    ("GET", "/nodes/n1", None),
                    ("PATCH", "/nodes/n1", [{"op": "add", "path": "/extra/a", "value": number}]),
                )[number % 3]
                return service.baremetal(method, path, body, status="*")

            with hurried(service):
                asked = [pool.submit(ask, number) for number in range(12)]
                service.http.get("/healthcheck/live", status=200)
                for future in asked:
                    assert future.result().status_int == 503
        relay.resume()
        service.baremetal("GET", "/nodes", status=200)
        service.patch("n1", ("add", "/extra/b", 1), status=200)


def test_more_requests_than_connections_wait_no_longer(database_url: str) -> None:
    """Requests that wait for a connection of the pool have deadlines, too."""
    with relayed(database_url, max_pool_size=1, max_overflow=0, pool_timeout=3600) as (service, relay):
        service.baremetal("GET", "/nodes", status=200)
        relay.silence()
        with ThreadPoolExecutor(4) as pool, hurried(service):
            asked = pool.map(lambda _: service.placement("GET", "/resource_classes", status=503), range(4))
            assert {response.headers["Retry-After"] for response in asked} == {"1"}


def test_a_server_that_accepts_and_says_nothing(database_url: str) -> None:
    """From the start, so that there is no connection yet."""
    with relayed(database_url, connect_timeout=60) as (service, relay):
        relay.silence()
        for ask in (
            lambda: service.baremetal("GET", "/nodes", status=503),
            lambda: service.http.get("/healthcheck", status=503),
        ):
            with hurried(service), at_least(0.5):
                ask()


def test_a_commit_whose_answer_does_not_come_is_unknown(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=time.sleep))
    with relayed(database_url) as (service, relay):
        service.add_conductor("c1")
        service.add_node("n1")
        engine = service.database.engine

        def commits(*_: Any) -> None:
            relay.silence()
            clock.go_on(TIMEOUT)

        event.listen(engine, "commit", commits)
        response = service.patch("n1", ("add", "/extra/a", 1), status=503)
        assert "Check whether it was made" in fault(response)
        event.remove(engine, "commit", commits)
        relay.resume()


def test_a_statement_that_takes_too_long_is_ended(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(database_url, api={"request_timeout": TIMEOUT}) as service:
        database = service.database
        assert database.limits.transaction == TIMEOUT
        monkeypatch.setattr(database, "limits", replace(database.limits, transaction=SHORT))
        for run, engine in ((database.read, database.reading_engine), (database.write, database.engine)):
            sleep = longer_than_the_deadline(engine.dialect.name)
            with at_least(SHORT - 0.05), pytest.raises(DatabaseTimeout):
                run(lambda session, sleep=sleep: session.execute(text(sleep)).all())
        assert database.read(lambda session: session.scalar(text("SELECT 1"))) == 1


def longer_than_the_deadline(dialect: str) -> str:
    """A statement that takes about a minute."""
    return {
        "postgresql": "SELECT pg_sleep(60)",
        "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000000) "
        "SELECT max(i) FROM n",
    }.get(dialect, "SELECT SLEEP(60) FROM DUAL")


def test_the_server_knows_the_limits_too_once_per_connection(quick: Service) -> None:
    name = quick.database.engine.dialect.name
    if name == "sqlite":
        pytest.skip("there is no server")
    queries = {
        "postgresql": ("SHOW statement_timeout", "SHOW lock_timeout"),
        "mariadb": ("SELECT @@max_statement_time", "SELECT @@innodb_lock_wait_timeout"),
    }[name]
    expected = {"postgresql": ["1min", "2s"], "mariadb": [60.0, 2]}[name]
    for run in (quick.database.read, quick.database.write):
        assert [run(lambda session, query=query: session.scalar(text(query))) for query in queries] == expected
    with quick.statements() as statements:
        quick.baremetal("GET", "/conductors", status=200)
    assert not [statement for statement in statements if "SET" in statement or "timeout" in statement]


def test_commands_have_no_limits_and_conductors_their_own(database_url: str) -> None:
    servers_only(database_url)
    settings = load(overrides={"database": {"connection": database_url}})
    query = "SHOW statement_timeout" if "postgres" in database_url else "SELECT @@max_statement_time"
    for database in (Database(settings), Database(settings, CONDUCTOR)):
        assert database.read(lambda session: session.scalar(text(query))) in ("0", 0)
        database.dispose()
    assert CONDUCTOR.transaction is not None


@contextmanager
def row_lock(url: str, name: str) -> Iterator[None]:
    with foreign(url) as engine, engine.connect() as connection:
        connection.execute(text("SELECT * FROM nodes WHERE name = :name FOR UPDATE"), {"name": name}).all()
        yield


def test_a_row_that_another_session_locked_costs_a_request_the_lock_timeout(quick: Service) -> None:
    servers_only(quick.database_url)
    quick.add_node("n1")
    with row_lock(quick.database_url, "n1"), at_least(LOCK - 0.1):
        assert LOCKED in fault(quick.patch("n1", ("add", "/extra/a", 1), status=503))
    with row_lock(quick.database_url, "n1"), ThreadPoolExecutor(4) as pool, at_least(LOCK - 0.1):
        held = [pool.submit(quick.patch, "n1", ("add", "/extra/a", 1), status=503) for _ in range(4)]
        for future in held:
            assert LOCKED in fault(future.result())
    quick.patch("n1", ("add", "/extra/a", 1), status=200)


def test_others_are_served_while_requests_wait_for_a_locked_row(patient: Service) -> None:
    servers_only(patient.database_url)
    patient.add_node("n1")
    other = patient.add_node("n2")
    with ThreadPoolExecutor(4) as pool:
        with row_lock(patient.database_url, "n1"):
            held = [pool.submit(patient.patch, "n1", ("add", "/extra/a", 1), status=200) for _ in range(4)]
            for number in range(5):
                patient.patch(other, ("add", "/extra/a", number), status=200)
                patient.baremetal("GET", "/nodes/n1", status=200)
            assert not any(future.done() for future in held)
        assert all(future.result() for future in held)


def test_a_claim_of_a_locked_provider_is_503_and_not_a_conflict(quick: Service) -> None:
    servers_only(quick.database_url)
    node = quick.add_node("n1")
    with foreign(quick.database_url) as engine, engine.connect() as connection:
        connection.execute(text("SELECT * FROM inventories FOR UPDATE")).all()
        with at_least(LOCK - 0.1):
            response = quick.claim("aaaaaaaa-0000-4000-8000-000000000001", node, status=503)
        assert response.headers["Retry-After"]
        assert LOCKED in response.text
    quick.claim("aaaaaaaa-0000-4000-8000-000000000001", node, status=204)


@pytest.mark.sqlite_only
def test_a_foreign_write_transaction_of_sqlite(patient: Service) -> None:
    uuid = patient.add_node("n1")
    change = ("add", "/extra/a", 1)
    with foreign(patient.database_url) as engine, engine.connect() as connection, ThreadPoolExecutor(2) as pool:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        held = [pool.submit(patient.patch, uuid, change, status=200) for _ in range(2)]
        for _ in range(5):
            patient.baremetal("GET", "/nodes/n1", status=200)
        assert not any(future.done() for future in held)
        connection.rollback()
        assert all(future.result() for future in held)
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        with Service(patient.database_url, database={"lock_timeout": SHORT}) as impatient, writes(impatient) as begun:
            with at_least(SHORT - 0.05):
                assert LOCKED in fault(impatient.patch(uuid, change, status=503))
            assert len(begun) == 1, "an attempt that waited its time is not repeated"


@contextmanager
def writes(service: Service) -> Iterator[list[str]]:
    """The transactions that SQLite is asked to begin meanwhile."""
    seen: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement == "BEGIN IMMEDIATE":
            seen.append(statement)

    event.listen(service.database.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(service.database.engine, "before_cursor_execute", note)


def test_lost_races_end_with_the_deadline(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, attempts = Clock(), []
    monkeypatch.setattr(transaction, "time", clock)

    def lose(session: Any) -> None:
        attempts.append(1)
        clock.go_on(10)
        raise StaleDataError

    with Service(database_url, database={"transaction_retries": 20}) as service, pytest.raises(DatabaseTimeout):
        service.database.write(lose, deadline=clock.monotonic() + 35)
    assert 1 < len(attempts) <= 4
    with Service(database_url, database={"transaction_retries": 2}) as service, pytest.raises(TooManyConflicts):
        service.database.write(lose, deadline=clock.monotonic() + 35)


def test_the_deadline_counts_from_acceptance_where_the_server_knows_it(service: Service) -> None:
    def ask(seconds: float, path: str) -> int:
        environ = {ACCEPTED_AT: time.monotonic() + seconds - load().api.request_timeout}
        status: int = service.http.get(path, extra_environ=environ, status="*").status_code
        return status

    for path in ("/baremetal/v1/nodes", "/placement/resource_providers"):
        assert ask(-1, path) == 503
        assert ask(TIMEOUT, path) == 200
    assert ask(-1, "/healthcheck/live") == 200


def test_waiting_for_a_locked_node_ends_with_the_deadline(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pauses = Clock(), list[float]()
    sleep = lambda seconds: pauses.append(seconds) or clock.go_on(seconds)  # noqa: E731
    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=clock.monotonic, sleep=sleep))
    waits = {"node_locked_retry_attempts": 1000, "node_locked_retry_interval": 1}
    with Service(database_url, conductor=waits) as service:
        service.add_conductor("c1")
        node = service.add_node("n1")
        service.set_columns(node, reservation="c1")
        with hurried(service, 30):
            service.patch(node, ("add", "/extra/a", 1), status=409)
    assert 1 <= len(pauses) <= 30


def test_what_ended_in_time_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a connection that went back to the pool, or is used where there is no deadline."""
    lost: list[Any] = []
    monkeypatch.setattr(deadline, "cut", lost.append)
    late, released, free = object(), object(), object()
    with deadline.until(time.monotonic() + 0.05):
        deadline.watch(late)
        deadline.watch(released)
        deadline.unwatch(released)
        with deadline.until(None):
            deadline.watch(free)
            assert deadline.remaining() is None
        wait_until(lambda: late in lost, "the cut")
        assert deadline.remaining() == 0
    ended = len(lost)
    with deadline.until(time.monotonic()):
        last = object()
        deadline.watch(last)
        wait_until(lambda: last in lost, "a later cut")
    assert set(map(id, lost[:ended])) == {id(late)}
    assert set(map(id, lost[ended:])) == {id(last)}


def test_deadlines_of_many_threads(database_url: str) -> None:
    """Each has its own; none ends another's work."""
    with Service(database_url, database={"max_pool_size": 8}) as service:
        sleeps = longer_than_the_deadline(service.database.engine.dialect.name)

        def work(number: int) -> str:
            if number % 2:
                try:
                    service.database.read(
                        lambda session: session.execute(text(sleeps)).all(), deadline=time.monotonic() + SHORT
                    )
                except DatabaseTimeout:
                    return "late"
                return "slept"
            until = time.monotonic() + 2 * SHORT
            while time.monotonic() < until:
                service.database.read(lambda session: session.scalar(text("SELECT 1")))
            return "done"

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == ["done", "late"] * 4


def never(*_: Any) -> Callable[..., Any]:
    raise AssertionError("the database was used")


def test_live_uses_no_pool_and_no_database(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("read", "select", "write"):
        monkeypatch.setattr(service.database, name, never)
    for engine in (service.database.engine, service.database.reading_engine):
        monkeypatch.setattr(engine.pool, "connect", never)
    assert service.http.get("/healthcheck/live", status=200).json == {"live": True}
