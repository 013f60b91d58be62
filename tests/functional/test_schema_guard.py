"""A running release refuses a schema that it cannot serve."""

import io
import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import conductors
from baremetal_sched.db import schema, schema_state
from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import ResourceClass
from baremetal_sched.errors import SchemaChanging, SchemaNotServed
from tests.service import Service, fault
from tests.waiting import PATIENCE, wait_until

NEWER = "9999"


@pytest.fixture
def changing(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service whose schema a test changes; it looks each time."""
    monkeypatch.setattr("baremetal_sched.db.schema_guard.CHECK_SECONDS", 0)
    yield service
    set_state(service, schema.head(), schema.head())


def set_state(service: Service, revision: str, served_since: str, changing_to: str | None = None) -> None:
    """The row that a newer release would write."""
    statements = (
        "UPDATE alembic_version SET version_num = :revision",
        "UPDATE schema_state SET revision = :revision, served_since = :served_since, changing_to = :changing_to",
    )
    values = {"revision": revision, "served_since": served_since, "changing_to": changing_to}
    with service.database.engine.begin() as connection:
        for statement in statements:
            names = [name for name in values if f":{name}" in statement]
            connection.execute(text(statement), {name: values[name] for name in names})


def test_a_newer_schema_is_refused_by_a_running_service(changing: Service) -> None:
    node = changing.add_node("n1")
    set_state(changing, NEWER, NEWER)
    for method, path, body in (
        ("GET", "/nodes", None),
        ("PATCH", f"/nodes/{node}", [{"op": "add", "path": "/extra/a", "value": 1}]),
        ("PUT", f"/nodes/{node}/traits/CUSTOM_A", None),
    ):
        response = changing.baremetal(method, path, body, status=503)
        assert f"schema {NEWER}, which this release does not know" in fault(response)
        assert "Run a newer release" in fault(response)
    for response in (
        changing.placement("GET", "/resource_providers", status=503),
        changing.claim("aaaaaaaa-0000-4000-8000-000000000001", node, status=503),
    ):
        assert response.headers["Retry-After"]
        assert "Run a newer release" in response.json["errors"][0]["detail"]
    response = changing.http.get("/healthcheck", status=503)
    assert response.json["checks"] == {"database": "ok", "schema": f"at {NEWER}, needs {schema.head()}"}
    changing.http.get("/healthcheck/live", status=200)
    changing.http.get("/metrics", status=200)

    set_state(changing, schema.head(), schema.head())
    assert changing.baremetal("GET", f"/nodes/{node}/traits").json == {"traits": []}
    changing.http.get("/healthcheck", status=200)


def test_a_newer_schema_that_says_so_is_served(changing: Service) -> None:
    set_state(changing, NEWER, schema.head())
    changing.add_node("n1")
    assert changing.http.get("/healthcheck").json["checks"]["schema"] == "ok"


def test_a_change_that_is_announced_is_refused(changing: Service) -> None:
    set_state(changing, schema.head(), NEWER, changing_to=NEWER)
    response = changing.baremetal("GET", "/nodes", status=503)
    assert f"being changed from {schema.head()} to {NEWER}" in fault(response)


def test_an_older_schema_is_refused(changing: Service) -> None:
    set_state(changing, "0008", "0008")
    response = changing.baremetal("GET", "/nodes", status=503)
    assert "Run: baremetal-sched db upgrade" in fault(response)


def test_the_answer_is_remembered_for_a_moment(service: Service) -> None:
    service.baremetal("GET", "/nodes")
    set_state(service, NEWER, NEWER)
    service.baremetal("GET", "/nodes", status=200)
    set_state(service, schema.head(), schema.head())


def add(session: Session, name: str) -> None:
    session.execute(insert(ResourceClass).values(name=name, created_at=utcnow()))


def has(service: Service, name: str) -> bool:
    query = select(ResourceClass.id).where(ResourceClass.name == name)
    return service.database.read(lambda session: session.scalars(query).first() is not None)


def test_what_began_before_the_change_is_not_committed_after_it(changing: Service) -> None:
    """The release may serve when the transaction begins, and not any more when it ends: as of a suspended process."""
    if changing.database.engine.dialect.name == "sqlite":
        pytest.skip("there the schema cannot be changed meanwhile")

    def work(session: Session) -> None:
        add(session, "CUSTOM_A")
        set_state(changing, schema.head(), NEWER, changing_to=NEWER)
        changing.database.schema._asked -= schema.LEASE_SECONDS

    with pytest.raises(SchemaChanging):
        changing.database.write(work)
    set_state(changing, schema.head(), schema.head())
    changing.database.schema.check()
    assert not has(changing, "CUSTOM_A")


def test_sqlite_looks_in_each_transaction_that_writes(service: Service) -> None:
    if service.database.engine.dialect.name != "sqlite":
        pytest.skip("there a change waits until all have looked")
    service.baremetal("GET", "/nodes")
    set_state(service, schema.head(), NEWER, changing_to=NEWER)
    with pytest.raises(SchemaChanging):
        service.database.write(lambda session: add(session, "CUSTOM_A"))
    set_state(service, schema.head(), schema.head())
    service.database.schema.check()
    assert not has(service, "CUSTOM_A")


def test_a_statement_that_fails_since_the_schema_has_changed(service: Service) -> None:
    """A release that is refused by now says so, and not that it has a bug."""

    def work(session: Session) -> None:
        set_state(service, NEWER, NEWER)
        session.execute(text("SELECT no_such_column FROM nodes"))

    with pytest.raises(SchemaNotServed):
        service.database.read(work)
    set_state(service, schema.head(), schema.head())


class Turns:
    """A lock that knows how many threads wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.waiting = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._lock.acquire(blocking=False):
            return True
        if not blocking:
            return False
        self.waiting += 1
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        self._lock.release()


def test_one_thread_asks_and_the_others_go_on(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = service.database.schema
    guard.check()
    asked = []
    goes_on = threading.Event()

    def ask(engine: object) -> schema_state.SchemaStatus:
        asked.append(1)
        goes_on.wait(PATIENCE)
        return schema_state.SchemaStatus(schema.head())

    monkeypatch.setattr(schema, "read_state", ask)
    monkeypatch.setattr(guard, "_asking", turns := Turns())
    guard._asked -= 1.5
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(guard.require)
        wait_until(lambda: asked, "the question")
        for future in [pool.submit(guard.require) for _ in range(6)]:
            future.result(PATIENCE)
        assert not first.done()
        guard._asked = -math.inf
        late = [pool.submit(guard.require) for _ in range(4)]
        wait_until(lambda: turns.waiting == 4, "the requests that wait for the answer")
        assert not any(future.done() for future in late)
        goes_on.set()
        for future in (first, *late):
            future.result(PATIENCE)
    assert len(asked) == 1


def test_a_conductor_waits_and_goes_on(changing: Service, lines: io.StringIO) -> None:
    """It does not die, and a stop does not wait for what cannot be finished."""
    changing._overrides["DEFAULT"] = {"graceful_shutdown_timeout": 3600}
    conductor = changing.add_conductor("c2", group="racks")
    node = changing.add_node("n1", conductor_group="racks")
    changing.baremetal("PUT", f"/nodes/{node}/states/power", {"target": "power off"})
    changing.database.write(lambda session: conductors.sign_off(session, "c2"))  # it need not wait for heartbeats then
    stop = threading.Event()
    life = threading.Thread(target=conductor.run, args=(stop,))
    set_state(changing, schema.head(), NEWER, changing_to=NEWER)
    life.start()
    wait_until(lambda: "cannot serve the database's schema" in lines.getvalue(), "the conductor to notice")
    assert life.is_alive()
    set_state(changing, schema.head(), schema.head())
    wait_until(lambda: node_power(changing, node) == "power off", "its work")
    set_state(changing, NEWER, NEWER)
    stop.set()
    life.join(PATIENCE)
    assert not life.is_alive()
    assert "cannot serve the database's schema" in lines.getvalue()


def node_power(service: Service, node: str) -> str | None:
    """Its power state, while requests are refused too."""
    response = service.baremetal("GET", f"/nodes/{node}", status="*")
    return response.json.get("power_state")
