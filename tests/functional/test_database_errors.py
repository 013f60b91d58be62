# tier: first
"""Errors that a database may answer with: 503 or 409 in words, never 500, and health that names the problem."""

import io
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event, text
from sqlalchemy.engine import make_url

from baremetal_sched.db import write_health
from baremetal_sched.db.engine import make_engine
from baremetal_sched.errors import DriverMissing
from baremetal_sched.settings import load
from tests.service import Service, fault

#: How the errors of the servers are answered, by number or state: a part of the message.
MARIADB = {
    1317: "interrupted the request",
    1226: "no capacity left",
    1203: "no capacity left",
    1040: "no capacity left",
    1129: "refused the login",
    1045: "refused the login",
    1021: "no space left",
    1114: "no space left",
    1290: "read-only",
    1969: "did not answer within the time",
    1049: "does not exist on the server",
    1142: "lacks privileges",
    1146: "baremetal-sched db upgrade",
    1205: "held a lock",
}
POSTGRESQL = {
    "53100": "no space left",
    "53200": "no capacity left",
    "53300": "no capacity left",
    "57014": "interrupted the request",
    "57P01": "cannot be reached",
    "25P03": "was idle for longer",
    "25006": "read-only",
    "28P01": "refused the login",
    "3D000": "does not exist on the server",
    "42501": "lacks privileges",
    "42P01": "baremetal-sched db upgrade",
    "55P03": "held a lock",
}
CASES: dict[str, dict[Any, str]] = {"mariadb": MARIADB, "postgresql": POSTGRESQL}


def error_of(service: Service, code: int | str) -> Exception:
    """The driver's error."""
    if isinstance(code, int):
        raised: Exception = service.database.engine.dialect.loaded_dbapi.OperationalError(code, "planted")
        return raised
    return psycopg.errors.lookup(code)("planted")


@contextmanager
def planted(service: Service, error: Exception, *beginnings: str) -> Iterator[None]:
    """Statements that begin so fail with ``error``."""

    def fail(cursor: Any, statement: str, parameters: Any, context: Any) -> None:
        if context.statement.startswith(beginnings):
            raise error

    engines = {service.database.engine, service.database.reading_engine, service.database.schema._engine}
    for name in ("do_execute", "do_execute_no_params"):
        for engine in engines:
            event.listen(engine, name, fail if name == "do_execute" else lambda c, s, x: fail(c, s, None, x))
    yield
    for engine in engines:
        engine.dialect.dispatch._clear()


@pytest.fixture
def impatient(database_url: str) -> Iterator[Service]:
    with Service(database_url, database={"transaction_retries": 2, "lock_timeout": 0.1}) as service:
        service.add_conductor("c1")
        yield service


def test_an_error_of_the_server_is_503(impatient: Service) -> None:
    cases = CASES.get(impatient.database.engine.dialect.name)
    if cases is None:
        pytest.skip("there is no server")
    impatient.add_node("n1")
    consumer, provider = (f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in (1, 2))
    for code, words in cases.items():
        with planted(impatient, error_of(impatient, code), "SELECT", "UPDATE"):
            for response in (
                impatient.baremetal("GET", "/nodes", status=503),
                impatient.patch("n1", ("add", "/extra/a", 1), status=503),
            ):
                assert words in fault(response), code
            assert impatient.placement("GET", "/resource_providers", status=503).headers["Retry-After"]
            impatient.claim(consumer, provider, status=503)
            impatient.http.get("/healthcheck", status=503)
        impatient.patch("n1", ("add", "/extra/a", 1), status=200)


def test_a_commit_that_may_have_happened_is_not_repeated(
    impatient: Service, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    if impatient.database.engine.dialect.name != "mariadb":
        pytest.skip("Galera answers so")
    codes: list[int] = []

    def commit(connection: Any) -> None:
        connection.rollback()  # as the server would have
        raise error_of(impatient, codes.pop())

    monkeypatch.setattr(impatient.database.engine.dialect, "do_commit", commit)
    for code in [1180, 1317, 2013]:
        with subtests.test(code=code):
            codes[:] = [code]
            response = impatient.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}, status=503)
            assert "Check whether it was made" in fault(response)
            assert codes == []


def full(service: Service) -> None:
    """Leave SQLite no page more than it has."""

    def limit(connection: Any, *_: Any) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}").close()

    event.listen(service.database.engine, "checkout", limit)


def test_a_full_disk_is_503_and_not_ready(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    if service.database.engine.dialect.name != "sqlite":
        pytest.skip("the disk of a server cannot be filled here")
    service.http.get("/healthcheck", status=200)
    with service.database.engine.connect() as connection:
        connection.connection.execute("VACUUM")  # earlier tests may have left free pages
    full(service)
    node = {"driver": "fake-hardware", "extra": {"a": "x" * 500_000}}
    response = service.baremetal("POST", "/nodes", node, status=503)
    assert "no space left" in fault(response)
    assert service.http.get("/healthcheck", status=503).json["checks"] == {"database": "full", "schema": "ok"}
    service.baremetal("GET", "/nodes", status=200)
    # Some time later there is room again, at least for a row.
    monkeypatch.setattr(write_health, "_FULL_LASTS", 0)
    service.http.get("/healthcheck", status=200)


def test_a_server_that_is_full_is_not_ready(impatient: Service) -> None:
    kind = impatient.database.engine.dialect.name
    if kind == "sqlite":
        pytest.skip("see above")
    with planted(impatient, error_of(impatient, {"mariadb": 1114, "postgresql": "53100"}[kind]), "INSERT", "UPDATE"):
        impatient.baremetal("POST", "/nodes", {"driver": "fake-hardware"}, status=503)
        assert impatient.http.get("/healthcheck", status=503).json["checks"]["database"] == "full"
        impatient.baremetal("GET", "/nodes", status=200)


def test_a_database_that_is_read_only_is_not_ready(database_url: str, tmp_path: Path) -> None:
    """Even if this process has written nothing yet."""
    if not database_url.startswith("postgresql"):
        pytest.skip("tests may not make other servers read-only, and are root before a file")
    name = make_url(database_url).database
    with Service(database_url) as service:
        service.add_conductor("c1")

        def become(state: str) -> None:
            statement = f'ALTER DATABASE "{name}" SET default_transaction_read_only = {state}'
            with service.database.engine.connect() as connection:
                connection.exec_driver_sql("SET default_transaction_read_only = off")
                connection.exec_driver_sql("COMMIT")
                connection.exec_driver_sql(statement)
                connection.commit()
            service.database.dispose()
            service.database.writes = write_health.WriteHealth()

        become("on")
        try:
            assert service.http.get("/healthcheck", status=503).json["checks"]["database"] == "read-only"
            response = service.baremetal("POST", "/nodes", {"driver": "fake-hardware"}, status=503)
            assert "read-only" in fault(response)
        finally:
            become("off")
        # What was connected to the server that was read-only is not used again.
        service.http.get("/healthcheck", status=200)


def test_a_standby_is_left_for_its_successor(impatient: Service) -> None:
    kind = impatient.database.engine.dialect.name
    if kind == "sqlite":
        pytest.skip("there is no server")
    query = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT CONNECTION_ID()"}[kind]

    def connection() -> Any:
        return impatient.database.write(lambda session: session.scalar(text(query)))

    before = connection()
    assert connection() == before
    with planted(impatient, error_of(impatient, {"mariadb": 1290, "postgresql": "25006"}[kind]), "INSERT"):
        impatient.baremetal("POST", "/nodes", {"driver": "fake-hardware"}, status=503)
    assert connection() != before


def test_health_writes_no_more_than_it_has_to(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(database_url) as service:
        with service.statements() as idle:
            service.http.get("/healthcheck", status=200)
        with service.statements() as again:
            service.http.get("/healthcheck", status=200)
        later = time.monotonic() + 31
        monkeypatch.setattr(write_health.time, "monotonic", lambda: later)
        with service.statements() as much_later:
            service.http.get("/healthcheck", status=200)
        assert service.placement("GET", "/resource_providers?member_of=in:", status=400)
        assert service.database.read(lambda session: session.scalar(text("SELECT count(*) FROM aggregates"))) == 0
    writes = [sum(s.startswith(("INSERT", "DELETE")) for s in statements) for statements in (idle, again, much_later)]
    assert writes == [2, 0, 2]


def test_a_transaction_that_the_database_ended_because_it_stood_still(database_url: str) -> None:
    """It is run again, once; then it is said, and not that there was no database."""
    with Service(database_url, database={"idle_transaction_timeout": 1}) as service:
        if service.database.engine.dialect.name == "sqlite":
            pytest.skip("there is no server")
        attempts = []

        def think(session: Any) -> str:
            session.execute(text("SELECT id FROM aggregates"))
            attempts.append(1)
            if len(attempts) == 1:
                time.sleep(2)
            session.execute(text("SELECT id FROM aggregates"))
            return "done"

        assert service.database.write(think) == "done"

        def think_again(session: Any) -> None:
            attempts.clear()
            think(session)

        with pytest.raises(Exception, match="was idle for longer than"):
            service.database.write(think_again)
        service.baremetal("GET", "/nodes", status=200)


LOGINS = [
    ("postgresql", {"username": "no_such_user"}, "login refused", "refused the login"),
    ("postgresql", {"database": "no_such_database"}, "missing", "does not exist on the server"),
    ("mariadb", {"username": "root", "password": "wrong-Passw0rd"}, "login refused", "refused the login"),
    ("mariadb", {"database": "no_such_database"}, "missing", "does not exist on the server"),
]


def test_a_login_that_is_refused(
    database_url: str, lines: io.StringIO, capfd: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    for kind, changes, state, words in LOGINS:
        with subtests.test(kind=kind, changes=changes):
            if not database_url.startswith(kind):
                pytest.skip("another server")
            url = make_url(database_url).set(**changes).render_as_string(hide_password=False)
            with Service(url) as service:
                response = service.baremetal("GET", "/nodes", status=503)
                assert words in fault(response)
                response = service.http.get("/healthcheck", status=503)
                assert response.json["checks"]["database"] == state
                assert "wrong-Passw0rd" not in response.text
            assert words in lines.getvalue()
            assert "wrong-Passw0rd" not in "".join((lines.getvalue(), *capfd.readouterr()))


@pytest.mark.sqlite_only
def test_nobody_is_told_to_try_again_where_that_does_not_help(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for url, state, words in [
        ("postgresql://u@nosuch.invalid/d", "host unknown", "has no address"),
        ("mariadb://u@nosuch.invalid/d", "host unknown", "has no address"),
        ("mariadb+mysqldb://u@nosuch.invalid/d", "host unknown", "has no address"),
        ("sqlite:////no/such/folder/d.sqlite", "file unusable", "Its directory must exist"),
    ]:
        with subtests.test(url=url):

            def refuse(*_: object, **__: object) -> None:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

            monkeypatch.setattr(socket, "getaddrinfo", refuse)  # a resolver may take seconds
            if "mysqldb" in url:
                pytest.importorskip("MySQLdb")
            with Service(url) as service:
                answer = fault(service.baremetal("GET", "/nodes", status=503))
                assert words in answer
                assert "Try again" not in answer
                assert service.http.get("/healthcheck", status=503).json["checks"]["database"] == state


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"This is a text, and not a database of SQLite. " * 100)
    with Service(f"sqlite:///{path}") as service:
        assert "is damaged, or is not an SQLite database" in fault(service.baremetal("GET", "/nodes", status=503))
        assert service.http.get("/healthcheck", status=503).json["checks"]["database"] == "corrupt"


def test_a_driver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    for url, package in [
        ("postgresql://u:secret@h/d", "psycopg"),
        ("mariadb://u:secret@h/d", "PyMySQL"),
        ("mariadb+mysqldb://u:secret@h/d", r"baremetal-sched\[mysql\]"),
        ("mysql+mysqldb://u:secret@h/d", r"baremetal-sched\[mysql\]"),
    ]:
        with subtests.test(url=url):
            for name in ("psycopg", "pymysql", "MySQLdb"):
                monkeypatch.setitem(sys.modules, name, None)
            with pytest.raises(DriverMissing, match=f"Run: pip install '{package}") as caught:
                make_engine(load(overrides={"database": {"connection": url}}))
            assert "secret" not in str(caught.value)


def test_a_url_that_is_none_keeps_its_password() -> None:
    with pytest.raises(ValueError, match="not a database URL") as caught:
        make_engine(load(overrides={"database": {"connection": "postgresql//u:secret@host/d"}}))
    assert "secret" not in str(caught.value)
    assert "host/d" in str(caught.value)
